"""The decision as Python functions of guard clauses.

Every condition is one short comparison, because missing values are NaN or None here and
both make a comparison say what the law wants: `not x > 5` holds for a NaN and `x > 5`
does not, and None is a member of a set like any other value.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from treecompile import words
from treecompile.divide import DIVIDED, divisible
from treecompile.ir import (
    Body,
    Category,
    Condition,
    Kind,
    Label,
    Op,
    Rule,
    ValueType,
)
from treecompile.literals import python_literal, python_string
from treecompile.lower import Context
from treecompile.lower.identifiers import identifiers
from treecompile.lower.python_layout import (
    WIDTH,
    call,
    collection,
    condition,
    frozen_set,
    subscript,
    with_comment,
)
from treecompile.membership import membership
from treecompile.retree import decision_steps
from treecompile.semantics import asks_presence, threshold

NAME_WIDTH = 24  # of a local variable
INLINE_WIDTH = 24  # of a label or a set of categories within a line

CONVERTERS = {
    ValueType.FLOAT: "as_number",
    ValueType.STR: "as_text",
    ValueType.INT: "as_integer",
    ValueType.BOOL: "as_boolean",
}


@dataclass(slots=True)
class Function:
    """One function of the module, filled while its block is walked."""

    name: str
    base: int  # depth of its outermost steps
    lines: list[str] = field(default_factory=list)
    uses: set[int] = field(default_factory=set)
    caller: Function | None = None
    call_at: int = 0  # where in the caller's lines the call belongs


class DecisionCode:
    """Writes the decision as functions of guard clauses."""

    def __init__(self, body: Body, taken: Iterable[str]) -> None:
        self.body = body
        self.variables = identifiers(
            body, {*taken, *RESERVED}, NAME_WIDTH - 4, lower=True
        )
        self.sets: dict[tuple[Category | None, ...], str] = {}
        self.steps = list(decision_steps(body))
        asked = dict.fromkeys(test for step in self.steps for test in step.tests)
        self.texts = {test: self.test(test) for test in asked}
        self.large = {
            test.feature
            for test in self.texts
            if isinstance(test.value, float) and 2.0**53 <= abs(test.value) < inf
        }
        widest = max(map(len, self.texts.values()), default=0)
        self.levels = max(1, (WIDTH - len("if :") - widest) // 4 - 1)

    def functions(self, decided: Mapping[int, Rule]) -> list[Context]:
        body = self.body
        root = Function("predict", 0)
        finished = [root]
        current = root
        for step in self.steps:
            while step.depth < current.base:
                assert current.caller is not None
                current.caller.uses |= current.uses
                current = current.caller
            margin = " " * (4 * (step.depth - current.base) + 4)
            if step.tests:
                current.uses.update(test.feature for test in step.tests)
                texts = [self.texts[test] for test in step.tests]
                current.lines += condition(texts, margin)
                margin += "    "
            if step.outcome is not None:
                rule = decided[step.outcome]
                said = words.evidence(rule.stats, rule.weight, rule.value, body.labels)
                answer = self.answer(rule.value)
                line = f'{margin}return "{rule.id}" if rule else {answer}'
                current.lines += with_comment(line, said)
            elif step.depth - current.base + 1 >= self.levels:
                inner = Function(f"_predict_{len(finished)}", step.depth + 1)
                inner.caller, inner.call_at = current, len(current.lines)
                current.lines.append(margin)
                finished.append(inner)
                current = inner
        while current.caller is not None:
            current.caller.uses |= current.uses
            current = current.caller
        # The innermost first: each writes its call into its caller.
        return [self.finish(function) for function in reversed(finished)][::-1]

    def finish(self, function: Function) -> Context:
        if function.caller is None:
            return {"lines": self.reading() + self.division() + function.lines}
        names = [*(self.variables[p] for p in sorted(function.uses)), "rule"]
        margin = function.caller.lines[function.call_at]
        line = call(f"{margin}return {function.name}(", names, ")", len(margin))
        function.caller.lines[function.call_at] = "\n".join(line)
        arguments = [f"{name}: Any" for name in names]
        head = call(f"def {function.name}(", arguments, ") -> Any:")
        return {"head": head, "lines": function.lines}

    def reading(self) -> list[str]:
        """Fetch every required value and convert those that are not plain already."""
        lines = []
        for position, variable in self.variables.items():
            feature = self.body.features[position]
            plain = self.plain_types(position)
            key = python_string(feature.name)
            convert = CONVERTERS[feature.type]
            lines += subscript(f"    {variable} = row", key, 4)
            lines += condition([f"type({variable}) is not {t}" for t in plain], "    ")
            arguments = [key, variable]
            lines += call(f"        {variable} = {convert}(", arguments, ")", 8)
        return lines

    def division(self) -> list[str]:
        """What a tree that divides unknown values does before its first test."""
        if not divisible(self.body):
            return []
        tests = []
        for position, variable in self.variables.items():
            feature = self.body.features[position]
            if feature.kind is Kind.NUMERIC:
                tests.append(f"{variable} != {variable}")
            else:
                tests.append(self.member_test(False, feature.categories, position))
        returned = f"        return {DIVIDED}(row, rule)"
        return [*condition(tests, "    ", "or"), returned]

    def plain_types(self, position: int) -> tuple[str, ...]:
        """The types that compare by the law as they are.

        An int compares exactly with a float, the law with the int rounded to a double:
        the same below 2^53.
        """
        value_type = self.body.features[position].type
        if value_type is not ValueType.FLOAT:
            return (value_type.value,)
        return ("float",) if position in self.large else ("float", "int")

    def test(self, test: Condition) -> str:
        feature = self.body.features[test.feature]
        variable = self.variables[test.feature]
        if feature.kind is Kind.NUMERIC:
            return number_test(variable, test)
        inside, categories, missing = membership(test, feature)
        # Missing is None, a member of the set like any other.
        chosen = (*((None,) if missing == inside else ()), *categories)
        return self.member_test(inside, chosen, test.feature)

    def member_test(
        self, inside: bool, chosen: tuple[Category | None, ...], where: int
    ) -> str:
        variable = self.variables[where]
        if not chosen:
            return "False" if inside else "True"
        if len(chosen) == 1:
            only = chosen[0]
            if only is None:
                return f"{variable} is None" if inside else f"{variable} is not None"
            return f"{variable} {'==' if inside else '!='} {self.category(only, where)}"
        return f"{variable} {'in' if inside else 'not in'} {self.set(chosen, where)}"

    def category(self, category: Category, where: int) -> str:
        text = python_literal(category)
        if len(text) <= INLINE_WIDTH:
            return text
        return f"{self.named((category,), where)}[0]"

    def set(self, chosen: tuple[Category | None, ...], where: int) -> str:
        text = f"({', '.join(map(python_literal, chosen))})"
        return text if len(text) <= INLINE_WIDTH else self.named(chosen, where)

    def named(self, chosen: tuple[Category | None, ...], where: int) -> str:
        if chosen not in self.sets:
            stem = self.variables[where].upper().strip("_")[: NAME_WIDTH - 4]
            self.sets[chosen] = f"{stem}_{len(self.sets) + 1}"
        return self.sets[chosen]

    def constants(self) -> list[str]:
        lines = []
        for chosen, name in self.sets.items():
            items = [python_literal(category) for category in chosen]
            if len(chosen) == 1:
                lines += collection(f"{name} = (", items, ")")
            else:
                lines += frozen_set(name, items)
        return lines

    def answer(self, label: Label) -> str:
        text = python_literal(label)
        if len(text) <= INLINE_WIDTH or not self.body.labels:
            return text
        return f"CLASSES[{self.body.labels.index(label)}]"


def number_test(variable: str, test: Condition) -> str:
    if asks_presence(test):
        return f"{variable} {'!=' if test.missing else '=='} {variable}"
    if test.value == inf:  # satisfied by every number or by none, whatever is missing
        return "True" if test.op is Op.LE else "False"
    text = python_literal(threshold(test))
    if test.missing:
        return f"not {variable} {'>' if test.op is Op.LE else '<='} {text}"
    return f"{variable} {test.op} {text}"


# ---------------------------------------------------------------- names

RESERVED = {
    *keyword.kwlist,
    *dir(builtins),
    *("csv", "divided", "explain", "main", "overload", "predict", "predict_columns"),
    *("predict_many", "predict_proba", "row", "rule", "score", "sys"),
}
