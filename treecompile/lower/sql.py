"""IR -> the strings of a SQL expression, query or view in one dialect.

Only what this module writes itself (ids, counts, hashes) goes into comments; text from
the data appears as quoted names and literals and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from treecompile import words
from treecompile.divide import DIVIDED, divisible, exposed, settled
from treecompile.errors import OptionError, TargetError
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    ClassCounts,
    Condition,
    Rule,
    Tree,
    ValueType,
)
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.sql_conditions import Conditions, literal
from treecompile.lower.sql_forms import (
    DBT,
    OUTPUTS,
    answer_type,
    check_form,
    outputs,
    position_of,
    properties,
    references,
    statement,
)
from treecompile.lower.sql_fractional import divided_arm
from treecompile.lower.sql_fractional_parts import Asked
from treecompile.retree import decision_steps, note
from treecompile.semantics import (
    probabilities,
    required_features,
)
from treecompile.shape import Step
from treecompile.targets import Dialect, read_dialect

Decided = TypeVar("Decided")  # what a step comes to: a rule, or whatever is asked for


def lower(source: Source, options: EmitOptions) -> Context:
    """Everything that the template of the query places."""
    body = settled(source.program.body)
    dialect = read_dialect(options.dialect)
    check_form(options, dialect)
    check_values(body, dialect)
    asked = outputs(options)
    label = label_position(body, options, asked)
    columns = references(body, dialect, options)
    made = expressions(body, dialect, columns, options)
    lines = statement(made, body, dialect, options)
    leaves = len(outcomes(body))
    labels = [literal(value, dialect) for value in body.labels]
    return {
        "header": header(source, dialect, asked, label) if options.comments else "",
        "lines": lines,
        "beside": properties(made, labels, options) if options.form == DBT else [],
        "warnings": [*size_warnings(lines, leaves, dialect)],
        "notes": [*filter(None, [note(body)])],
    }


def expressions(
    body: Body, dialect: Dialect, columns: Mapping[int, str], options: EmitOptions
) -> dict[str, list[str]]:
    """The lines of what is asked for, by the name of its column in a query.

    `columns` has what stands for each required feature: a column, or what makes it one.
    """
    body = settled(body)
    asked = outputs(options)
    label = label_position(body, options, asked)
    made = {}
    for output in asked:
        writer = Conditions(dialect, body, columns, answer_type(body, output))
        lines = expression(body, dialect, writer, output, label, options)
        made[OUTPUTS[output]] = lines
    return made


def header(
    source: Source, dialect: Dialect, asked: Iterable[str], label: int | None
) -> str:
    """What made the text, and of what; `verify` reads it."""
    named = [
        f"{output} {label}" if output == "probability" and label is not None else output
        for output in asked
    ]
    how = note(source.program.body)
    return (
        f"treecompile {source.version}; dialect {dialect.key}; output"
        f" {', '.join(named)}; model {source.sha256}{f'; {how}' if how else ''}"
    )


def expression(
    body: Body,
    dialect: Dialect,
    writer: Conditions,
    output: str,
    label: int | None,
    options: EmitOptions,
) -> list[str]:
    """The lines of the CASE that gives one output."""
    result = result_text(body, dialect, output, label)
    steps, decided = steps_of(body, dialect, output)

    def answer(rule: Rule) -> str:
        if not options.comments:
            return result(rule)
        said = words.evidence(rule.stats, rule.weight, rule.value, body.labels)
        if rule.id == DIVIDED:
            said = "several rules share it"
        return f"{result(rule)} /* {rule.id}: {said} */"

    lines = list(case_lines(steps, decided, writer.text, answer, dialect))
    if isinstance(body, Tree) and divisible(body) and output != "rule":
        lines[1:1] = divided_arm(body, writer.spelling(), Asked(output, label))
    return lines


def steps_of(
    body: Body, dialect: Dialect, output: str
) -> tuple[Iterator[Step], Mapping[int, Rule]]:
    """The arms of the CASE, and the rules that they come to."""
    if isinstance(body, Tree) and divisible(body) and output == "rule":
        whole = exposed(body)
        return decision_steps(whole.tree, dialect.limits.nesting), whole.rules
    return decision_steps(body, dialect.limits.nesting), outcomes(body)


def check_values(body: Body, dialect: Dialect) -> None:
    """What a database lacks, or would take for something else, cannot be compared."""
    required = [body.features[position] for position in required_features(body)]
    for feature in required:
        check_type(feature.type, f"the column {feature.name!r}", dialect)
    check_type(answer_type(body, "label"), "the prediction", dialect)
    if dialect.values.empty_text:
        return
    told = "give it a text of its own in the data"
    for feature in required:
        if "" in feature.categories:
            raise TargetError(
                f"{dialect.name} takes the category '' of {feature.name!r} for NULL:"
                f" {told}"
            )
    if "" in body.labels:
        raise TargetError(f"{dialect.name} takes the label '' for NULL: {told}")


def check_type(value_type: ValueType, what: str, dialect: Dialect) -> None:
    """A dialect says by an empty text that it has no such type."""
    if not dialect.types.of(value_type):
        raise TargetError(
            f"{dialect.name} has no type for {what}, of type {value_type}: learn it"
            " from data in which it is a number or a text"
        )


def size_warnings(lines: Iterable[str], leaves: int, dialect: Dialect) -> Iterator[str]:
    """What a user must know of a text as large as this; too large is an error."""
    limits = dialect.limits
    if 0 < limits.slow_leaves <= leaves:
        yield f"{dialect.name} is slow to read an expression of {leaves} leaves"
    size = sum(len(line.encode()) + 1 for line in lines)
    if 0 < limits.text < size:
        said = f"the SQL has {size:,} bytes, and {dialect.name} takes {limits.text:,}"
        if not limits.beyond:
            raise TargetError(f"{said}: learn a smaller tree, or prune it more")
        yield f"{said}: {limits.beyond}"


# ---------------------------------------------------------------- layout


def case_lines(
    steps: Iterable[Step],
    decided: Mapping[int, Decided],
    text: Callable[[Condition], str],
    result: Callable[[Decided], str],
    dialect: Dialect,
) -> Iterator[str]:
    """The steps as nested CASE, one arm on each line."""
    opened = -1  # depth of the innermost CASE
    limits = dialect.limits
    arms = Counter[int]()  # of the CASE that is open at each depth
    for step in steps:
        indent = "    " * step.depth
        answer = "" if step.outcome is None else result(decided[step.outcome])
        if not step.tests:
            if opened < step.depth:  # nothing to decide
                yield f"{indent}{answer}"
                return
            yield f"{indent}  ELSE {answer}"
            yield f"{indent}END"
            opened = step.depth - 1
            continue
        if opened < step.depth:
            yield f"{indent}CASE"
            opened = step.depth
            arms[opened] = 0
        arms[opened] += 1
        if 0 < limits.arms < arms[opened]:
            raise TargetError(
                f"a CASE has more WHENs than the {limits.arms:,} that {dialect.name}"
                " takes: learn a smaller tree, or prune it more"
            )
        if len(step.tests) > limits.tests:
            raise TargetError(
                f"a rule joins {len(step.tests)} conditions by AND, and {dialect.name}"
                f" takes {limits.tests}: use the tree instead of its rules"
            )
        when = " AND ".join(map(text, step.tests))
        yield f"{indent}  WHEN {when} THEN {answer}".rstrip()


def label_position(
    body: Body, options: EmitOptions, asked: Iterable[str]
) -> int | None:
    """Whose probability is asked for; None for the predicted label's."""
    if not options.label:
        return None
    if "probability" not in asked:
        raise OptionError("--label goes with --output probability")
    return position_of(body.labels, options.label)


def result_text(
    body: Body, dialect: Dialect, output: str, label: int | None
) -> Callable[[Rule], str]:
    """How the answer of a rule is written, by what the user asks for."""
    if output == "rule":
        return lambda rule: literal(rule.id, dialect)
    if output == "label":
        return lambda rule: literal(rule.value, dialect)
    if not body.labels:
        raise OptionError("--output probability: a regression has no probabilities")

    def probability(rule: Rule) -> str:
        assert isinstance(rule.stats, ClassCounts)
        position = body.labels.index(rule.value) if label is None else label
        return literal(probabilities(rule.stats)[position], dialect)

    return probability
