"""The forms of SQL output: a bare expression, a query, a view, a function, a dbt model.

The input is the finished lines of each expression, the output the lines of a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.literals import identifiers
from treecompile.emit.options import EmitOptions, check_choice
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import IDENTIFIERS, Dialect
from treecompile.emit.sql.text import Quoting, column_names
from treecompile.model import words
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import Body, Label, ValueType
from treecompile.model.semantics import type_of_labels

Expressions = Mapping[str, Sequence[str]]  # {"prediction": ["CASE", ..., "END"]}

FORMS = ("expression", "select", "view", "function", "dbt")
EXPRESSION, SELECT, VIEW, FUNCTION, DBT = FORMS
OUTPUTS = {"label": "prediction", "probability": "probability", "rule": "rule"}
WITH_TABLE = (SELECT, VIEW, DBT)


@dataclass(frozen=True, slots=True)
class Asked:
    """One output of the expression."""

    output: str  # "label", "probability" or "rule"
    label: int | None = None  # whose probability; None for the predicted label's


def outputs(body: Body, options: EmitOptions) -> list[Asked]:
    """The outputs asked for, in order; only a query can have several."""
    asked = [part.strip() for part in options.output.split(",")]
    for part in asked:
        check_choice("--output", part, OUTPUTS)
    if len(set(asked)) < len(asked):
        raise OptionError(
            f"--output {options.output!r}: an output is given twice: keep one"
        )
    if len(asked) > 1 and options.form not in WITH_TABLE:
        raise OptionError(
            f"--output {options.output!r}: several outputs need --as select, view or"
            " dbt"
        )
    label = None
    if options.label:
        if "probability" not in asked:
            raise OptionError("--label needs --output probability: add it")
        label = position_of(body.labels, options.label)
    if "probability" in asked and not body.labels:
        raise OptionError(
            "--output probability: the model predicts a number: leave it out"
        )
    return [Asked(part, label if part == "probability" else None) for part in asked]


def position_of(labels: Sequence[Label], text: str) -> int:
    """The index of the label that --label names."""
    texts = [v if isinstance(v, str) else words.value(v) for v in labels]
    if text not in texts:
        shown = ", ".join(map(words.value, labels))
        raise OptionError(f"--label {text!r} is not a label: expected one of {shown}")
    return texts.index(text)


def check_form(options: EmitOptions, dialect: Dialect) -> None:
    """Refuse options that exclude each other."""
    check_choice("--as", options.form, FORMS)
    if options.identifiers:
        check_choice("--identifiers", options.identifiers, IDENTIFIERS)
    if options.form in WITH_TABLE and not options.table:
        raise OptionError(
            f"--as {options.form} needs a table to read: add --table NAME"
        )
    if options.form == FUNCTION and not dialect.functions.create:
        raise TargetError(
            f"{dialect.name} has no functions written in SQL:"
            " use --as expression, select or view"
        )
    if options.alias and options.form == FUNCTION:
        raise OptionError(
            "--alias is for a query, and a function reads no table: leave it out"
        )


# ---------------------------------------------------------------- columns


def quoting_of(dialect: Dialect, options: EmitOptions) -> Quoting:
    """How names are written: as the user says, or as is usual for the database."""
    identifiers = options.identifiers or dialect.names.identifiers
    is_function = options.form == FUNCTION
    return Quoting(dialect, identifiers, dialect.functions.reserved * is_function)


def references(body: Body, dialect: Dialect, options: EmitOptions) -> dict[int, str]:
    """How the expression refers to each required feature: a column, a parameter."""
    if options.form == FUNCTION:
        parameters = _parameters(body, dialect, options)
        return {index: reference for index, (_, reference) in parameters.items()}
    quoting = quoting_of(dialect, options)
    columns = column_names(body, quoting, options.columns)
    if not options.alias:
        return columns
    alias = quoting.path("--alias", options.alias)
    return {index: f"{alias}.{column}" for index, column in columns.items()}


def _parameters(
    body: Body, dialect: Dialect, options: EmitOptions
) -> dict[int, tuple[str, str]]:
    """The declaration of each parameter of a function, and the reference to it."""
    functions = dialect.functions
    columns = column_names(body, quoting_of(dialect, options), options.columns)
    plain = identifiers(body, ())
    made = {}
    for number, (index, column) in enumerate(columns.items(), start=1):
        value_type = body.features[index].type
        reference = functions.reference
        if value_type is ValueType.STR and functions.text_reference:
            reference = functions.text_reference
        known = {
            "name": column,
            "identifier": plain[index],
            "number": number,
            "type": _type(value_type, dialect),
        }
        made[index] = functions.parameter.fill(**known), reference.fill(**known)
    return made


def _type(value_type: ValueType, dialect: Dialect) -> str:
    """The type of a parameter or of the answer of a function."""
    functions = dialect.functions
    special = {
        ValueType.STR: functions.text,
        ValueType.INT: functions.integer,
        ValueType.BOOL: functions.boolean,
    }
    return special.get(value_type) or dialect.types.of(value_type)


# ---------------------------------------------------------------- statements


def statement(
    made: Expressions, body: Body, dialect: Dialect, options: EmitOptions
) -> list[str]:
    """The lines of the statement or of the bare expression."""
    if options.form == EXPRESSION:
        (lines,) = made.values()
        return list(lines)
    if options.form == FUNCTION:
        return _function(made, body, dialect, options)
    quoting = quoting_of(dialect, options)
    # No AS before the alias: Oracle does not accept it there.
    alias = quoting.path("--alias", options.alias) if options.alias else ""
    is_dbt = options.form == DBT
    table = quoting.path("--table", options.table)
    if is_dbt:
        table, alias = dbt.reference(options.table), dbt.escaped(alias)
    everything = f"{alias}.*" if alias else dialect.everything.fill(table=table)
    query = ["SELECT", f"  {everything},"]
    for column, lines in made.items():
        comma = "" if column == [*made][-1] else ","
        query += [f"  {dbt.escaped(line) if is_dbt else line}" for line in lines]
        query[-1] += f" AS {quoting.name(column)}{comma}"
    query.append(f"FROM {table} {alias}".rstrip())
    if options.form == VIEW:
        view = quoting.path("--name", options.name or "predictions")
        return [f"CREATE VIEW {view} AS", *query[:-1], f"{query[-1]};"]
    return query


def _function(
    made: Expressions, body: Body, dialect: Dialect, options: EmitOptions
) -> list[str]:
    functions = dialect.functions
    (lines,) = made.values()
    parameters = _parameters(body, dialect, options).values()
    expression = "\n".join(lines)
    if functions.barred and functions.barred in expression:
        raise TargetError(
            f"a name or a value contains {functions.barred!r}, which ends a function"
            f" in {dialect.name}: use --as expression or view"
        )
    answer = answer_type(body, options.output.strip())
    given = _type(answer, dialect)
    is_text = answer is ValueType.STR
    text = functions.create.fill(
        name=quoting_of(dialect, options).path("--name", options.name or "predict"),
        parameters=", ".join(declared for declared, _ in parameters),
        type=given,
        variable=(is_text and functions.text_variable) or given,
        expression=expression,
    )
    return text.split("\n")


def answer_type(body: Body, output: str) -> ValueType:
    """The type of the values of an output."""
    if output == "rule":
        return ValueType.STR
    if output == "probability" or not body.labels:
        return ValueType.FLOAT
    return type_of_labels(body.labels)


def properties(made: Expressions, labels: Sequence[str], options: EmitOptions) -> str:
    """The YAML beside a dbt model; "" for other forms."""
    if options.form != DBT:
        return ""
    name = options.name or "predictions"
    return dbt.properties(name, made, OUTPUTS["label"], labels)
