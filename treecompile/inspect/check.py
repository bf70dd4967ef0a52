"""Are the rules of a model sound: which overlap, contradict each other, never decide.

In an ordered list overlaps are no fault, since the first matching rule decides. But
they mislead a reader who takes a rule on its own, most of all where the conclusions
differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from treecompile.model import ir
from treecompile.model.arrays import Array
from treecompile.model.batch import deciders
from treecompile.model.errors import TargetError
from treecompile.model.paths import paths, rule_ids
from treecompile.model.semantics import conditions, decider, is_fractional
from treecompile.model.words import by_feature
from treecompile.regions.boxes import STEPS, Boxes, SearchBudget, Subproblem
from treecompile.regions.region import Interval, Region, parts
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
    row: dict[str, ir.Value] | None  # that shows it; a contradiction has none
    decider: str = ""  # the rule that decides the row
    tests: tuple[ir.Condition, ...] = ()  # that contradict each other


@dataclass(frozen=True, slots=True)
class Check:
    """The findings; of pairs of rules only the first, but `counts` has them all."""

    body: ir.Body
    findings: tuple[Finding, ...]
    counts: dict[Fault, int]
    undecided: tuple[str, ...] = ()  # what could not be settled within the budget
    only_unknown: tuple[str, ...] = ()  # leaves that no row of known values reaches

    def passed(self, allowed: frozenset[Fault] = frozenset()) -> bool:
        return not any(n for fault, n in self.counts.items() if fault not in allowed)


def check(program: ir.Program, budget: int = STEPS, listed: int = LISTED) -> Check:
    """Check the rules, or the leaves, of a model; list at most `listed` pairs."""
    body = program.body
    if isinstance(body, ir.Tree):
        return _check_tree(body)
    return RuleCheck(program, body, SearchBudget(budget), listed).check()


class RuleCheck:
    """The check of an ordered list."""

    def __init__(
        self, program: ir.Program, rules: ir.RuleSet, budget: SearchBudget, listed: int
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
        impossible = [
            _unreachable(rule.id, rule.conditions, self.space)
            for rule, box in zip(self.all, self.boxes.boxes, strict=True)
            if box is None
        ]
        self.findings += impossible
        self.counts[Fault.UNREACHABLE] = len(impossible)
        self.pairs()
        self.shadowed()
        order = list(Fault)
        self.findings.sort(key=lambda finding: order.index(finding.fault))
        return Check(
            self.rules, tuple(self.findings), self.counts, tuple(self.undecided)
        )

    def found(self, fault: Fault, box: Box, *numbers: int) -> None:
        self.counts[fault] += 1
        row = self.space.row(box, self.columns)
        decides = decider(self.rules, row)
        self.findings.append(
            Finding(
                fault,
                tuple(self.all[number].id for number in numbers),
                {self.rules.features[p].name: row[p] for p in self.boxes.columns},
                self.all[decides].id,
            )
        )

    def shadowed(self) -> None:
        deciders, undecided = deciding(self.rules, self.boxes, self.budget)
        last = len(self.rules.rules)
        for number, box in enumerate(self.boxes.boxes[:-1]):
            if box is not None and number not in deciders and number not in undecided:
                self.found(Fault.SHADOWED, box, number)
        if last in deciders:
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
        values: dict[ir.Label, int] = {}
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
                for other in map(int, others[:room]):
                    pair = zip(self.boxes.boxes[other] or (), box, strict=True)
                    both = tuple(one.meet(another) for one, another in pair)
                    self.found(fault, both, other, int(number))
                self.counts[fault] += len(others[room:])


def _unreachable(rule: str, tests: Sequence[ir.Condition], space: Space) -> Finding:
    """A rule, with its conditions on the first feature of which they leave nothing."""
    left = list(space.everything)
    for test in tests:
        index = test.feature
        left[index] = left[index].meet(space.where(test))
        if left[index].is_empty:
            break
    clash = tuple(test for test in tests if test.feature == index)
    return Finding(Fault.UNREACHABLE, (rule,), None, tests=clash)


# ---------------------------------------------------------------- which rules decide

TRIED = 4  # rows from the box of each rule
LIMITS = (100, 10_000)  # steps for one rule, before the others had their turn
SEED = 0

Codes = NDArray[np.int64]  # indices of `parts` of a feature; -1: missing, the last


def deciding(
    rules: ir.RuleSet, boxes: Boxes, budget: SearchBudget
) -> tuple[dict[int, Box], list[int]]:
    """A box for each rule that decides somewhere, and the rules that are undecided.

    The default counts as a rule. A rule that is in neither result never decides.

    Most rules decide one of a few sampled rows. For each of the others, the rows of its
    box that no earlier rule takes are searched exhaustively.
    """
    known = _tried(rules, boxes)
    open_rules = [
        number
        for number, box in enumerate(boxes.boxes)
        if box is not None and number not in known
    ]
    for limit in (*LIMITS, budget.left):
        undecided = []
        for number in open_rules:
            share = SearchBudget(min(limit, budget.left) or 1)
            allowed = share.left
            is_settled, box = _uncovered(boxes, number, share)
            budget.spend(min(allowed - share.left, budget.left))
            if box is not None:
                known[number] = box
            elif not is_settled:
                undecided.append(number)
        open_rules = undecided
    return known, open_rules


def _uncovered(
    boxes: Boxes, number: int, budget: SearchBudget
) -> tuple[bool, Box | None]:
    """Whether the search came to an end, and rows of a rule that no earlier rule takes.

    The side with fewer rules is searched first: there an uncovered row is likelier.
    """
    waiting: list[Subproblem] = [boxes.start(boxes.boxes[number], number)]
    while waiting:
        problem = waiting.pop()
        if problem.rules[-1] != number:
            continue  # an earlier rule holds everywhere in it
        if problem.decider is not None:
            return True, problem.box
        if not budget.spend():
            return False, None
        yes, no, _ = boxes.best(problem)
        waiting += sorted((yes, no), key=lambda side: -len(side.rules))
    return True, None


def _tried(rules: ir.RuleSet, boxes: Boxes) -> dict[int, Box]:
    """The rules that decide one of a few rows from the box of each rule."""
    dice = np.random.default_rng(SEED)
    inside = [box for box in boxes.boxes for _ in range(TRIED) if box is not None]
    tests = {group[0].feature: group for group in by_feature(conditions(rules))}
    divided: dict[int, list[Region]] = {}
    chosen: dict[int, Codes] = {}
    columns: list[Array | None] = [None] * len(rules.features)
    for index in boxes.columns:
        feature = rules.features[index]
        divided[index] = parts(feature, tests[index])
        codes = _codes(divided[index], [box[index] for box in inside], dice)
        columns[index] = chosen[index] = codes
        if feature.kind is ir.Kind.NUMERIC:
            columns[index] = np.array([*_highs(divided[index]), np.nan])[codes]
    found = deciders(rules, columns, len(inside))
    result = {}
    for number, row in zip(*np.unique(found, return_index=True), strict=True):
        box = list(boxes.space.everything)
        for index, codes in chosen.items():
            box[index] = divided[index][codes[row]]
        result[int(number)] = tuple(box)
    return result


def _highs(divided: Sequence[Region]) -> list[float]:
    """The upper ends of the parts, without that of the missing value."""
    return [part.high for part in divided[:-1] if isinstance(part, Interval)]


def _codes(
    divided: Sequence[Region], regions: Sequence[Region], dice: np.random.Generator
) -> Codes:
    """A random part of each region, with a known value where there is one."""
    if isinstance(divided[-1], Interval):
        highs = _highs(divided)
        ends = [(r.low, r.high) for r in regions if isinstance(r, Interval)]
        first, end = np.searchsorted(highs, np.array(ends).T, side="right")
        drawn = first + (dice.random(len(first)) * (end - first)).astype(np.int64)
        result: Codes = np.where(first < end, np.minimum(drawn, end - 1), -1)
        return result
    within: dict[Region, list[int]] = {}
    codes = []
    for region in regions:
        if region not in within:
            known = enumerate(divided[:-1])
            within[region] = [i for i, part in known if part.overlaps(region)] or [-1]
        codes.append(within[region][int(dice.integers(len(within[region])))])
    return np.array(codes, dtype=np.int64)


# ---------------------------------------------------------------- trees


def _check_tree(tree: ir.Tree) -> Check:
    """In a tree only leaves that contradict themselves can be found."""
    if is_fractional(tree):
        raise TargetError(
            "a tree that divides missing values among its branches does not decide by"
            " its leaves alone: check its rules (treecompile rules)"
        )
    space = Space(tree.features)
    ids = rule_ids(tree)
    boxes: dict[int, Box] = {0: space.everything}
    unreachable, only_unknown = set(), set()
    for position, node in enumerate(tree.nodes):
        box = boxes.pop(position, None)
        if isinstance(node, ir.Leaf):
            if box is None:
                unreachable.add(position)
            elif not all(region.has_known for region in box):
                only_unknown.add(position)
        elif box is not None:
            for branch in node.branches:
                inner = space.cut(box, branch.when)
                if inner is not None:
                    boxes[branch.then] = inner
    tests = paths(tree) if unreachable else []
    findings = tuple(
        _unreachable(identity, tests[position], space)
        for position, identity in ids.items()
        if position in unreachable
    )
    counts = {**dict.fromkeys(Fault, 0), Fault.UNREACHABLE: len(findings)}
    unknown = tuple(ids[position] for position in ids if position in only_unknown)
    return Check(tree, findings, counts, only_unknown=unknown)
