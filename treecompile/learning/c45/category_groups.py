"""Groups the categories of a feature, so that several of them share a branch.

It starts with a group for each category, and merges the pair of groups that gives the
best split, as long as that improves the split. This greedy search is quick, but it does
not always find the best grouping.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from treecompile.learning.c45.gain_ratio import (
    EPSILON,
    SLACK,
    GainCandidates,
    GainSearch,
)
from treecompile.learning.grow.draft import Groups
from treecompile.model.arrays import Floats

LEAST = 0.5  # weight that a category needs for a group of its own
PURE = 0.1  # weight of other classes that a group of one class may still have
IMPROVEMENT = 1e-5  # by which a merge must raise the gain ratio


@dataclass(slots=True, eq=False)
class ValueGroups:
    """Groups of category codes, and the class counts of each group."""

    codes: list[list[int]]
    counts: Floats  # groups x classes

    def merge(self, one: int, other: int) -> None:
        """Merge a group into an earlier one; the last group takes its place."""
        self.codes[one] += self.codes[other]
        self.counts[one] += self.counts[other]
        self.codes[other] = self.codes[-1]
        self.counts[other] = self.counts[-1]
        self.codes.pop()
        self.counts = self.counts[:-1]


def search_groups(
    search: GainSearch,
    # The node, its table (categories x classes), and its counts of missing values.
    tables: Iterable[tuple[int, Floats, Floats]],
    *,
    is_ratio: bool,
) -> GainCandidates:
    """Find a split into groups for each of some nodes, from contingency tables."""
    groups: dict[int, Groups] = {}
    found = replace(GainCandidates.none(len(search.totals)), groups=groups)
    for node, table, missing in tables:
        found.gains[node], found.split_info[node], groups[node] = group_values(
            table, missing, search.min_leaf, is_ratio=is_ratio
        )
    return found


def group_values(
    table: Floats, missing: Floats, min_leaf: float, *, is_ratio: bool
) -> tuple[float, float, Groups]:
    """Group the categories of a contingency table.

    Returns the gain (-inf if this is no split), the split information, and the groups.
    Categories with next to no cases form the last group.
    """
    weights = table.sum(axis=1)
    named = np.flatnonzero(weights > LEAST)
    rest = tuple(int(code) for code in np.flatnonzero(weights <= LEAST))
    groups = ValueGroups([[int(code)] for code in named], table[named])
    gains = _NodeGain(table, missing, table[list(rest)].sum(axis=0), is_ratio)
    merge_pure(groups)
    merge_pairs(groups, gains, min_leaf)
    gain, split_info = gains.measure(groups.counts, min_leaf)
    codes = [tuple(sorted(each)) for each in groups.codes]
    if rest:
        codes.append(rest)
    return gain if gain > -EPSILON else -np.inf, split_info, tuple(codes)


def merge_pure(groups: ValueGroups) -> None:
    """Merge groups whose cases all have the same single class."""
    one = 0
    while one < len(groups.codes):
        other = one + 1
        while other < len(groups.codes):
            if (
                _only_class(groups.counts[one])
                == _only_class(groups.counts[other])
                >= 0
            ):
                groups.merge(one, other)
            else:
                other += 1
        one += 1


def _only_class(counts: Floats) -> int:
    """Return the only class of a group, or -1 if it has several."""
    heaviest = int(counts.argmax())
    return heaviest if counts[heaviest] >= counts.sum() - PURE else -1


def merge_pairs(groups: ValueGroups, gains: _NodeGain, min_leaf: float) -> None:
    """Merge the best pair repeatedly, as long as that improves the split."""
    gain, split_info = gains.measure(groups.counts, 1.0)
    floor = gain / 2
    value = gains.value(gain, split_info)
    while len(groups.codes) > 2:
        sizes = groups.counts.sum(axis=1)
        large = int((sizes >= min_leaf).sum())
        barred = int(sizes.argmax()) if large < 3 else -1
        is_forced = large < 2 or not gains.is_ratio
        pair, found = best_pair(groups, gains, floor, barred, is_forced)
        if pair is None:
            return
        if gains.is_ratio and large >= 2 and found < value + IMPROVEMENT:
            return
        value = found
        groups.merge(*pair)


def best_pair(
    groups: ValueGroups, gains: _NodeGain, floor: float, barred: int, is_forced: bool
) -> tuple[tuple[int, int] | None, float]:
    """Return the pair to merge, and the value of the split after the merge.

    A pair that keeps the gain at or above `floor` is preferred to one that does not.
    Without a good pair the result is None, or if a merge is forced, the first pair.
    """
    pair, best, best_gain = None, 0.0, -EPSILON
    count = len(groups.codes)
    for one in range(count - 1):
        for other in range(one + 1, count):
            if barred in (one, other):
                continue
            gain, split_info = gains.measure_merged(groups.counts, one, other)
            value = gains.value(gain, split_info)
            if (
                (gain >= floor > best_gain)
                or value >= best
                or (pair is None and is_forced)
            ):
                pair, best, best_gain = (one, other), value, gain
    return pair, best


class _NodeGain:
    """Computes gain and split information of groups at one node."""

    def __init__(
        self, table: Floats, missing: Floats, rest: Floats, is_ratio: bool
    ) -> None:
        self.known = table.sum(axis=0)
        self.missing = float(missing.sum())
        self.total = float(self.known.sum()) + self.missing
        self.rest, self.is_ratio = rest, is_ratio

    def measure(self, counts: Floats, min_leaf: float) -> tuple[float, float]:
        """Return the gain (-EPSILON without two large groups) and split information."""
        sizes = counts.sum(axis=1)
        split_info = (
            _bits(np.array([self.total]))
            - _bits(np.array([self.missing, self.rest.sum()]))
            - _bits(sizes)
        ) / self.total
        if int((sizes >= min_leaf - SLACK).sum()) < 2:
            return -EPSILON, split_info
        after = _bits(sizes) - _bits(counts) + _information(self.rest)
        return (_information(self.known) - after) / self.total, split_info

    def measure_merged(
        self, counts: Floats, one: int, other: int
    ) -> tuple[float, float]:
        merged = np.delete(counts, other, axis=0)
        merged[one] = counts[one] + counts[other]
        return self.measure(merged, 1.0)

    def value(self, gain: float, split_info: float) -> float:
        """Return the value by which splits are compared."""
        if not self.is_ratio:
            return gain
        return gain / split_info if gain >= 0 and split_info > EPSILON else -EPSILON


def _bits(weights: Floats) -> float:
    positive = weights[weights > 0]
    return float((positive * np.log2(positive)).sum())


def _information(counts: Floats) -> float:
    return _bits(np.array([counts.sum()])) - _bits(counts)
