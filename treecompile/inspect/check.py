"""Are the rules of a model sound: which overlap, contradict each other, never decide.

In an ordered list overlaps are no fault, since the first matching rule decides. But
they mislead a reader who takes a rule on its own, most of all where the conclusions
differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treecompile.model import ir
from treecompile.model.display import Display, DisplayTable, Shown, example
from treecompile.model.paths import paths, rule_ids, size
from treecompile.model.semantics import decider
from treecompile.model.words import by_feature
from treecompile.regions.boxes import PAIRS, STEPS, Boxes, SearchBudget
from treecompile.regions.compact import is_searchable, tested_only
from treecompile.regions.deciding import deciding
from treecompile.regions.region import Regions, region_of
from treecompile.regions.space import Box, Space

LISTED = 1000  # findings of each kind that get a witness
TESTS = 1_000  # of rules, one after the other, that count as one step of the budget


class Fault(StrEnum):
    UNREACHABLE = "unreachable"  # its conditions contradict each other
    SHADOWED = "shadowed"  # earlier rules take all of its rows
    CONFLICT = "conflict"  # two rules hold for one row and conclude differently
    OVERLAP = "overlap"  # two rules hold for one row and conclude the same
    INCOMPLETE = "incomplete"  # no rule holds, and the default decides


# In an ordered list the first rule that holds decides, and else the default: that is
# its meaning, and no fault.
OF_ORDER = frozenset({Fault.CONFLICT, Fault.OVERLAP, Fault.INCOMPLETE})


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule, or a pair of rules, that may be at fault."""

    fault: Fault  # unreachable, shadowed, conflict, overlap or incomplete
    rules: tuple[str, ...]  # ids
    row: dict[str, ir.Value] | None  # an example; None for a contradiction
    decider: str = ""  # the rule that decides the row
    tests: tuple[ir.Condition, ...] = ()  # the tests that contradict each other


@dataclass(frozen=True, slots=True, repr=False)
class Check(Shown):
    """The first findings of each kind; `counts` has the total numbers."""

    body: ir.Body
    findings: tuple[Finding, ...]
    counts: dict[Fault, int]
    undecided: tuple[str, ...] = ()  # questions not settled within the budget
    only_unknown: tuple[str, ...] = ()  # leaves that no row of known values reaches

    def passed(self, allowed: frozenset[Fault] = frozenset()) -> bool:
        return not any(n for fault, n in self.counts.items() if fault not in allowed)

    def _display(self) -> Display:
        counts = [f"{fault.value}: {n:,}" for fault, n in self.counts.items() if n]
        lines = [f"{size(self.body)}: {', '.join(counts) or 'nothing found'}"]
        if self.undecided:
            lines.append(
                f"undecided within the budget: {len(self.undecided)} questions"
            )
        rows = [
            [f.fault.value, ", ".join(f.rules), f.decider, example(f.row)]
            for f in self.findings
        ]
        head = ["fault", "rules", "decided by", "example"]
        return Display(lines, [DisplayTable("findings", head, rows, 4)])


def check(program: ir.Program, budget: int = STEPS, listed: int = LISTED) -> Check:
    """Check the rules, or the leaves, of a model; list at most `listed` of a kind."""
    body = program.body
    if isinstance(body, ir.Tree):
        return _check_tree(body)
    found = RuleCheck(program, body, SearchBudget(budget), listed)
    found.all_together() if is_searchable(body) else found.each_alone()
    order = list(Fault)
    findings = sorted(found.findings, key=lambda finding: order.index(finding.fault))
    return Check(body, tuple(findings), found.counts, tuple(found.undecided))


class RuleCheck:
    """The check of an ordered list."""

    def __init__(
        self, program: ir.Program, body: ir.RuleSet, budget: SearchBudget, listed: int
    ) -> None:
        self.body, self.budget, self.listed = body, budget, listed
        self.rules, kept = tested_only(body)
        columns = program.training.columns if program.training else ()
        self.columns = [columns[index] for index in kept] if columns else ()
        self.space = Space(self.rules.features)
        self.all = (*self.rules.rules, self.rules.default)
        self.findings: list[Finding] = []
        self.counts = dict.fromkeys(Fault, 0)
        self.undecided: list[str] = []

    def all_together(self) -> None:
        self.boxes = Boxes(self.space, [rule.conditions for rule in self.rules.rules])
        pairs = zip(self.body.rules, self.boxes.boxes, strict=False)
        self.unreachable(rule for rule, box in pairs if box is None)
        self.pairs()
        self.shadowed()

    def each_alone(self) -> None:
        """Only what can be said of each rule on its own: there are too many."""
        self.unreachable(self.body.rules)
        reason = "there are too many rules, features or categories"
        for question in ("rules overlap", "each rule decides", "they are complete"):
            self.undecided.append(f"whether {question}: {reason}")

    def unreachable(self, rules: Iterable[ir.Rule]) -> None:
        for rule in rules:
            if clash := _clash(rule.conditions, self.body.features):
                self.counts[Fault.UNREACHABLE] += 1
                if self.counts[Fault.UNREACHABLE] <= self.listed:
                    self.findings.append(_contradiction(rule.id, clash))

    def found(self, fault: Fault, box: Box, *numbers: int) -> None:
        """Count a finding; list it, with a row, if there are not too many."""
        self.counts[fault] += 1
        steps = 1 + numbers[0] // TESTS
        if self.counts[fault] > self.listed or not self.budget.spend(steps):
            return
        row = self.space.row(box, self.columns)
        names = [feature.name for feature in self.rules.features]
        self.findings.append(
            Finding(
                fault,
                tuple(self.all[number].id for number in numbers),
                dict(zip(names, row, strict=True)),
                self.all[decider(self.rules, row)].id,
            )
        )

    def shadowed(self) -> None:
        deciders, undecided = deciding(self.rules, self.boxes, self.budget)
        last = len(self.rules.rules)
        settled = {*deciders, *undecided}
        for number, box in enumerate(self.boxes.boxes[:-1]):
            if box is not None and number not in settled:
                self.found(Fault.SHADOWED, box, number)
        if last in deciders:
            self.found(Fault.INCOMPLETE, deciders[last], last)
        for number in undecided:
            if number == last:
                self.undecided.append("whether the rules are complete without default")
            else:
                self.undecided.append(f"whether {self.all[number].id} ever decides")

    def pairs(self) -> None:
        """Find every pair of rules that hold for one row, within half of the budget."""
        possible, least = self.boxes.possible[:-1], self.budget.left // 2
        values: dict[ir.Label, int] = {}
        codes = np.array([values.setdefault(r.value, len(values)) for r in self.all])
        for place, number in enumerate(possible):
            box = self.boxes.boxes[number]
            assert box is not None
            tests = len(self.rules.rules[number].conditions) * self.boxes.width
            steps = 1 + tests * place // PAIRS
            if self.budget.left - steps < least or not self.budget.spend(steps):
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


def _clash(
    tests: Sequence[ir.Condition], features: Sequence[ir.Feature]
) -> Sequence[ir.Condition]:
    """The tests of one feature that contradict each other, if any."""
    for group in by_feature(tests):
        if region_of(group, features[group[0].feature]).is_empty:
            return group
    return ()


def _contradiction(rule: str, tests: Sequence[ir.Condition]) -> Finding:
    return Finding(Fault.UNREACHABLE, (rule,), None, tests=tuple(tests))


def _check_tree(tree: ir.Tree) -> Check:
    """In a tree only leaves that contradict themselves can be found."""
    space, ids = Space(tree.features), rule_ids(tree)
    left: dict[int, Regions] = {0: {}}  # of each feature, by the tests above a node
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Leaf) or position not in left:
            continue
        above = left.pop(position)
        for branch in node.branches:
            own, index = space.where(branch.when), branch.when.feature
            met = above[index].meet(own) if index in above else own
            if not met.is_empty:
                left[branch.then] = {**above, index: met}
    dead = [position for position in ids if position not in left]
    tests = paths(tree) if dead else []
    findings = tuple(
        _contradiction(ids[position], _clash(tests[position], tree.features))
        for position in dead
    )
    counts = {**dict.fromkeys(Fault, 0), Fault.UNREACHABLE: len(findings)}
    unknown = tuple(
        identity
        for position, identity in ids.items()
        if not all(region.has_known for region in left.get(position, {}).values())
    )
    return Check(tree, findings, counts, only_unknown=unknown)
