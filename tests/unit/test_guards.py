"""Guard clauses in a language that ends its blocks: each is closed where it began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest

from tests.support.samples import balanced, chain
from treecompile.emit.guards import FunctionText, GuardClauses
from treecompile.emit.steps import decision_steps
from treecompile.model.ir import Condition, Feature, Kind, Label, Op, Rule, ValueType
from treecompile.model.paths import outcomes
from treecompile.model.semantics import predict


class Braces(GuardClauses):
    indent, width, first, following = 4, 40, "first", "more_"
    number_tests: Mapping[str, str] = MappingProxyType(
        {"at_most": "{x} <= {value}", "above": "{x} > {value}"}
    )

    def literal(self, value: Label) -> str:
        return repr(value)

    def member_test(self, inside: bool, chosen: object, index: int) -> str:
        raise NotImplementedError

    def guard(self, tests: Sequence[str], margin: str) -> list[str]:
        return [f"{margin}if {' and '.join(tests)} {{"]

    def returned(self, rule: Rule, margin: str) -> list[str]:
        return [f"{margin}return {self.literal(rule.value)}"]

    def call(self, function: FunctionText, margin: str) -> list[str]:
        return [f"{margin}return {function.name}()"]

    def head(self, function: FunctionText) -> list[str]:
        return [f"{function.name} {{"]

    def closing(self, margin: str) -> list[str]:
        return [f"{margin}}}"]


def written(depth: int) -> list[FunctionText]:
    body = balanced(depth).body
    steps = list(decision_steps(body))
    return Braces(body, {0: "x"}, steps, {}).functions(outcomes(body))


def run(functions: Sequence[FunctionText], x: float) -> float:
    """Execute the text; blocks must be balanced, also those that are skipped."""
    known = {function.name: function.lines for function in functions}
    lines, place = known["first"], 0
    while True:
        word, *others = lines[place].split()
        if word == "return":
            if others[0].endswith("()"):
                lines, place = known[others[0][:-2]], 0
                continue
            return float(others[0])
        if word == "if" and not eval(" ".join(others[:-1]), {"x": x}):
            end = lines[place][: lines[place].index("if")] + "}"
            place = lines.index(end, place)
        place += 1


@pytest.mark.parametrize("depth", [1, 2, 4, 6, 9])
def test_blocks_are_closed_where_they_began(depth: int) -> None:
    functions = written(depth)
    assert (len(functions) > 1) == (depth > 4)
    for function in functions:
        opened: list[str] = []
        for line in function.lines:
            margin = line[: len(line) - len(line.lstrip())]
            if line.strip() == "}":
                assert opened.pop() == margin
            else:
                assert len(margin) == Braces.indent * (len(opened) + 1)
            if line.endswith("{"):
                opened.append(margin)
            assert len(line) <= Braces.width
        assert not opened


@pytest.mark.parametrize("depth", [2, 9])
def test_the_walk_decides_as_the_tree_does(depth: int) -> None:
    functions = written(depth)
    body = balanced(depth).body
    for number in range(-1, 2 ** (depth + 1) + 2):
        x = number / 2
        assert run(functions, x) == predict(body, (x,))


def test_only_one_answer_needs_no_block() -> None:
    body = chain((Feature("x", Kind.NUMERIC, ValueType.FLOAT),), (), ("a",)).body
    made = Braces(body, {}, list(decision_steps(body)), {})
    (function,) = made.functions(outcomes(body))
    assert function.lines == ["    return 'a'"]
    assert Condition(0, Op.LE, 0.5, False) not in made.texts
