"""What the open nodes of a tree and its columns know of each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.ir import Category, Feature, Kind
from treecompile.learners.criteria import LevelGain, Sides
from treecompile.learners.responses import Opened, Response, Rows
from treecompile.learners.stretches import Array, Floats, Positions, Stretches
from treecompile.learners.thresholds import midpoints, readable

# The value of a test `<=`, or the categories of either side.
Test = float | Category | tuple[tuple[Category, ...], tuple[Category, ...]]
NOWHERE, LEFT, RIGHT = 0, 1, 2  # of a row: to no open node, or to one on that side


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The open nodes: their rows, and what all columns need of them."""

    rows: Rows  # those of a node stand together
    nodes: Stretches
    response: Response
    opened: Opened
    gain: LevelGain
    sides: Sides  # of the cuts of a sorted column where no value is missing
    min_leaf: int
    of_row: NDArray[np.int32]  # the node of a row of the dataset, if it is open
    side: NDArray[np.int8]  # where its last split sent a row of the dataset


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The values that occur at each node, in order, with their cases."""

    known: Positions  # nodes with a known value
    parts: Stretches  # one for each of them
    node: Positions  # of each block
    code: Positions
    sizes: Array
    sums: list[Array]  # of labels: of every label, the first too

    def summands(self) -> list[Array]:
        return self.sums[1:] if len(self.sums) > 1 else self.sums

    def ordered(self, by: int) -> tuple[Blocks, Positions]:
        """The blocks of each node by their share of a label or by their mean."""
        order = np.lexsort((self.sums[by] / self.sizes, self.node))
        code, sizes = self.code[order], self.sizes[order]
        sums = [each[order] for each in self.sums]
        return Blocks(self.known, self.parts, self.node, code, sizes, sums), order


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best cut of one column at every node."""

    gain: Floats  # -inf where there is none
    position: Positions  # behind which row or which value the cut is
    left: Floats  # known cases on either side
    right: Floats
    order: Positions  # which label put the categories in order
    blocks: Blocks | None = None  # the values, where they were counted

    @classmethod
    def nothing(cls, nodes: int, blocks: Blocks | None = None) -> Found:
        """No cut anywhere, to be filled in."""
        zeros = np.zeros(nodes, np.intp)
        return cls(
            np.full(nodes, -np.inf),
            zeros,
            np.zeros(nodes),
            np.zeros(nodes),
            zeros.copy(),
            blocks,
        )


# The tests of some nodes, and their known cases on either side.
Divided = tuple[list[Test], Floats, Floats]


class Column(Protocol):
    def search(self, level: Level) -> Found:
        """Follow the rows to a level, and find the best cut of every node there."""

    def divide(self, level: Level, found: Found, some: Positions) -> Divided:
        """Send the cases of some nodes to the sides of their best cut."""


def thresholds(feature: Feature, low: Array, high: Array) -> list[Test]:
    """The values of tests that divide each pair of neighbouring values."""
    if feature.kind is Kind.ORDINAL:
        return [feature.categories[int(code)] for code in low]
    middle = midpoints(low, high)
    return [
        readable(*each)
        for each in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
