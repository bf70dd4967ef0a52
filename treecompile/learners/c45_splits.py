"""The split of a node by C4.5: what each feature gains, and which one is taken.

All categorical features are counted in one table, all numeric ones are sorted and
summed up side by side. Information is kept as weight x bits, n log n - sum of the
parts' n log n, so that nothing is divided before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.ir import Kind
from treecompile.learners.c45_draft import (
    EPSILON,
    SLACK,
    Cases,
    Floats,
    Integers,
    Sample,
    SplitTest,
    sums,
)
from treecompile.learners.c45_group import group_values
from treecompile.learners.cart import midpoints
from treecompile.learners.limits import TIE

GAP = 1e-5  # two numbers that are no further apart are not told apart
MANY = 0.3  # a feature with values for this share of the cases is many-valued
MOST_PER_SIDE = 25.0  # cases that each side of a cut may be asked for
CHUNK = 4_000_000  # numbers that are summed up at once

# From the gains and split informations of all features, where -inf bars a feature.
Measure = Callable[[Floats, Floats], Floats]


def bits(weights: Floats) -> Floats:
    """n log2 n, and 0 for nothing."""
    positive = weights > 0
    logs: Floats = np.log2(weights, out=np.zeros_like(weights), where=positive)
    return np.where(positive, weights * logs, 0.0)


def information(counts: Floats) -> Floats:
    """The information of class counts (on the last axis), times their weight."""
    result: Floats = bits(counts.sum(axis=-1)) - bits(counts).sum(axis=-1)
    return result


def chunks(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Parts of the features whose tables of that size fit into memory together."""
    most = max(1, CHUNK // max(1, size))
    for start in range(0, len(items), most):
        yield items[start : start + most]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the features of a node offer; gain -inf where there is no split."""

    gains: Floats
    splits: Floats  # split information
    cuts: Floats
    groups: dict[int, tuple[tuple[int, ...], ...]]


class Finder:
    """Judges the features of a node; made once for a training set."""

    def __init__(
        self,
        sample: Sample,
        *,
        min_leaf: float,
        min_gain: float,
        measure: Measure | None,
        is_ratio: bool,
        is_grouping: bool,
    ) -> None:
        features = sample.data.features
        self.sample, self.measure = sample, measure
        self.min_leaf, self.min_gain = float(min_leaf), min_gain
        self.is_ratio, self.is_grouping = is_ratio, is_grouping
        kinds = [feature.kind for feature in features]
        self.numeric = [i for i, k in enumerate(kinds) if k is not Kind.CATEGORICAL]
        self.nominal = tuple(i for i, k in enumerate(kinds) if k is Kind.CATEGORICAL)
        self.sizes = [len(feature.categories) for feature in features]
        self.grouped = frozenset(
            i for i in self.nominal if is_grouping and self.sizes[i] > 2
        )
        self.numbers = np.array([sample.columns[i] for i in self.numeric], np.float64)
        # A column of codes for each feature, those of missing values behind the rest.
        self.codes = np.zeros((len(features), len(sample.y)), np.intp)
        for i in self.nominal:
            column = sample.columns[i]
            self.codes[i] = np.where(column < 0, self.sizes[i], column)
        many = [i in self.nominal and self._is_many(i) for i in range(len(features))]
        all_count = all(many) or is_grouping
        self.counted = np.array([all_count or not m for m in many])

    def _is_many(self, feature: int) -> bool:
        return self.sizes[feature] >= MANY * len(self.sample.y)

    def best(self, cases: Cases, usable: Sequence[int]) -> SplitTest | None:
        """The split that C4.5 takes, of the usable categorical features and the rest.

        At a tie, the first feature.
        """
        judged = self.judge(cases, usable)
        worth = self.worth(judged)
        worth[judged.gains < self.min_gain - TIE] = -np.inf
        chosen, bar = -1, -EPSILON
        for feature in np.flatnonzero(worth > -EPSILON):
            if worth[feature] > bar + TIE:
                chosen, bar = int(feature), float(worth[feature])
        if chosen < 0:
            return None
        gain = float(judged.gains[chosen])
        if chosen not in self.nominal:
            return SplitTest(
                chosen, gain, cut=self._lowered(chosen, judged.cuts[chosen])
            )
        if chosen in self.grouped:
            groups = judged.groups[chosen]
            return SplitTest(chosen, gain, groups=groups, is_grouped=True)
        singles = tuple((code,) for code in range(self.sizes[chosen]))
        return SplitTest(chosen, gain, groups=singles)

    def worth(self, judged: Judged) -> Floats:
        """What the features are compared by; not above -EPSILON for those barred."""
        gains, splits = judged.gains, judged.splits
        possible = gains > -EPSILON
        if self.measure is not None:
            return np.where(possible & (splits > 0), self.measure(gains, splits), -1.0)
        if not self.is_ratio:
            return np.where(possible & (splits > 0), gains, -1.0)
        averaged = gains[possible & self.counted]
        if not len(averaged):
            return np.full(len(gains), -1.0)
        allowed = possible & (gains >= averaged.mean() - EPSILON) & (splits > EPSILON)
        ratios: Floats = np.full(len(gains), -1.0)
        np.divide(gains, splits, out=ratios, where=allowed)
        return ratios

    def judge(self, cases: Cases, usable: Sequence[int]) -> Judged:
        """Gain and split information of every feature."""
        count = len(self.sizes)
        judged = Judged(
            np.full(count, -np.inf), np.zeros(count), np.full(count, np.nan), {}
        )
        y = self.sample.y[cases.rows]
        for some in chunks(usable, len(y)):
            self._categories(cases, y, some, judged)
        for some in chunks(range(len(self.numeric)), len(y) * self.sample.classes):
            self._cuts(cases, y, some, judged)
        return judged

    def _categories(
        self, cases: Cases, y: Integers, some: Sequence[int], judged: Judged
    ) -> None:
        """One table of values by classes for all features, one below the other."""
        usable = list(some)
        rows = np.array([self.sizes[i] + 1 for i in usable])
        ends = rows.cumsum()
        starts = ends - rows
        places = self.codes[np.array(usable)[:, None], cases.rows] + starts[:, None]
        classes = self.sample.classes
        cells = (places * classes + y).ravel()
        weights = np.tile(cases.weights, len(usable))
        table = sums(cells, weights, int(ends[-1]) * classes).reshape(-1, classes)
        sizes = table.sum(axis=1)
        total = float(cases.weights.sum())
        splits = (bits(np.array(total)) - np.add.reduceat(bits(sizes), starts)) / total
        known, known_sizes = table.copy(), sizes.copy()
        known[ends - 1], known_sizes[ends - 1] = 0.0, 0.0
        before = information(np.add.reduceat(known, starts, axis=0))
        after = np.add.reduceat(information(known), starts)
        large = (known_sizes >= self.min_leaf - SLACK).astype(np.intp)
        possible = np.add.reduceat(large, starts) >= 2
        judged.gains[usable] = np.where(possible, (before - after) / total, -np.inf)
        judged.splits[usable] = splits
        for feature, start, end in zip(usable, starts, ends, strict=True):
            if feature in self.grouped:
                self._group(feature, table[start : end - 1], table[end - 1], judged)

    def _group(
        self, feature: int, table: Floats, missing: Floats, judged: Judged
    ) -> None:
        found = group_values(table, missing, self.min_leaf, is_ratio=self.is_ratio)
        judged.gains[feature], judged.splits[feature] = found.gain, found.split
        judged.groups[feature] = found.groups

    def _cuts(
        self, cases: Cases, y: Integers, which: Sequence[int], judged: Judged
    ) -> None:
        """The best cut of numeric features: by gain, the lowest at a tie."""
        values = self.numbers[np.array(which)[:, None], cases.rows]
        order = np.argsort(values, axis=1, kind="stable")  # missing ones come last
        values = np.take_along_axis(values, order, axis=1)
        is_missing = np.isnan(values)
        weights = np.where(is_missing, 0.0, cases.weights[order])
        missing = np.where(is_missing, cases.weights[order], 0.0).sum(axis=1)
        below_each = np.zeros((*values.shape, self.sample.classes))
        np.put_along_axis(below_each, y[order][..., None], weights[..., None], axis=2)
        np.cumsum(below_each, axis=1, out=below_each)
        known = below_each[:, -1, :]
        total = float(cases.weights.sum())
        low = below_each[:, :-1, :]
        high = np.maximum(known[:, None, :] - low, 0.0)
        below, above = low.sum(axis=2), high.sum(axis=2)
        size = known.sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = values[:, 1:] - values[:, :-1] > GAP
        least = np.minimum(0.1 * size / self.sample.classes, MOST_PER_SIDE)
        least = np.maximum(least, self.min_leaf)[:, None] - SLACK
        allowed = apart & (below >= least) & (above >= least)
        allowed &= size[:, None] >= 2 * self.min_leaf - SLACK
        tries = allowed.sum(axis=1)
        gains = information(known)[:, None] - information(low) - information(high)
        gains = np.where(allowed, gains / total, -np.inf)
        for place, feature in enumerate(self.numeric[i] for i in which):
            if not tries[place]:
                continue
            row = gains[place]
            cut = int(np.flatnonzero(row >= row.max() - TIE)[0])
            gain = float(row[cut]) - float(np.log2(tries[place])) / total
            if gain <= 0:
                continue
            sides = np.array([below[place, cut], above[place, cut], missing[place]])
            judged.gains[feature] = gain
            judged.splits[feature] = (bits(np.array(total)) - bits(sides).sum()) / total
            judged.cuts[feature] = _middle(values[place, cut], values[place, cut + 1])

    def _lowered(self, feature: int, middle: float) -> float:
        """The greatest value in the whole training set that is not above a cut."""
        column = self.sample.columns[feature]
        low = float(column[column <= middle].max())
        return (low if np.isfinite(low) else middle) + 0.0  # never -0.0


def _middle(low: float, high: float) -> float:
    return float(midpoints(np.array([low]), np.array([high]))[0])
