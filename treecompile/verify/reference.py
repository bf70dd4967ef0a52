"""What the model says about a row: everything that an artefact can give.

A tree that divides unknown values is seen as a tree in which each division is a cell
(see `model.paths`); the answer to a divided row is computed for that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from treecompile.model import ir
from treecompile.model.paths import DIVIDED, divisible, exposed, outcomes, settled
from treecompile.model.semantics import (
    conditions,
    decider,
    distribution,
    holds,
    probabilities,
)
from treecompile.verify.claims import Wanted


class Reference:
    """The answers of the model: what `wanted` names, in that order."""

    def __init__(self, program: ir.Program, wanted: Wanted = ()) -> None:
        self.model = settled(program.body)
        self.wanted = wanted
        self.body: ir.Body = self.model  # whose cells are entered
        decided = outcomes(self.model)
        if isinstance(self.model, ir.Tree) and divisible(self.model):
            self.body, decided = exposed(self.model)
        self.divided = {cell for cell, rule in decided.items() if rule.id == DIVIDED}
        self.known = {
            cell: self._parts(rule.value, rule.id, _shares(rule))
            for cell, rule in decided.items()
            if cell not in self.divided
        }
        self.entered: set[int] = set()  # cells that `judge` has met
        self.divided_rows = 0  # that it has met
        self.rules = (
            RuleFinder(self.body) if isinstance(self.body, ir.RuleSet) else None
        )

    def judge(self, rows: Iterable[ir.Row]) -> Iterator[tuple[object, ...]]:
        """What the artefact must say about each row."""
        for row in rows:
            cell = self.cell(row)
            self.entered.add(cell)
            self.divided_rows += cell in self.divided
            yield self.expected(row, cell)

    def cell(self, row: ir.Row) -> int:
        return self.rules.first(row) if self.rules else decider(self.body, row)

    def answer(self, cell: int) -> object:
        """What tells a cell from others; the shares of divided rows are their own."""
        return cell if cell in self.divided else self.known[cell]

    def expected(self, row: ir.Row, cell: int) -> tuple[object, ...]:
        """The answer to a row of a cell."""
        if cell not in self.divided:
            return self.known[cell]
        assert isinstance(self.model, ir.Tree)
        shares = distribution(self.model, row)
        if not self.model.labels:
            return self._parts(shares[0], DIVIDED, ())
        value = self.model.labels[shares.index(max(shares))]
        return self._parts(value, DIVIDED, shares)

    def _parts(
        self, value: ir.Label, rule: str, shares: tuple[float, ...]
    ) -> tuple[object, ...]:
        def part(output: str, place: int | None) -> object:
            if output != "probability":
                return value if output == "label" else rule
            return shares[self.model.labels.index(value) if place is None else place]

        return tuple(part(*each) for each in self.wanted)


def _shares(rule: ir.Rule) -> tuple[float, ...]:
    """The probability of each label; none for a regression."""
    return probabilities(rule.stats) if isinstance(rule.stats, ir.ClassCounts) else ()


class RuleFinder:
    """Finds the first rule that holds, for many rows with the same few values.

    Which conditions a value satisfies is computed once. A set of conditions is an
    integer with one bit per condition.
    """

    def __init__(self, rules: ir.RuleSet) -> None:
        self.features = rules.features
        different = dict.fromkeys(conditions(rules))
        self.bits = {condition: 1 << n for n, condition in enumerate(different)}
        self.of_feature: dict[int, list[ir.Condition]] = {}
        for condition in self.bits:
            self.of_feature.setdefault(condition.feature, []).append(condition)
        self.needed = [
            sum(self.bits[condition] for condition in set(rule.conditions))
            for rule in rules.rules
        ]
        self.satisfied = cache(self._satisfied)

    def first(self, row: ir.Row) -> int:
        """The position of the rule, as `semantics.decider` gives it."""
        true = 0
        for feature in self.of_feature:
            true |= self.satisfied(feature, row[feature])
        for position, needed in enumerate(self.needed):
            if needed & true == needed:
                return position
        return len(self.needed)

    def _satisfied(self, feature: int, value: ir.Value) -> int:
        return sum(
            self.bits[condition]
            for condition in self.of_feature[feature]
            if holds(condition, self.features[feature], value)
        )
