"""Writes a decision as JavaScript: functions of guard clauses.

Missing numbers are NaN: `!(x > 5)` holds for them and `x > 5` does not. Other missing
values are null, which can be in a set like any other value. Sets are of type Set, so
that no name of a category has a meaning of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treecompile.emit.guards import (
    INLINE_WIDTH,
    NAME_WIDTH,
    Chosen,
    FunctionText,
    GuardClauses,
)
from treecompile.emit.javascript.layout import (
    WIDTH,
    block,
    condition,
    javascript_string,
    literal,
    member,
    values,
    with_comment,
)
from treecompile.emit.literals import identifiers
from treecompile.emit.lower import lower
from treecompile.model import ir

SAFE = 2**53 - 1  # up to here, a number holds every integer exactly
CHAIN_WIDTH = 48  # up to this width, comparisons with === replace a set
NUMBER_TESTS = {
    "at_most": "{x} <= {value}",
    "at_most_or_missing": "!({x} > {value})",
    "above": "{x} > {value}",
    "above_or_missing": "!({x} <= {value})",
    "missing": "Number.isNaN({x})",
    "known": "!Number.isNaN({x})",
    "always": "true",
    "never": "false",
}
RESERVED = {
    *("arguments", "await", "break", "case", "catch", "class", "const", "continue"),
    *("debugger", "default", "delete", "do", "else", "enum", "eval", "export"),
    *("extends", "false", "finally", "for", "function", "if", "implements", "import"),
    *("in", "instanceof", "interface", "let", "new", "null", "package", "private"),
    *("protected", "public", "return", "static", "super", "switch", "this", "throw"),
    *("true", "try", "typeof", "undefined", "var", "void", "while", "with", "yield"),
    # Names in `answer` itself:
    *("answer", "columns", "row", "rule"),
}


def is_large(values: Sequence[ir.Label]) -> bool:
    """Whether some integer is too large for a JavaScript number to hold exactly."""
    return any(isinstance(value, int) and abs(value) > SAFE for value in values)


def converter(feature: ir.Feature) -> str:
    """Return the function that checks and converts the values of a feature."""
    if feature.type is ir.ValueType.INT and is_large(feature.categories):
        return "asBigInt"
    return {
        ir.ValueType.FLOAT: "asNumber",
        ir.ValueType.STR: "asText",
        ir.ValueType.INT: "asInteger",
        ir.ValueType.BOOL: "asBoolean",
    }[feature.type]


class DecisionScript(GuardClauses):
    """Writes the decision as JavaScript."""

    indent = 2
    width = WIDTH
    first = "answer"
    following = "nestedAnswer"  # no variable has capital letters
    number_tests = NUMBER_TESTS

    def __init__(self, body: ir.Body, said: Mapping[str, str]) -> None:
        variables = identifiers(body, RESERVED, NAME_WIDTH - 4)
        self.large = is_large(body.labels)
        super().__init__(body, variables, list(lower(body)), said)

    def literal(self, value: ir.Label) -> str:
        return literal(value, exact=self.large)

    def guard(self, tests: Sequence[str], margin: str) -> list[str]:
        return condition(tests, margin)

    def closing(self, margin: str) -> list[str]:
        return [f"{margin}}}"]

    def returned(self, rule: ir.Rule, margin: str) -> list[str]:
        answer = self.answer(rule.value)
        lines = [f'{margin}return rule ? "{rule.id}" : {answer};']
        if len(lines[0]) > WIDTH:
            parts = ("return rule", f'  ? "{rule.id}"', f"  : {answer};")
            lines = [margin + part for part in parts]
        return with_comment(lines, self.said[rule.id])

    def call(self, function: FunctionText, margin: str) -> list[str]:
        start = f"{margin}return {function.name}("
        return block(start, self.arguments(function), ");", len(margin))

    def head(self, function: FunctionText) -> list[str]:
        return block(f"function {function.name}(", self.arguments(function), ") {")

    def finish(self, function: FunctionText) -> None:
        if function.caller is None:
            function.lines = self.reading() + function.lines
        super().finish(function)

    def reading(self) -> list[str]:
        """Fetch and convert every required value."""
        if not self.variables:
            return ["  asRow(row);"]
        lines = ["  const columns = asRow(row);"]
        for index, variable in self.variables.items():
            feature = self.body.features[index]
            start = f"  const {variable} = {converter(feature)}("
            fetched = f"columns{member(feature.name)}"
            lines += block(start, [javascript_string(feature.name), fetched], ");", 2)
        return lines

    def member_test(self, inside: bool, chosen: Chosen, index: int) -> str:
        variable = self.variables[index]
        if not chosen:
            return "false" if inside else "true"
        sign, joint = ("===", " || ") if inside else ("!==", " && ")
        # Values of the type that the converter returns.
        exact = converter(self.body.features[index]) == "asBigInt"
        items = [literal(value, exact=exact) for value in chosen]
        if len(items) == 1:
            is_short = len(items[0]) <= INLINE_WIDTH
            text = items[0] if is_short else self.named(items, index)
            return f"{variable} {sign} {text}"
        chain = joint.join(f"{variable} {sign} {item}" for item in items)
        if len(chain) <= CHAIN_WIDTH:
            return f"({chain})" if inside else chain
        return f"{'' if inside else '!'}{self.named(items, index)}.has({variable})"

    def constants(self) -> list[str]:
        lines = []
        for items, name in self.sets.items():
            if len(items) == 1:
                lines.append(f"const {name} = {items[0]};")
            else:
                lines += values(f"const {name} = new Set([", items, "]);")
        return lines
