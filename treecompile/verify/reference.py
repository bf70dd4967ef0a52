"""What the model says about a row: everything that an artefact can give.

A tree that divides unknown values is seen as a tree in which each division is a cell
(see `model.paths`); the answer to a divided row is computed for that row.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model.ir import (
    Body,
    ClassCounts,
    Condition,
    Label,
    Program,
    Row,
    Rule,
    RuleSet,
    Tree,
    Value,
)
from treecompile.model.paths import DIVIDED, divisible, exposed, outcomes, settled
from treecompile.model.semantics import (
    conditions,
    decider,
    distribution,
    holds,
    probabilities,
)


@dataclass(frozen=True, slots=True)
class Expected:
    value: Label
    rule: str
    shares: tuple[float, ...]  # of the labels, in order; none for a regression

    def part(self, output: str, labels: tuple[Label, ...], label: str | None) -> object:
        """What an artefact with this output gives; `label` is a label's position."""
        match output:
            case "rule":
                return self.rule
            case "label":
                return self.value
        place = labels.index(self.value) if label is None else int(label)
        return self.shares[place]


class Reference:
    """The answers of the model."""

    def __init__(self, program: Program) -> None:
        self.model = settled(program.body)
        self.body: Body = self.model  # whose cells are entered
        self.decided = outcomes(self.model)
        if isinstance(self.model, Tree) and divisible(self.model):
            self.body, self.decided = exposed(self.model)
        self.known = {p: expected_of(rule) for p, rule in self.decided.items()}
        self.rules = RuleFinder(self.body) if isinstance(self.body, RuleSet) else None

    def cell(self, row: Row) -> int:
        return self.rules.first(row) if self.rules else decider(self.body, row)

    def is_divided(self, cell: int) -> bool:
        return self.known[cell].rule == DIVIDED

    def expected(self, row: Row, cell: int) -> Expected:
        """The answer to a row of a cell."""
        if not self.is_divided(cell):
            return self.known[cell]
        assert isinstance(self.model, Tree)
        shares = distribution(self.model, row)
        if not self.model.labels:
            return Expected(shares[0], DIVIDED, ())
        value = self.model.labels[shares.index(max(shares))]
        return Expected(value, DIVIDED, shares)


class RuleFinder:
    """Finds the first rule that holds, for many rows with the same few values.

    Which conditions a value satisfies is computed once. A set of conditions is an
    integer with one bit per condition.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.features = rules.features
        self.bits: dict[Condition, int] = {}
        for condition in conditions(rules):
            self.bits.setdefault(condition, 1 << len(self.bits))
        self.of_feature: dict[int, list[Condition]] = {}
        for condition in self.bits:
            self.of_feature.setdefault(condition.feature, []).append(condition)
        self.needed = [
            sum(self.bits[condition] for condition in set(rule.conditions))
            for rule in rules.rules
        ]
        self.known: dict[tuple[int, type, Value], int] = {}

    def first(self, row: Row) -> int:
        """The position of the rule, as `semantics.decider` gives it."""
        true = 0
        for feature in self.of_feature:
            true |= self._satisfied(feature, row[feature])
        for position, needed in enumerate(self.needed):
            if needed & true == needed:
                return position
        return len(self.needed)

    def _satisfied(self, feature: int, value: Value) -> int:
        key = feature, type(value), value  # True, 1 and 1.0 are equal, but differ here
        if key not in self.known:
            self.known[key] = sum(
                self.bits[condition]
                for condition in self.of_feature[feature]
                if holds(condition, self.features[feature], value)
            )
        return self.known[key]


def expected_of(rule: Rule) -> Expected:
    shares: tuple[float, ...] = ()
    if isinstance(rule.stats, ClassCounts):
        shares = probabilities(rule.stats)
    return Expected(rule.value, rule.id, shares)
