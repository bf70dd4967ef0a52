"""What each feature offers at the open nodes of a C4.5 tree in a database.

Categories and few numbers are judged by their counts. Of features with many numbers no
more is asked than makes a difference to which feature is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from treecompile.in_database.c45_bins import (
    Binned,
    blocks_of,
    find_cuts_in,
    neighbours_of,
)
from treecompile.in_database.c45_contest import Known, needed
from treecompile.in_database.c45_table import CaseTable
from treecompile.in_database.cells import Cells
from treecompile.ir import Kind
from treecompile.learners.c45 import C45Options
from treecompile.learners.c45_choice import Choice
from treecompile.learners.c45_columns import offer_of_values
from treecompile.learners.c45_cuts import Judged, Runs, best_cuts
from treecompile.learners.c45_draft import Groups
from treecompile.learners.c45_group import group_values
from treecompile.learners.c45_level import Terms
from treecompile.learners.limits import Limits
from treecompile.learners.stretches import Array, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The values or bins of a feature at the open nodes."""

    known: Cells
    missing: Array  # of each node: the weight of each class, in units


class Judge:
    def __init__(
        self, work: CaseTable, choice: Choice, limits: Limits, options: C45Options
    ) -> None:
        self.work, self.choice = work, choice
        self.limits, self.options = limits, options
        self.features = work.schema.features
        self.counted: list[Counted] = []

    def judge(
        self, counted: list[Counted], terms: Terms, usable: Mask
    ) -> tuple[list[Judged], list[Counted]]:
        """What the features offer, and what is known of their values then."""
        self.counted = counted
        judged = [
            self._judge(position, terms, usable[:, position])
            for position in range(len(self.features))
        ]
        self._judge_bins(terms, judged)
        return judged, self.counted

    def _judge(self, position: int, terms: Terms, usable: Mask) -> Judged:
        counted, feature = self.counted[position], self.features[position]
        cells = counted.known
        if feature.kind is Kind.CATEGORICAL:
            if self.options.is_grouping and len(feature.categories) > 2:
                return self._judge_groups(counted, terms, len(feature.categories))
            return _judge_values(cells.some(usable[cells.node]), terms)
        if self.work.is_binned(position) or not len(cells.node):
            return Judged.nothing(len(terms.totals))
        values = self.work.numbers(position)[cells.code]
        exact = replace(cells, low=values, high=values)
        runs = Runs.of_blocks(blocks_of(exact))
        return best_cuts(terms, runs, neighbours_of(exact))

    def _judge_groups(self, counted: Counted, terms: Terms, size: int) -> Judged:
        groups: dict[int, Groups] = {}
        judged = replace(Judged.nothing(len(terms.totals)), groups=groups)
        unit, cells = terms.scale.unit, counted.known
        for node in range(len(terms.totals)):
            mine = cells.of_node(node)
            table = np.zeros((size, terms.classes))
            table[cells.code[mine]] = cells.sums[mine] * unit
            found = group_values(
                table,
                counted.missing[node] * unit,
                terms.min_leaf,
                is_ratio=self.options.is_ratio,
            )
            judged.gains[node], judged.splits[node] = found.gain, found.split
            groups[node] = found.groups
        return judged

    def _judge_bins(self, terms: Terms, judged: list[Judged]) -> None:
        """Find out about features with many numbers what may make a difference.

        Where it makes none, they are said to gain the least that they may.
        """
        binned = {
            position: Binned(self.work, position, self.counted[position].known, terms)
            for position in range(len(judged))
            if self.work.is_binned(position)
        }
        for position, each in binned.items():
            judged[position] = each.judged
        while True:
            find, count = self._needed(judged, binned)
            if not (find | count).any():
                break
            find_cuts_in(binned, find)
            for position, each in binned.items():
                some = count[:, position] & each.has_cut & ~each.is_exact
                if some.any():
                    each.count(some)
        for position, each in binned.items():
            missing = self.counted[position].missing
            self.counted[position] = Counted(each.cells, missing)

    def _needed(
        self, judged: list[Judged], binned: Mapping[int, Binned]
    ) -> tuple[Mask, Mask]:
        low, splits = (
            np.stack([getattr(each, name) for each in judged], axis=1)
            for name in ("gains", "splits")
        )
        high, has_cut = low.copy(), np.full(low.shape, True)
        is_exact = has_cut.copy()
        for position, each in binned.items():
            high[:, position] = each.high
            has_cut[:, position] = each.has_cut
            is_exact[:, position] = each.is_exact
        if self.limits.chi2 is not None:  # one after the other may be chosen
            every = ~is_exact & (high > -np.inf)
            return every & ~has_cut, every
        return needed(self.choice, Known(low, high, splits, has_cut, is_exact))


def _judge_values(cells: Cells, terms: Terms) -> Judged:
    """What a feature with a branch for each category offers."""
    judged = Judged.nothing(len(terms.totals))
    if len(cells.node):
        parts = cells.parts()
        nodes = cells.node[parts.starts]
        table = cells.sums * terms.scale.unit
        offered = offer_of_values(terms, parts, nodes, table)
        judged.gains[nodes], judged.splits[nodes] = offered
    return judged
