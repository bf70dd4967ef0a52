"""Are the rules of a model sound: which overlap, contradict each other, never decide.

In an ordered list overlaps are no fault, since the first matching rule decides. But
they mislead a reader who takes a rule on its own, most of all where the conclusions
differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treecompile.inspect.coverage import deciding
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Body,
    Condition,
    Label,
    Program,
    RuleSet,
    Split,
    Tree,
    Value,
)
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import is_fractional, rule_position
from treecompile.regions.boxes import STEPS, Boxes, SearchBudget
from treecompile.regions.space import Box, Space

PAIRS = 50_000  # comparisons of rules and tests that count as one step of the budget
LISTED = 1000  # pairs of rules that get a witness


class Fault(StrEnum):
    UNREACHABLE = "unreachable"  # its conditions contradict each other
    SHADOWED = "shadowed"  # earlier rules take all of its rows
    CONFLICT = "conflict"  # two rules hold for one row and conclude differently
    OVERLAP = "overlap"  # two rules hold for one row and conclude the same
    INCOMPLETE = "incomplete"  # no rule holds, and the default decides


@dataclass(frozen=True, slots=True)
class Finding:
    fault: Fault
    rules: tuple[str, ...]  # ids
    row: dict[str, Value] | None  # that shows it; a contradiction has none
    decider: str = ""  # the rule that decides the row
    tests: tuple[Condition, ...] = ()  # that contradict each other


@dataclass(frozen=True, slots=True)
class Check:
    """The findings; of pairs of rules only the first, but `counts` has them all."""

    body: Body
    findings: tuple[Finding, ...]
    counts: dict[Fault, int]
    undecided: tuple[str, ...] = ()  # what could not be settled within the budget
    only_unknown: tuple[str, ...] = ()  # leaves that no row of known values reaches

    def passed(self, allowed: frozenset[Fault] = frozenset()) -> bool:
        return not any(n for fault, n in self.counts.items() if fault not in allowed)


def check(program: Program, budget: int = STEPS, listed: int = LISTED) -> Check:
    """Check the rules, or the leaves, of a model; list at most `listed` pairs."""
    body = program.body
    if isinstance(body, Tree):
        return _check_tree(body)
    return RuleCheck(program, body, SearchBudget(budget), listed).check()


class RuleCheck:
    """The check of an ordered list."""

    def __init__(
        self, program: Program, rules: RuleSet, budget: SearchBudget, listed: int
    ) -> None:
        self.rules, self.budget, self.listed = rules, budget, listed
        self.columns = program.training.columns if program.training else ()
        self.space = Space(rules.features)
        self.boxes = Boxes(self.space, [rule.conditions for rule in rules.rules])
        self.all = (*rules.rules, rules.default)
        self.findings: list[Finding] = []
        self.counts = dict.fromkeys(Fault, 0)
        self.undecided: list[str] = []

    def check(self) -> Check:
        self.unreachable()
        self.pairs()
        self.shadowed()
        order = list(Fault)
        self.findings.sort(key=lambda finding: order.index(finding.fault))
        return Check(
            self.rules, tuple(self.findings), self.counts, tuple(self.undecided)
        )

    def found(self, fault: Fault, box: Box, *numbers: int) -> None:
        row = self.space.row(box, self.columns)
        decides = rule_position(self.rules, row)
        self.findings.append(
            Finding(
                fault,
                tuple(self.all[number].id for number in numbers),
                {self.rules.features[p].name: row[p] for p in self.boxes.columns},
                self.all[decides].id,
            )
        )

    def unreachable(self) -> None:
        for number, box in enumerate(self.boxes.boxes):
            if box is None:
                rule = self.all[number]
                self.findings.append(_unreachable(rule.id, rule.conditions, self.space))
                self.counts[Fault.UNREACHABLE] += 1

    def shadowed(self) -> None:
        deciders, undecided = deciding(self.rules, self.boxes, self.budget)
        last = len(self.rules.rules)
        for number, box in enumerate(self.boxes.boxes[:-1]):
            if box is not None and number not in deciders and number not in undecided:
                self.counts[Fault.SHADOWED] += 1
                self.found(Fault.SHADOWED, box, number)
        if last in deciders:
            self.counts[Fault.INCOMPLETE] = 1
            self.found(Fault.INCOMPLETE, deciders[last], last)
        for number in undecided:
            if number == last:
                self.undecided.append("whether the rules are complete without default")
            else:
                self.undecided.append(f"whether {self.all[number].id} ever decides")

    def pairs(self) -> None:
        """Find every pair of rules that hold for one row."""
        possible = np.array(
            [n for n, box in enumerate(self.boxes.boxes[:-1]) if box is not None],
            dtype=np.int64,
        )
        values: dict[Label, int] = {}
        codes = np.array([values.setdefault(r.value, len(values)) for r in self.all])
        for place, number in enumerate(possible):
            box = self.boxes.boxes[number]
            assert box is not None
            tests = len(self.rules.rules[number].conditions)
            if not self.budget.spend(1 + tests * place // PAIRS):
                left = len(possible) - place
                self.undecided.append(f"whether the last {left} rules overlap others")
                return
            earlier = self.boxes.meeting(box, possible[:place])
            is_same = codes[earlier] == codes[number]
            for fault, others in (
                (Fault.CONFLICT, earlier[~is_same]),
                (Fault.OVERLAP, earlier[is_same]),
            ):
                room = max(0, self.listed - self.counts[fault])
                self.counts[fault] += len(others)
                for other in map(int, others[:room]):
                    pair = zip(self.boxes.boxes[other] or (), box, strict=True)
                    both = tuple(one.meet(another) for one, another in pair)
                    self.found(fault, both, other, int(number))


def _unreachable(identity: str, tests: tuple[Condition, ...], space: Space) -> Finding:
    """What to say of a rule or leaf whose conditions leave nothing of some feature."""
    clash = contradiction(tests, space)
    return Finding(Fault.UNREACHABLE, (identity,), None, tests=clash)


def contradiction(tests: tuple[Condition, ...], space: Space) -> tuple[Condition, ...]:
    """The conditions on the first feature of which they leave nothing."""
    left = list(space.everything)
    for test in tests:
        index = test.feature
        left[index] = left[index].meet(space.where(test))
        if left[index].is_empty:
            return tuple(t for t in tests if t.feature == index)
    raise ValueError("the conditions do not contradict each other")


# ---------------------------------------------------------------- trees


def _check_tree(tree: Tree) -> Check:
    """In a tree only leaves that contradict themselves can be found."""
    if is_fractional(tree):
        raise TargetError(
            "a tree that divides missing values among its branches does not decide by"
            " its leaves alone: check its rules (treecompile rules)"
        )
    space = Space(tree.features)
    ids = rule_ids(tree)
    above: dict[int, tuple[int, Condition]] = {}
    boxes: dict[int, Box] = {0: space.everything}
    findings, only_unknown = [], []
    for position, node in enumerate(tree.nodes):
        box = boxes.pop(position, None)
        if isinstance(node, Split):
            for branch in node.branches:
                above[branch.then] = position, branch.when
                inner = None if box is None else space.cut(box, branch.when)
                if inner is not None:
                    boxes[branch.then] = inner
        elif box is None:
            tests = tuple(_upwards(position, above))[::-1]
            findings.append(_unreachable(ids[position], tests, space))
        elif not all(region.has_known for region in box):
            only_unknown.append(ids[position])
    order = {identity: number for number, identity in enumerate(ids.values())}
    findings.sort(key=lambda finding: order[finding.rules[0]])
    only_unknown.sort(key=order.__getitem__)
    counts = {**dict.fromkeys(Fault, 0), Fault.UNREACHABLE: len(findings)}
    return Check(tree, tuple(findings), counts, only_unknown=tuple(only_unknown))


def _upwards(
    position: int, above: dict[int, tuple[int, Condition]]
) -> Iterator[Condition]:
    while position:
        position, when = above[position]
        yield when
