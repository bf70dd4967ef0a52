"""Defines the outputs of SQL, such as label and rule, and the forms that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from treecompile.emit.options import EmitOptions, check_choice
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting, literal
from treecompile.model import words
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import AnyBody, AnyProgram, Forest, Label, Link, ValueType
from treecompile.model.semantics import required_features, type_of_labels

FORMS = ("expression", "select", "view", "dbt")
EXPRESSION, SELECT, VIEW, DBT = FORMS
WITH_TABLE = (SELECT, VIEW, DBT)
OUTPUTS = {  # and their columns
    "label": "prediction",
    "probability": "probability",
    "margin": "margin",
    "rule": "rule",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One output of the expression."""

    output: str  # "label", "probability", "margin" or "rule"
    label: int | None = None  # whose probability or margin; None: the predicted label's


def check_form(options: EmitOptions) -> None:
    check_choice("form", options.form, FORMS)
    if options.form in WITH_TABLE and not options.table:
        raise OptionError(f"form={options.form} needs a table to read: add table=NAME")


def asked_outputs(body: AnyBody, options: EmitOptions) -> list[Asked]:
    """Return the outputs asked for, in order; only a query can have several."""
    asked = [part.strip() for part in options.output.split(",")]
    for part in asked:
        check_choice("output", part, OUTPUTS)
    if len(set(asked)) < len(asked):
        raise OptionError(
            f"output={options.output!r}: an output is given twice: keep one"
        )
    if len(asked) > 1 and options.form not in WITH_TABLE:
        raise OptionError(
            f"output={options.output!r}: several outputs need form=select, view or"
            " dbt"
        )
    for part in asked:
        if problem := output_problem(body, part):
            raise OptionError(f"output={part}: {problem}")
    label = None
    if options.label:
        if not {"probability", "margin"} & {*asked}:
            raise OptionError("label needs output=probability: add it")
        label = position_of(body.labels, options.label)
        if "margin" in asked and len(getattr(body, "start", ())) == 1:
            raise OptionError(
                f"label={options.label!r}: the model has one margin for both labels:"
                " leave it out"
            )
    return [Asked(p, label if p in ("probability", "margin") else None) for p in asked]


def output_problem(body: AnyBody, output: str) -> str:
    """Say why a model does not have an output; "" if it does."""
    forest = body if isinstance(body, Forest) else None
    if output == "probability" and not body.labels:
        return "the model predicts a number: leave it out"
    if output == "probability" and forest and forest.link is Link.NONE:
        return "the model has no probabilities: use label or margin"
    if output == "margin" and not forest:
        return "only a forest has margins, and the model is one tree or rules"
    if output == "rule" and forest:
        return "a forest has no rules: learn one tree from its answers"
    return ""


def position_of(labels: Sequence[Label], text: str) -> int:
    """Return the index of the label that --label names."""
    texts = [v if isinstance(v, str) else words.value(v) for v in labels]
    if text not in texts:
        shown = ", ".join(map(words.value, labels))
        raise OptionError(f"label={text!r} is not a label: expected one of {shown}")
    return texts.index(text)


def answer_type(body: AnyBody, output: str) -> ValueType:
    """Return the type of the values of an output."""
    if output == "rule":
        return ValueType.STR
    if output in ("probability", "margin") or not body.labels:
        return ValueType.FLOAT
    return type_of_labels(body.labels)


def taken_names(
    program: AnyProgram, dialect: Dialect, asked: Sequence[Asked], options: EmitOptions
) -> Iterator[str]:
    """Warn about an output named like the target; refuse one named like a feature.

    A query has all columns of the table beside the outputs. Of two columns with one
    name, databases return the first: the one of the table.
    """
    if options.form not in WITH_TABLE:
        return
    fold = str.casefold if dialect.names.fold_case else str
    features = [each.name for each in program.body.features]
    taken = {fold(options.columns.get(each, each)) for each in features}
    for name in (OUTPUTS[each.output] for each in asked):
        if fold(name) in taken:
            raise TargetError(
                f"the query would have two columns {name!r}: the model reads one, and"
                " its answer is the other. Use form=expression with a name of your own,"
                f" or rename the column in a view and add columns: {name}=NEW_NAME"
            )
        if fold(name) == fold(program.target):
            yield (
                f"if the table has the column {name!r}, which the model predicts, the"
                " query has two of that name: leave it out of the table"
            )


HARMLESS = " .,()_-"  # besides letters and digits, in any comment
WIDEST = 112  # characters in a line of column types
MOST_LINES = 4  # of them


def column_types(body: AnyBody, dialect: Dialect, options: EmitOptions) -> list[str]:
    """Return lines for the first comment: "age DOUBLE, outlook VARCHAR,".

    No character in them ends the comment, or a statement: some consoles end one at a
    semicolon, even in a comment.
    """
    typed = []
    for index in required_features(body):
        feature = body.features[index]
        name = options.columns.get(feature.name, feature.name)
        typed.append(_harmless(f"{name} {dialect.types.of(feature.type)}"))
    return [*_wrapped(typed)]


def _harmless(text: str) -> str:
    """Return a text with its punctuation percent-encoded; a long one is cut off."""

    def shown(character: str) -> str:
        is_plain = character.isprintable() and not character.isascii()
        if is_plain or character.isalnum() or character in HARMLESS:
            return character
        return quote(character, safe="", errors="surrogatepass")

    made = "".join(map(shown, text))
    return made if len(made) <= WIDEST else f"{made[: WIDEST - 3]}..."


def _wrapped(texts: Sequence[str]) -> Iterator[str]:
    """Yield lines of texts with commas; the last line says how many are left out."""
    lines: list[list[str]] = [[]]
    for text in texts:
        if lines[-1] and len(", ".join([*lines[-1], text])) > WIDEST:
            lines.append([])
        lines[-1].append(text)
    if lines[MOST_LINES:]:
        shown = lines[: MOST_LINES - 1]
        lines = [*shown, [f"and {len(texts) - sum(map(len, shown))} more"]]
    for line in filter(None, lines):
        yield ", ".join(line) + "," * (line is not lines[-1])


DESCRIBED = {
    "label": "The predicted {target}",
    "probability": "The probability of {label}",
    "margin": "The sum of the trees",
    "rule": "The rule of the model that decided",
}


def properties(program: AnyProgram, dialect: Dialect, options: EmitOptions) -> str:
    """Return the YAML beside a dbt model, or ""."""
    if options.form != DBT:
        return ""
    quoting, columns = Quoting(dialect, bare=True), []
    said = {"target": program.target, "label": options.label or "the predicted label"}
    for asked in asked_outputs(program.body, options):
        name, described = OUTPUTS[asked.output], DESCRIBED[asked.output].format(**said)
        is_label = asked.output == "label"
        values = [literal(v, dialect) for v in program.body.labels if is_label]
        is_quoted = not quoting.is_bare(name)
        columns.append(dbt.Described(name, described, is_quoted, values))
    described = f"Predictions of {program.target}, written by treecompile"
    made = dbt.Properties(options.name or "predictions", described, columns)
    return dbt.properties(made, options.templates)
