"""Writes a decision as Python: functions of guard clauses.

Every condition is one short comparison. Missing numbers are NaN: `not x > 5` holds for
them and `x > 5` does not. Other missing values are None, which can be in a set like any
other value.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping, Sequence

from treecompile.emit.guards import (
    INLINE_WIDTH,
    NAME_WIDTH,
    Chosen,
    FunctionText,
    GuardClauses,
)
from treecompile.emit.literals import identifiers, python_literal, python_string
from treecompile.emit.lower import lower
from treecompile.emit.python.layout import (
    WIDTH,
    call,
    call_by_row,
    collection,
    condition,
    frozen_set,
    signature,
    with_comment,
)
from treecompile.emit.targets import ByType
from treecompile.model import ir

VARIABLE_WIDTH = NAME_WIDTH - 4
WRITTEN_TWICE = 12  # a decision of at most so many rules is written in `predict`, too
CONVERTERS = ByType("as_number", "as_text", "as_integer", "as_boolean")
NUMBER_TESTS = {
    "at_most": "{x} <= {value}",
    "at_most_or_missing": "not {x} > {value}",
    "above": "{x} > {value}",
    "above_or_missing": "not {x} <= {value}",
    "missing": "{x} != {x}",
    "known": "{x} == {x}",
    "always": "True",
    "never": "False",
}


class DecisionCode(GuardClauses):
    """Writes the decision as Python.

    `taken` has the names that no local variable may have.
    """

    indent = 4
    width = WIDTH
    first = "predict_values"
    following = "_predict_"
    number_tests = NUMBER_TESTS

    def __init__(
        self,
        body: ir.Body,
        taken: Iterable[str],
        said: Mapping[str, str],
    ) -> None:
        reserved = {*taken, *RESERVED}
        variables = identifiers(body, reserved, VARIABLE_WIDTH, lower=True)
        super().__init__(body, variables, list(lower(body)), said)
        self.large = self.large_features()

    def large_features(self) -> set[int]:
        """Return the features that are compared with numbers above 2^53."""
        return {
            test.feature
            for test in self.texts
            for value in test.values
            if isinstance(value, float) and abs(value) >= 2.0**53
        }

    def literal(self, value: ir.Label) -> str:
        return python_literal(value)

    def guard(self, tests: Sequence[str], margin: str) -> list[str]:
        return condition(tests, margin)

    def returned(self, rule: ir.Rule, margin: str) -> list[str]:
        answer = self.answer(rule.value)
        line = f'{margin}return "{rule.id}" if rule else {answer}'
        return with_comment(line, self.said[rule.id])

    def call(self, function: FunctionText, margin: str) -> list[str]:
        start = f"{margin}return {function.name}("
        return call(start, self.arguments(function), ")", len(margin))

    def head(self, function: FunctionText) -> list[str]:
        arguments = [f"{name}: Any" for name in self.arguments(function)]
        return call(f"def {function.name}(", arguments, f") -> {self.returns}:")

    @property
    def returns(self) -> str:
        """The type of an answer or of a rule's id: one type, if answers are texts."""
        is_text = bool(self.body.labels) and isinstance(self.body.labels[0], str)
        return "str" if is_text else "Any"

    def head_by_name(self, answer_type: str) -> list[str]:
        """Write the head of `predict`, after overloads for each call."""
        start = "def predict(row: Mapping[str, Any]"
        whole = f"{start}, rule: bool = False) -> {self.returns}:"
        if self.returns != "Any":
            return [whole]
        first = ["@overload", f"{start}) -> {answer_type}: ..."]
        return [
            *first,
            "@overload",
            f"{start}, rule: Literal[True]) -> str: ...",
            whole,
        ]

    def by_name(self, decision: FunctionText, rules: int) -> list[str]:
        """Write the body of `predict`: the decision once more, or a call of it.

        A call takes a quarter of the time of a small tree.
        """
        keys = [python_string(self.body.features[i].name) for i in self.variables]
        names = self.variables.values()
        lines = [f"    {x} = row[{key}]" for x, key in zip(names, keys, strict=True)]
        if rules <= WRITTEN_TWICE and max(map(len, lines), default=0) <= WIDTH:
            return lines + decision.lines
        return call_by_row(f"    return {self.first}(", keys, ")", ["rule=rule"])

    def interface(self, answer_type: str) -> list[str]:
        """Write the head of `predict_values`, after overloads for each call."""
        start, names = f"def {self.first}(", self.variables.values()
        lines = []
        if self.returns == "Any":
            lines += ["@overload", *signature(start, names, f") -> {answer_type}: ...")]
            option = ["rule: bool"]
            lines += ["@overload", *signature(start, names, ") -> Any: ...", option)]
        option = ["rule: bool = False"]
        return lines + signature(start, names, f") -> {self.returns}:", option)

    def finish(self, function: FunctionText) -> None:
        if function.caller is None:
            function.lines = self.checks() + function.lines
        super().finish(function)

    def checks(self) -> list[str]:
        """Convert every required value unless it has a plain type."""
        lines = []
        for index, variable in self.variables.items():
            feature = self.body.features[index]
            lines += self.check(feature, variable, is_large=index in self.large)
        return lines

    @staticmethod
    def check(feature: ir.Feature, variable: str, is_large: bool) -> list[str]:
        """Write the test of `x.__class__`, which takes less time than `type(x)`."""
        plain, convert = plain_types(feature, is_large), CONVERTERS.of(feature.type)
        tests = [f"{variable}.__class__ is not {each}" for each in plain]
        arguments = [python_string(feature.name), variable]
        converted = call(f"        {variable} = {convert}(", arguments, ")", 8)
        return condition(tests, "    ") + converted

    def member_test(self, inside: bool, chosen: Chosen, index: int) -> str:
        variable = self.variables[index]
        if not chosen:
            return "False" if inside else "True"
        if chosen == (None,):
            return f"{variable} is None" if inside else f"{variable} is not None"
        items = [python_literal(category) for category in chosen]
        if len(items) == 1:
            operator, text, item = ("==" if inside else "!="), items[0], "[0]"
        else:
            operator, item = ("in" if inside else "not in"), ""
            text = f"({', '.join(items)})"
        if len(text) > INLINE_WIDTH:
            text = f"{self.named(items, index)}{item}"
        return f"{variable} {operator} {text}"

    def constants(self) -> list[str]:
        return set_constants(self.sets)


def plain_types(feature: ir.Feature, is_large: bool) -> tuple[str, ...]:
    """Return the types that need no conversion before they are compared.

    Python compares an int with a float exactly; the semantics rounds the int to a
    double first. Below 2^53 the results are the same, so unless a threshold is larger.
    """
    if feature.type is not ir.ValueType.FLOAT:
        return (feature.type.value,)
    return ("float",) if is_large else ("float", "int")


def set_constants(sets: Mapping[tuple[str, ...], str]) -> list[str]:
    """Return the definitions of named sets."""
    lines = []
    for items, name in sets.items():
        if len(items) == 1:
            lines += collection(f"{name} = (", items, ")")
        else:
            lines += frozen_set(name, items)
    return lines


RESERVED = {
    *keyword.kwlist,
    *dir(builtins),
    *("explain", "overload", "predict", "predict_many"),
    *("predict_proba", "predict_values", "row", "rule"),
}
