"""The best cut of a numeric column at every node of a level, by information gain.

What is cut are the elements of a column, in order and node by node: its cases, or for a
column with few values the values that occur at a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learners.blocks import Blocks
from treecompile.learners.c45_draft import Groups
from treecompile.learners.c45_level import Terms, bits
from treecompile.learners.limits import TIE
from treecompile.learners.stretches import Array, Floats, Mask, Positions, Stretches
from treecompile.learners.thresholds import LARGEST, midpoints

CHUNK = 32_768  # cuts that are judged at once
GAP = 1e-5  # two numbers that are no further apart are not told apart


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a feature offers at every node; gain -inf where there is no split."""

    gains: Floats
    splits: Floats  # split information
    cuts: Floats
    tries: Positions  # cuts that were possible
    groups: dict[int, Groups] | None = None  # of categories, where they are grouped

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

    @classmethod
    def of_blocks(cls, blocks: Blocks) -> Runs:
        """Of values that were counted, in their order."""
        parts = blocks.parts
        weights = blocks.weights.copy()
        sizes = parts.sums(weights)
        totals = [parts.sums(each) for each in blocks.sums[1:]]
        running = (
            parts.run(each.copy(), total)
            for each, total in zip(blocks.sums[1:], totals, strict=True)
        )
        below = parts.run(weights, sizes)
        return cls(parts, blocks.known, below, running, sizes, totals)


# From positions of elements, in order: the greatest value before a cut behind each, and
# the least value after it.
Neighbours = Callable[[Positions], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The cut of each part where one is possible; gains are before the correction."""

    parts: Positions  # which of the runs
    gains: Floats
    places: Positions  # the last element below the cut
    tries: Positions


def best_cuts(
    terms: Terms,
    runs: Runs,
    neighbours: Neighbours,
    inside: Positions | None = None,
) -> Judged:
    """The cut with the greatest gain at each node, the lowest at a tie."""
    found = find_cuts(terms, runs, neighbours, inside)
    return judge_cuts(terms, runs, neighbours, found)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """All cuts that are possible, with their gains before the correction."""

    places: Positions  # the last element below each
    some: Positions  # which parts of the runs have any
    tries: Positions  # and how many
    gains: Floats


def possible_cuts(
    terms: Terms,
    runs: Runs,
    neighbours: Neighbours,
    inside: Positions | None = None,
) -> Cuts:
    if inside is None:
        inside = np.flatnonzero(terms.room(runs.sizes).holds(runs.parts, runs.below))
    apart = np.empty(len(inside), np.bool_)
    for chunk in chunks(len(inside)):
        apart[chunk] = are_apart(*neighbours(inside[chunk]))
    if not apart.all():
        inside = inside.take(np.flatnonzero(apart))
    ends = runs.parts.starts + runs.parts.lengths
    tries = np.diff(np.searchsorted(inside, ends), prepend=0)
    some = np.flatnonzero(tries)
    tries = tries[some]
    if not len(some):
        return Cuts(inside, some, tries, np.zeros(0))
    gains = _gains(terms, runs, inside, Stretches.of(tries), some)
    return Cuts(inside, some, tries, gains)


def find_cuts(
    terms: Terms,
    runs: Runs,
    neighbours: Neighbours,
    inside: Positions | None = None,
) -> Found:
    cuts = possible_cuts(terms, runs, neighbours, inside)
    parts = Stretches.of(cuts.tries)
    gain, at = parts.pick(cuts.gains, np.full(len(cuts.some), TIE))
    return Found(cuts.some, gain, cuts.places.take(at), cuts.tries)


def judge_cuts(
    terms: Terms, runs: Runs, neighbours: Neighbours, found: Found
) -> Judged:
    """What the feature offers, by its best cuts."""
    judged = Judged.nothing(len(terms.totals))
    node = runs.nodes[found.parts]
    gain = found.gains - np.log2(found.tries) / terms.totals[node]
    worthy = np.flatnonzero(gain > TIE)  # no gain is none, however it was rounded
    node, at, some = node[worthy], found.places[worthy], found.parts[worthy]
    total = terms.totals[node]
    below = runs.below.take(at)
    above = runs.sizes[some] - below
    sides = terms.scale.bits(below) + terms.scale.bits(above)
    parted = sides + bits(total - runs.sizes[some] * terms.scale.unit)
    judged.gains[node] = gain[worthy]
    judged.splits[node] = (bits(total) - parted) / total
    judged.cuts[node] = midpoints(*neighbours(at))
    judged.tries[node] = found.tries[worthy]
    return judged


def _gains(
    terms: Terms, runs: Runs, inside: Positions, parts: Stretches, some: Positions
) -> Floats:
    """The information gain of every possible cut, before the correction."""
    own = terms.scale.bits
    size = runs.sizes[some]
    first = size - sum(total[some] for total in runs.totals)
    whole = own(size) - own(first)
    part = parts.spread(np.arange(len(some), dtype=np.int32))
    below = runs.below.take(inside)  # later: what is left of it for the first class
    above = size.astype(below.dtype).take(part)
    above -= below
    gains = np.empty(len(inside))
    for chunk in chunks(len(inside)):
        gains[chunk] = -own(below[chunk])
        gains[chunk] -= own(above[chunk])
    for total, running in zip(runs.totals, runs.classes, strict=True):
        mine = total[some].astype(below.dtype)
        whole -= own(mine)
        for chunk in chunks(len(inside)):
            low = running.take(inside[chunk])
            high = mine.take(part[chunk])
            high -= low
            gains[chunk] += own(low)
            gains[chunk] += own(high)
            below[chunk] -= low
            above[chunk] -= high
    total = terms.totals[runs.nodes[some]]
    for chunk in chunks(len(inside)):
        gain = gains[chunk]
        gain += own(below[chunk])
        gain += own(above[chunk])
        gain += whole.take(part[chunk])
        gain /= total.take(part[chunk])
    return gains


def chunks(size: int) -> Iterator[slice]:
    """Parts of an array that stay in the processor's cache."""
    return (slice(start, start + CHUNK) for start in range(0, size, CHUNK))


def are_apart(low: Floats, high: Floats) -> Mask:
    """Which neighbours a cut can divide."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart: Mask = high - low > GAP
    # No finite threshold is between these.
    apart &= (high != -LARGEST) | (low != -np.inf)
    return apart
