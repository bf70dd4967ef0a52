"""IR -> the strings of a SQL expression, query or view in one dialect.

Only what this module writes itself (ids, counts, hashes) goes into comments; text from
the data appears as quoted names and literals and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from treecompile import words
from treecompile.divide import DIVIDED, divisible, exposed, settled
from treecompile.errors import OptionError, TargetError
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Rule,
    Tree,
    ValueType,
)
from treecompile.literals import DOUBLES, STRINGS, sql_integer
from treecompile.lower import Context, EmitOptions, Source
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
from treecompile.lower.sql_fractional_parts import Asked, Spelling
from treecompile.membership import membership
from treecompile.retree import decision_steps, note
from treecompile.semantics import (
    asks_presence,
    conditions,
    probabilities,
    required_features,
    threshold,
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


def literal(value: Label | None, dialect: Dialect) -> str:
    """A label or a category of any type."""
    if isinstance(value, bool):
        return dialect.literals.true if value else dialect.literals.false
    if isinstance(value, int):
        return sql_integer(value)
    if isinstance(value, float):
        return DOUBLES[dialect.literals.double](value + 0.0)  # never -0.0
    assert isinstance(value, str)
    if "\0" in value and not dialect.values.nul:
        raise TargetError(f"{dialect.name} has no NUL character in a text: {value!r}")
    longest = dialect.values.longest_text
    if 0 < longest < (size := len(value.encode(errors="replace"))):
        raise TargetError(
            f"{dialect.name} has texts of {longest:,} bytes at most, and"
            f" {value[:20]!r}... has {size:,}: shorten it in the data"
        )
    return STRINGS[dialect.literals.string](value)


def compared(value: Category, dialect: Dialect) -> str:
    """A category as the column is compared with it."""
    text = literal(value, dialect)
    if isinstance(value, str) and dialect.literals.stop:
        return STRINGS[dialect.literals.string](value + dialect.literals.stop)
    return text


# ---------------------------------------------------------------- conditions


class Conditions:
    """Spells conditions as the dialect says."""

    def __init__(
        self,
        dialect: Dialect,
        body: Body,
        columns: Mapping[int, str],
        answer: ValueType = ValueType.STR,
    ) -> None:
        self.dialect = dialect
        self.features = body.features
        self.columns = columns
        typed = dialect.columns
        if dialect.number_for_number and answer is not ValueType.STR:
            typed = replace(typed, number=dialect.number_for_number)
        self.typed = {
            position: typed.of(body.features[position].type).format(column)
            for position, column in columns.items()
        }
        self.double = DOUBLES[dialect.literals.double]
        self.known: dict[Condition, str] = {}
        limits = dialect.limits
        values = [condition.value for condition in conditions(body)]
        thresholds = {value for value in values if isinstance(value, float)}
        if 0 < limits.many_doubles < len(thresholds):
            plain = self.double
            self.double = lambda value: limits.double_of_many.format(plain(value))
        sets = sum(isinstance(value, tuple) and len(value) > 1 for value in values)
        self.singly = 0 < limits.many_sets < sets

    def spelling(self) -> Spelling:
        """The same for the subquery that divides unknown values."""
        return Spelling(
            dialect=self.dialect,
            columns=self.columns,
            typed=self.typed,
            test=self.text,
            double=self.double,
            label=partial(literal, dialect=self.dialect),
            category=partial(compared, dialect=self.dialect),
        )

    def text(self, test: Condition) -> str:
        if test not in self.known:
            form, value = self.form(test)
            self.known[test] = form.format(
                x=self.typed[test.feature],
                column=self.columns[test.feature],
                value=value,
            )
        return self.known[test]

    def form(self, test: Condition) -> tuple[str, str]:
        """The template of a condition and the text of its value."""
        forms = self.dialect.conditions
        feature = self.features[test.feature]
        if feature.kind is not Kind.NUMERIC:
            return self.membership_form(test, feature)
        if asks_presence(test):
            return (forms.number_missing if test.missing else forms.number_known), ""
        if test.value == float("inf"):  # holds for every value or for none
            return (forms.always if test.op is Op.LE else forms.never), ""
        value = self.double(threshold(test) + 0.0)  # -0.0 compares like 0.0
        if test.op is Op.LE:
            return (forms.at_most_or_missing if test.missing else forms.at_most), value
        return (forms.above_or_missing if test.missing else forms.above), value

    def membership_form(self, test: Condition, feature: Feature) -> tuple[str, str]:
        forms = self.dialect.conditions
        inside, chosen, missing = membership(test, feature)
        if not chosen:
            if missing == inside:
                return (forms.missing if missing else forms.known), ""
            return (forms.always if missing else forms.never), ""
        text = partial(compared, dialect=self.dialect)
        most = self.dialect.limits.members
        value = ", ".join(map(text, chosen))
        if len(chosen) == 1:
            if inside:
                return (forms.equal_or_missing if missing else forms.equal), value
            return (forms.unequal_or_missing if missing else forms.unequal), value
        if self.singly or 0 < most < len(chosen):
            size = 1 if self.singly else most
            parts = [chosen[n : n + size] for n in range(0, len(chosen), size)]
            values = [", ".join(map(text, part)) for part in parts]
            return self.parts_form(test, inside, missing, values)
        if inside:
            return (forms.within_or_missing if missing else forms.within), value
        return (forms.without_or_missing if missing else forms.without), value

    def parts_form(
        self, test: Condition, inside: bool, missing: bool, values: Iterable[str]
    ) -> tuple[str, str]:
        """A set in several parts, all of it as the value of the condition."""
        forms = self.dialect.conditions
        x, column = self.typed[test.feature], self.columns[test.feature]
        one, several = forms.unequal, forms.without
        if inside:
            one, several = forms.equal, forms.within
        each = one if self.singly else several
        parts = [each.format(x=x, column=column, value=value) for value in values]
        joined = (" OR " if inside else " AND ").join(parts)
        form = "({value} OR {column} IS NULL)" if missing else "{value}"
        return form, f"({joined})"
