"""The best cut of a numeric column at every node of a level, by information gain.

What is cut are the elements of a column, in order and node by node: its cases, or for a
column with few values the values that occur at a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learners.c45_level import Level, Room
from treecompile.learners.grow import TIE
from treecompile.learners.stretches import Array, Floats, Mask, Positions, Stretches
from treecompile.learners.thresholds import LARGEST, midpoints

GAP = 1e-5  # two numbers that are no further apart are not told apart


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a feature offers at every node; gain -inf where there is no split."""

    gains: Floats
    splits: Floats  # split information
    cuts: Floats
    tries: Positions  # cuts that were possible

    @classmethod
    def nothing(cls, nodes: int) -> Judged:
        return cls(
            np.full(nodes, -np.inf),
            np.zeros(nodes),
            np.full(nodes, np.nan),
            np.zeros(nodes, np.intp),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The elements of a column, and what has come together up to each."""

    parts: Stretches  # the elements of each node that has any
    nodes: Positions  # and which node that is
    below: Array  # the weight up to each element
    classes: Iterable[Array]  # of every class but the first; to be used up in order
    sizes: Array  # the weight of each part
    totals: Sequence[Array]  # of every class but the first


# From positions of elements: the greatest value before a cut behind each, and the least
# value after it.
Neighbours = Callable[[Positions], tuple[Floats, Floats]]


def best_cuts(
    level: Level,
    runs: Runs,
    neighbours: Neighbours,
    inside: Positions | None = None,
) -> Judged:
    """The cut with the greatest gain at each node, the lowest at a tie."""
    judged = Judged.nothing(len(level.totals))
    if inside is None:
        room = Room.of(runs.sizes, level.classes, level.min_leaf, level.scale.unit)
        inside = np.flatnonzero(room.holds(runs.parts, runs.below))
    low, high = neighbours(inside)
    apart = are_apart(low, high)
    if not apart.all():
        where = np.flatnonzero(apart)
        inside, low, high = inside.take(where), low.take(where), high.take(where)
    ends = runs.parts.starts + runs.parts.lengths
    tries = np.diff(np.searchsorted(inside, ends), prepend=0)
    some = np.flatnonzero(tries)
    if not len(some):
        return judged
    parts = Stretches.of(tries[some])
    gains = _gains(level, runs, inside, parts, some)
    gain, at = parts.pick(gains, np.full(len(some), TIE))
    node, tries = runs.nodes[some], tries[some]
    total = level.totals[node]
    gain = gain - np.log2(tries) / total
    worthy = np.flatnonzero(gain > 0)
    node, at, some = node[worthy], at[worthy], some[worthy]
    total = total[worthy]
    unit = level.scale.unit
    below = runs.below.take(inside.take(at))
    above = runs.sizes[some] - below
    bits = level.scale.bits
    parted = bits(below) + bits(above) + _bits(total - runs.sizes[some] * unit)
    judged.gains[node] = gain[worthy]
    judged.splits[node] = (_bits(total) - parted) / total
    judged.cuts[node] = midpoints(low.take(at), high.take(at))
    judged.tries[node] = tries[worthy]
    return judged


def _gains(
    level: Level, runs: Runs, inside: Positions, parts: Stretches, some: Positions
) -> Floats:
    """The information gain of every possible cut, before the correction."""
    bits = level.scale.bits
    size = runs.sizes[some]
    first = size - sum(total[some] for total in runs.totals)
    whole = bits(size) - bits(first)
    below = runs.below.take(inside)
    above = parts.spread(size) - below
    gains = -bits(below)
    gains -= bits(above)
    for total, running in zip(runs.totals, runs.classes, strict=True):
        mine = total[some]
        whole -= bits(mine)
        low = running.take(inside)
        high = parts.spread(mine) - low
        gains += bits(low)
        gains += bits(high)
        below -= low
        above -= high
    gains += bits(below)  # what remains is the first class
    gains += bits(above)
    gains += parts.spread(whole)
    gains /= parts.spread(level.totals[runs.nodes[some]])
    return gains


def are_apart(low: Floats, high: Floats) -> Mask:
    """Which neighbours a cut can divide."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart: Mask = high - low > GAP
    # No finite threshold is between these.
    apart &= (high != -LARGEST) | (low != -np.inf)
    return apart


def _bits(weights: Floats) -> Floats:
    positive = np.maximum(weights, 0.0)
    result: Floats = positive * np.log2(np.maximum(positive, 1e-300))
    return result
