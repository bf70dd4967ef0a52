"""Writes a decision as functions of guard clauses, for languages of indented blocks.

Python and JavaScript share this walk over the steps of a decision. A language
subclasses `GuardClauses` and says how a test, a guard and an answer are written. Where
steps would nest too deep for the width of a line, a further function continues.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treecompile.emit.lower import Arm, ArmTest
from treecompile.model import ir

NAME_WIDTH = 24  # maximum length of a local variable
INLINE_WIDTH = 24  # maximum length of a label or a set of categories inside a line
Chosen = tuple[ir.Category | None, ...]  # categories, and None for a missing value


@dataclass(slots=True)
class FunctionText:
    """A function of the module, filled while the steps are written."""

    name: str  # _predict_1
    base: int  # depth of its outermost steps
    caller: FunctionText | None = None
    call_at: int = 0  # the line of the caller that will be the call
    open: int = 0  # depth of the block that is being written
    uses: set[int] = field(default_factory=set)  # features
    # For the template, which writes the head of the first function itself:
    head: list[str] = field(default_factory=list)  # def _predict_1(heat: Any, ...
    lines: list[str] = field(default_factory=list)  # '    if heat > 20:', ...


class GuardClauses(ABC):
    """Writes the arms of a decision; `variables` names the features that it reads."""

    indent: int  # columns of each level
    width: int  # the width of a line
    first: str  # the name of the first function
    following: str  # the name of the others, before a number
    number_tests: Mapping[str, str]  # by the forms of `ArmTest`

    def __init__(
        self,
        body: ir.Body,
        variables: Mapping[int, str],
        arms: Sequence[Arm],
        said: Mapping[str, str],
        sets: dict[tuple[str, ...], str] | None = None,
    ) -> None:
        self.body = body
        self.said = said  # the evidence of each rule (see `words.evidence_by_id`)
        self.variables = variables
        self.arms = arms
        # Sets of literals that are named constants; the trees of a forest share them.
        self.sets = {} if sets is None else sets
        asked = dict.fromkeys(test for arm in arms for test in arm.tests)
        self.texts = {test: self.test(test) for test in asked}
        widest = max(map(len, self.texts.values()), default=0)
        room = self.width - len(self.guard([""], "")[0]) - widest
        self.levels = max(1, room // self.indent - 1)

    # ------------------------------------------------------------ of the language

    @abstractmethod
    def literal(self, value: ir.Label) -> str:
        """Write a label, a category or a number."""

    @abstractmethod
    def member_test(self, inside: bool, chosen: Chosen, index: int) -> str:
        """Write the test that a feature has one of the chosen values, or none."""

    @abstractmethod
    def guard(self, tests: Sequence[str], margin: str) -> list[str]:
        """Write the head of an `if`."""

    @abstractmethod
    def returned(self, rule: ir.Rule, margin: str) -> list[str]:
        """Write the return of a rule's answer or id."""

    @abstractmethod
    def call(self, function: FunctionText, margin: str) -> list[str]:
        """Write the call of a function that continues the decision."""

    @abstractmethod
    def head(self, function: FunctionText) -> list[str]:
        """Write the first lines of a function that continues the decision."""

    def closing(self, margin: str) -> list[str]:
        """Write the end of a block, in a language that marks it."""
        return []

    # ------------------------------------------------------------ the walk

    def functions(self) -> list[FunctionText]:
        """Return the first function, then those that continue it."""
        current = FunctionText(self.first, 0)
        found = [current]
        for arm in self.arms:
            while arm.depth < current.base:
                assert current.caller is not None
                current = current.caller
            self.close(current, arm.depth)
            margin = self.margin(current, arm.depth)
            if arm.tests:
                current.uses.update(test.feature for test in arm.tests)
                texts = [self.texts[test] for test in arm.tests]
                current.lines += self.guard(texts, margin)
                current.open = arm.depth + 1
                margin = self.margin(current, arm.depth + 1)
            if arm.rules:
                current.lines += self.returned(arm.rules[0], margin)
            elif arm.depth - current.base + 1 >= self.levels:
                name = f"{self.following}{len(found)}"
                depth, at = arm.depth + 1, len(current.lines)
                current.lines.append(margin)
                current = FunctionText(name, depth, current, at, depth)
                found.append(current)
        for function in reversed(found):  # the innermost first: it adds to `uses`
            self.finish(function)
        return found

    def margin(self, function: FunctionText, depth: int) -> str:
        return " " * (self.indent * (depth - function.base + 1))

    def close(self, function: FunctionText, depth: int) -> None:
        """End all open blocks that are deeper than `depth`."""
        while function.open > depth:
            function.open -= 1
            margin = self.margin(function, function.open)
            function.lines += self.closing(margin)

    def finish(self, function: FunctionText) -> None:
        """Write the head of a function, and its call into its caller."""
        caller = function.caller
        if caller is not None:
            caller.uses |= function.uses
            margin = caller.lines[function.call_at]
            caller.lines[function.call_at] = "\n".join(self.call(function, margin))
            function.head = self.head(function)

    def arguments(self, function: FunctionText) -> list[str]:
        """Return the arguments for a function that continues the decision."""
        return [*(self.variables[index] for index in sorted(function.uses)), "rule"]

    # ------------------------------------------------------------ tests and answers

    def test(self, test: ArmTest) -> str:
        form = test.form
        if self.body.features[test.feature].kind is ir.Kind.NUMERIC:
            value = "".join(map(self.literal, test.values))
            x = self.variables[test.feature]
            return self.number_tests[form].format(x=x, value=value)
        inside = form.startswith("within") or form in ("missing", "never")
        # A missing value can be in the set like any other.
        has_none = form in ("within_or_missing", "without", "missing", "known")
        chosen = (*((None,) if has_none else ()), *test.values)
        return self.member_test(inside, chosen, test.feature)

    def named(self, items: Sequence[str], index: int) -> str:
        """Return the name of a constant for a set too long for a line: TOWN_1."""
        key = tuple(items)
        if key not in self.sets:
            stem = self.variables[index].upper().strip("_")[: NAME_WIDTH - 4]
            self.sets[key] = f"{stem}_{len(self.sets) + 1}"
        return self.sets[key]

    def answer(self, label: ir.Label) -> str:
        """Write an answer: a label or number; a long label by its place in CLASSES."""
        text = self.literal(label)
        if len(text) <= INLINE_WIDTH or not self.body.labels:
            return text
        return f"CLASSES[{self.body.labels.index(label)}]"
