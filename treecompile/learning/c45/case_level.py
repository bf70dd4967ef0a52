"""A level of C4.5 in memory: the open nodes and their cases, as columns search them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treecompile.learning.c45.fractional_cases import CaseDescent, NodeCases, Sample
from treecompile.learning.c45.gain_ratio import GainSearch, Scale
from treecompile.learning.grow.bin_counts import BinCounter, KeySums
from treecompile.learning.grow.responses import LabelResponse, count_classes
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Positions

HALF = 26  # bits of a weight that are summed at once


@dataclass(frozen=True, slots=True, eq=False)
class CaseLevel(GainSearch):
    """The open nodes of a dataset in memory, with their cases."""

    cases: NodeCases
    y: Array
    units: Array | None  # the weights as integers; None if all cases are whole
    node: Array  # the node of each case
    # For sorted columns without missing values, if all cases are whole: the number of
    # cases up to each, and the cases after which a cut leaves enough on both sides.
    below: Array
    possible: Positions
    descent: CaseDescent | None  # how the cases came to these nodes
    response: LabelResponse
    counter: BinCounter | None = None  # for nodes of many cases; None: sort numbers

    @property
    def rows(self) -> Positions:
        return self.cases.rows

    @property
    def nodes(self) -> Segments:
        return self.cases.nodes

    @classmethod
    def of(
        cls,
        sample: Sample,
        cases: NodeCases,
        counts: Floats,
        min_leaf: float,
        descent: CaseDescent | None = None,
        counter: BinCounter | None = None,
        *,
        is_any_sorted: bool = True,  # of the columns
    ) -> CaseLevel:
        nodes, nothing = cases.nodes, np.zeros(0, np.intp)
        is_divided = cases.weights is not None
        level = cls(
            Scale.of(sample.most, sample.log_table, is_divided=is_divided),
            sample.classes,
            min_leaf,
            counts,
            counts.sum(axis=1),
            cases,
            sample.y.take(cases.rows),
            None,
            nodes.spread(np.arange(len(nodes.lengths), dtype=np.int32)),
            nothing,
            nothing,
            descent,
            sample.response,
            counter,
        )
        if cases.weights is not None:
            units = np.rint(cases.weights / level.scale.unit).astype(np.int64)
            return replace(level, units=units)
        if not is_any_sorted:
            return level
        below = nodes.counting(np.int32)
        possible = level.inside(nodes, nodes.lengths, below)
        return replace(level, below=below, possible=possible)

    def sum_by_key(self, keys: Array, count: int, *, is_exact: bool) -> KeySums:
        """Count the cases with each key, and the weight of each class among them.

        With `is_exact`, weights are summed as integers. Overwrites the keys.
        """
        y, units, classes = self.y, self.units, self.classes
        sizes = None if units is None else np.bincount(keys, minlength=count)
        if units is None or not is_exact:
            table = count_classes(keys, y, self.cases.weights, count, classes)
        else:
            # The sums of either half of the bits are exact in doubles.
            high, low = units >> HALF, units & (2**HALF - 1)
            table = count_classes(keys.copy(), y, high, count, classes).astype(np.int64)
            table <<= HALF
            table += count_classes(keys, y, low, count, classes).astype(np.int64)
        sums = table.sum(axis=1)
        return KeySums(sums if sizes is None else sizes, sums, list(table.T))

    def some(self, chosen: Positions) -> CaseLevel:
        """Return a level of some of the nodes, for a column that counts its values."""
        if len(chosen) == len(self.totals):
            return self
        places = self.cases.nodes.within(chosen)
        cases = self.cases.some(chosen)
        node = cases.nodes.spread(np.arange(len(chosen), dtype=np.int32))
        return replace(
            self,
            counts=self.counts[chosen],
            totals=self.totals[chosen],
            cases=cases,
            y=self.y.take(places),
            units=None if self.units is None else self.units.take(places),
            node=node,
            below=self.below[:0],
            possible=self.possible[:0],
        )
