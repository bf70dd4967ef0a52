"""What the values of a feature at the open nodes add up to, as queries tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Positions,
    Stretches,
)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """One feature's values at the open nodes, or bins of them: a cell for each."""

    node: Positions
    code: Positions
    sums: Array  # cells by what is summed, in whole numbers; see `answers`
    spread: Array  # cells by what tells how far the answers differ, for the bound
    low: Floats  # the least and the greatest number of the cell
    high: Floats

    def parts(self) -> Stretches:
        """The cells of each node."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1))
        return Stretches(starts, np.diff(starts, append=len(self.node)))


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Neighbouring cells of a feature at open nodes, each row of them as one."""

    node: Positions
    code: Positions
    low: Floats
    high: Floats
    cells: Positions  # how many there are


FIELDS = ("node", "code", "sums", "spread", "low", "high")


@dataclass(frozen=True, slots=True, eq=False)
class Cells(Tally):
    """The known values of a feature at the open nodes, or bins of them, in order."""

    most: Floats  # no cut inside a cell gains more that is of any interest
    age: Positions  # how often it was cut out of another

    @classmethod
    def of(cls, tally: Tally, missing: int) -> Cells:
        return cls.new(tally).some(tally.code != missing)

    @classmethod
    def new(cls, tally: Tally, age: int = 0) -> Cells:
        """Cells of which nothing is known but what a query told."""
        size = len(tally.node)
        told = [getattr(tally, name) for name in FIELDS]
        return cls(*(*told, np.full(size, np.inf), np.full(size, age)))

    def some(self, which: Array) -> Cells:
        return Cells(*(getattr(self, name)[which] for name in (*FIELDS, "most", "age")))

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """Cells of other nodes each, one after the other."""
        return cls(
            *(
                np.concatenate([getattr(each, name) for each in parts])
                for name in (*FIELDS, "most", "age")
            )
        )

    def halves(self, nodes: Positions, cuts: Positions) -> Cells:
        """What lies on either side of a cut behind a cell, of each of some nodes.

        The codes are those beside the cut. There is nothing within to be opened.
        """
        parts = self.parts()
        mine = np.searchsorted(self.node[parts.starts], nodes)
        starts = np.stack([parts.starts[mine], cuts + 1], axis=1).ravel()
        ends = np.stack([cuts, parts.ends[mine]], axis=1).ravel()
        beside = np.stack([cuts, cuts + 1], axis=1).ravel()
        upto = np.cumsum(self.sums, axis=0)
        return Cells(
            self.node[starts],
            self.code[beside],
            upto[ends] - upto[starts] + self.sums[starts],
            self.spread[starts],
            self.low[starts],
            self.high[ends],
            np.full(len(starts), -np.inf),
            self.age[starts],
        )

    def of_node(self, node: int) -> slice:
        return slice(*np.searchsorted(self.node, [node, node + 1]).tolist())

    def ranges(self, which: Mask) -> Ranges:
        """Some cells, those that are neighbours within a bin as one range."""
        some = np.flatnonzero(which)
        is_new = np.ones(len(some), np.bool_)
        is_new[1:] = np.diff(some) > 1
        for key in (self.node, self.code):
            is_new[1:] |= np.diff(key[some]) != 0
        starts = np.flatnonzero(is_new)
        cells = np.diff(starts, append=len(some))
        first, last = some[starts], some[starts + cells - 1]
        return Ranges(
            self.node[first], self.code[first], self.low[first], self.high[last], cells
        )

    def opened(self, which: Mask, inner: Tally) -> Cells:
        """With some cells replaced by those that lie in them."""
        age = int(self.age[which].max()) + 1
        both = [self.some(~which), Cells.new(inner, age)]
        low = np.concatenate([each.low for each in both])
        order = np.lexsort((low, np.concatenate([each.node for each in both])))
        return Cells(
            *(
                np.concatenate([getattr(each, name) for each in both])[order]
                for name in (*FIELDS, "most", "age")
            )
        )


def in_order(keys: Sequence[Array]) -> tuple[Positions, Positions, Positions]:
    """Lines of a result by their keys: their order, and of each line in it the cell.

    Lines of equal keys are of one cell. Last, where the cells begin.
    """
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), np.bool_)
    ordered = [key[order] for key in keys]
    is_new[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
    return order, np.cumsum(is_new) - 1, np.flatnonzero(is_new)
