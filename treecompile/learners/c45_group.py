"""Grouping of values: branches that several categories share.

From one block for each category, the pair of blocks is merged that gives the best
split, as long as that improves it. Greedy, so not always the best grouping, but quick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.learners.c45_draft import EPSILON, SLACK
from treecompile.learners.stretches import Floats

LEAST = 0.5  # weight that a category needs for a block of its own
PURE = 0.1  # weight of other classes that a block of one class may have
IMPROVEMENT = 1e-5  # of the ratio, that a merger must bring


@dataclass(frozen=True, slots=True)
class Grouping:
    gain: float  # -inf if this is no split
    split: float  # split information
    groups: tuple[tuple[int, ...], ...]  # codes; the last are those with few cases


@dataclass(slots=True, eq=False)
class Blocks:
    """Groups of codes, and the class counts of each."""

    codes: list[list[int]]
    counts: Floats

    def merge(self, one: int, other: int) -> None:
        """Put a block into an earlier one; the last block takes its place."""
        self.codes[one] += self.codes[other]
        self.counts[one] += self.counts[other]
        self.codes[other] = self.codes[-1]
        self.counts[other] = self.counts[-1]
        self.codes.pop()
        self.counts = self.counts[:-1]


def group_values(
    table: Floats, missing: Floats, min_leaf: float, *, is_ratio: bool
) -> Grouping:
    """Group the categories of a table of class counts."""
    scale = _Scale(table, missing, is_ratio)
    weights = table.sum(axis=1)
    named = np.flatnonzero(weights > LEAST)
    rest = tuple(int(code) for code in np.flatnonzero(weights <= LEAST))
    blocks = Blocks([[int(code)] for code in named], table[named])
    scale.rest = table[list(rest)].sum(axis=0)
    merge_pure(blocks)
    search(blocks, scale, min_leaf)
    gain, split = scale.judge(blocks.counts, min_leaf)
    groups = [tuple(sorted(codes)) for codes in blocks.codes]
    if rest:
        groups.append(rest)
    return Grouping(gain if gain > -EPSILON else -np.inf, split, tuple(groups))


def merge_pure(blocks: Blocks) -> None:
    """Merge blocks that have one and the same class only."""
    one = 0
    while one < len(blocks.codes):
        other = one + 1
        while other < len(blocks.codes):
            if (
                _only_class(blocks.counts[one])
                == _only_class(blocks.counts[other])
                >= 0
            ):
                blocks.merge(one, other)
            else:
                other += 1
        one += 1


def _only_class(counts: Floats) -> int:
    """The class of a block that has no other; -1 if it has several."""
    heaviest = int(counts.argmax())
    return heaviest if counts[heaviest] >= counts.sum() - PURE else -1


def search(blocks: Blocks, scale: _Scale, min_leaf: float) -> None:
    """Merge the best pair, again and again, while that makes a better split."""
    gain, split = scale.judge(blocks.counts, 1.0)
    floor = gain / 2
    value = scale.value(gain, split)
    while len(blocks.codes) > 2:
        sizes = blocks.counts.sum(axis=1)
        large = int((sizes >= min_leaf).sum())
        barred = int(sizes.argmax()) if large < 3 else -1
        is_forced = large < 2 or not scale.is_ratio
        pair, found = best_pair(blocks, scale, floor, barred, is_forced)
        if pair is None:
            return
        if scale.is_ratio and large >= 2 and found < value + IMPROVEMENT:
            return
        value = found
        blocks.merge(*pair)


def best_pair(
    blocks: Blocks, scale: _Scale, floor: float, barred: int, is_forced: bool
) -> tuple[tuple[int, int] | None, float]:
    """The pair to merge, and the value of the split after it.

    A pair whose split keeps half of the gain is preferred to one that does not; if a
    merger is forced, the first pair is better than none.
    """
    pair, best, best_gain = None, 0.0, -EPSILON
    count = len(blocks.codes)
    for one in range(count - 1):
        for other in range(one + 1, count):
            if barred in (one, other):
                continue
            gain, split = scale.judge_merged(blocks.counts, one, other)
            value = scale.value(gain, split)
            if (
                (gain >= floor > best_gain)
                or value >= best
                or (pair is None and is_forced)
            ):
                pair, best, best_gain = (one, other), value, gain
    return pair, best


class _Scale:
    """Gain and split information of blocks, at one node."""

    def __init__(self, table: Floats, missing: Floats, is_ratio: bool) -> None:
        self.known = table.sum(axis=0)
        self.missing = float(missing.sum())
        self.total = float(self.known.sum()) + self.missing
        self.is_ratio = is_ratio
        self.rest = np.zeros(len(missing))

    def judge(self, counts: Floats, min_leaf: float) -> tuple[float, float]:
        """Gain (-EPSILON if fewer than two blocks are large) and split information."""
        sizes = counts.sum(axis=1)
        split = (
            _bits(np.array([self.total]))
            - _bits(np.array([self.missing, self.rest.sum()]))
            - _bits(sizes)
        ) / self.total
        if int((sizes >= min_leaf - SLACK).sum()) < 2:
            return -EPSILON, split
        after = _bits(sizes) - _bits(counts) + _information(self.rest)
        return (_information(self.known) - after) / self.total, split

    def judge_merged(self, counts: Floats, one: int, other: int) -> tuple[float, float]:
        merged = np.delete(counts, other, axis=0)
        merged[one] = counts[one] + counts[other]
        return self.judge(merged, 1.0)

    def value(self, gain: float, split: float) -> float:
        """What blocks are compared by."""
        if not self.is_ratio:
            return gain
        return gain / split if gain >= 0 and split > EPSILON else -EPSILON


def _bits(weights: Floats) -> float:
    positive = weights[weights > 0]
    return float((positive * np.log2(positive)).sum())


def _information(counts: Floats) -> float:
    return _bits(np.array([counts.sum()])) - _bits(counts)
