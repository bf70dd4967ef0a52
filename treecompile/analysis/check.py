"""Are the rules of a model sound: which overlap, contradict, never decide.

In an ordered list overlaps are no fault, the first rule decides; but a reader who takes
a rule on its own is misled by them, most of all where the conclusions differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treecompile.analysis.budget import STEPS, Budget
from treecompile.analysis.coverage import deciding
from treecompile.boxes import Boxes
from treecompile.errors import TargetError
from treecompile.extract import rule_ids
from treecompile.ir import (
    Body,
    Condition,
    Label,
    Program,
    RuleSet,
    Split,
    Tree,
    Value,
)
from treecompile.regions import Box, OrderedAxis, Region, SetAxis, Space
from treecompile.semantics import (
    conditions,
    is_fractional,
    rule_position,
)

PAIRS = 50_000  # of rules and tests that are compared in one step
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
    """What was found; of pairs, the first only, and how many there are."""

    body: Body
    findings: tuple[Finding, ...]
    counts: dict[Fault, int]
    undecided: tuple[str, ...] = ()  # questions that the budget did not settle
    only_unknown: tuple[str, ...] = ()  # leaves that no row of known values reaches

    def passed(self, allowed: frozenset[Fault] = frozenset()) -> bool:
        return not any(n for fault, n in self.counts.items() if fault not in allowed)


def check(program: Program, budget: int = STEPS, listed: int = LISTED) -> Check:
    """Check the rules, or the leaves, of a model; at most so many pairs are listed."""
    body = program.body
    if isinstance(body, Tree):
        return _check_tree(program, body)
    return Rules(program, body, Budget(budget), listed).check()


class Rules:
    """The check of an ordered list."""

    def __init__(
        self, program: Program, rules: RuleSet, budget: Budget, listed: int
    ) -> None:
        self.rules, self.budget, self.listed = rules, budget, listed
        self.columns = program.training.columns if program.training else ()
        self.space = Space(rules.features, conditions(rules))
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
                tests = contradiction(rule.conditions, self.space)
                self.findings.append(
                    Finding(Fault.UNREACHABLE, (rule.id,), None, tests=tests)
                )
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
        """Every pair of rules that hold for one row."""
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
                    both = self.space.meet(self.boxes.boxes[other] or (), box)
                    assert both is not None
                    self.found(fault, both, other, int(number))


def contradiction(tests: tuple[Condition, ...], space: Space) -> tuple[Condition, ...]:
    """The conditions on the one feature of which nothing is left."""
    left: dict[int, Region] = {}
    for test in tests:
        position = test.feature
        axis = space.axes[position]
        met = axis.meet(left.get(position, axis.everything), space.where(test))
        if met is None:
            return tuple(t for t in tests if t.feature == position)
        left[position] = met
    raise ValueError("the conditions do not contradict each other")


# ---------------------------------------------------------------- trees


def _check_tree(program: Program, tree: Tree) -> Check:
    """Of a tree only leaves that contradict themselves can be found."""
    if is_fractional(tree):
        raise TargetError(
            "a tree that divides missing values among its branches does not decide by"
            " its leaves alone: check its rules (treecompile rules)"
        )
    space = Space(tree.features, conditions(tree))
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
            clash = contradiction(tests, space)
            findings.append(
                Finding(Fault.UNREACHABLE, (ids[position],), None, tests=clash)
            )
        elif not all(map(_has_known, space.axes, box)):
            only_unknown.append(position)
    order = {identity: number for number, identity in enumerate(ids.values())}
    findings.sort(key=lambda finding: order[finding.rules[0]])
    counts = {**dict.fromkeys(Fault, 0), Fault.UNREACHABLE: len(findings)}
    unknown = sorted(
        (ids[position] for position in only_unknown), key=order.__getitem__
    )
    return Check(tree, tuple(findings), counts, only_unknown=tuple(unknown))


def _upwards(
    position: int, above: dict[int, tuple[int, Condition]]
) -> Iterator[Condition]:
    while position:
        position, when = above[position]
        yield when


def _has_known(axis: object, region: Region) -> bool:
    if isinstance(axis, OrderedAxis):
        return bool(region[0] < region[1])
    assert isinstance(axis, SetAxis)
    return bool(region & axis.known)
