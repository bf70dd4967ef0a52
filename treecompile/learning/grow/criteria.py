"""The measures by which splits are compared, and the impurities they are built on.

Each measure exists twice: here for splits into any number of branches, from contingency
tables, and in `cuts` for the binary splits of a whole level at once. Greater is better,
and 0 means that nothing is gained.

Last comes the chi-square test: how likely chance alone makes branches differ so much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import exp, inf, lgamma, log

import numpy as np

from treecompile.learning.grow.cuts import (
    CutMeasure,
    chi_square_cuts,
    distance_cuts,
    entropy_cuts,
    gini_cuts,
    ratio_cuts,
    share_of,
    squares,
)
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Floats, Mask, Positions

PRECISION = 1e-15  # with which a probability is computed
TINY = 1e-300  # replaces 0 in a divisor

Impurity = Callable[[Floats], Floats]


def shares(counts: Floats) -> Floats:
    """Divide counts by their sum along the last axis; zeros where the sum is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    result: Floats = np.divide(
        counts, total, out=np.zeros_like(counts), where=total > 0
    )
    return result


def entropy(counts: Floats) -> Floats:
    """Compute the entropy of class counts in bits; 0 log 0 counts as 0."""
    return surprise(shares(counts)).sum(axis=-1)  # type: ignore[no-any-return]


def surprise(p: Floats) -> Floats:
    """Compute -p log2 p, the summand of entropy."""
    bits: Floats = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0))
    return bits


def gini(counts: Floats) -> Floats:
    """Gini impurity: the chance that two cases, drawn with replacement, differ."""
    p = shares(counts)
    result: Floats = 1.0 - (p * p).sum(axis=-1)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class ContingencyTable:
    """Class counts of the branches of many splits, one split after the other."""

    counts: Floats  # branches x classes
    splits: Segments  # a segment of branches for each split

    def sizes(self) -> Floats:
        """Return the number of cases of each branch."""
        sizes: Floats = self.counts.sum(axis=-1)
        return sizes

    def weights(self) -> Floats:
        """Return the share of each branch in the cases of its split."""
        sizes = self.sizes()
        weights: Floats = sizes / self.splits.spread(self.splits.sums(sizes))
        return weights

    def undivided(self) -> Floats:
        """Return the class counts of each split, summed over its branches."""
        counts: Floats = np.add.reduceat(self.counts, self.splits.starts)
        return counts


def remaining(impurity: Impurity, table: ContingencyTable) -> Floats:
    """Compute the impurity after each split: of its branches, weighted by their cases.

    With entropy this is the conditional entropy.
    """
    within: Floats = table.splits.sums(table.weights() * impurity(table.counts))
    return within


def gain(impurity: Impurity, table: ContingencyTable) -> Floats:
    """Compute the decrease of impurity; with entropy, this is the information gain."""
    result: Floats = impurity(table.undivided()) - remaining(impurity, table)
    return result


def split_information(table: ContingencyTable) -> Floats:
    """Compute the entropy of the branch sizes of each split, in bits."""
    bits: Floats = table.splits.sums(surprise(table.weights()))
    return bits


def gain_ratio(table: ContingencyTable) -> Floats:
    """Divide the information gain of each split by its split information."""
    return share_of(gain(entropy, table), split_information(table))


def closeness(table: ContingencyTable) -> Floats:
    """Divide the information gain by the joint information of branch and class.

    It is 1 minus the distance of Lopez de Mantaras between the two partitions.
    """
    joint = split_information(table) + remaining(entropy, table)
    return share_of(gain(entropy, table), joint)


def chi_square(table: ContingencyTable) -> Floats:
    """Compute chi-square divided by the number of cases, known as phi squared."""
    expected = table.splits.spread(np.arange(len(table.splits.lengths)))
    p = shares(table.undivided())[expected]
    difference = shares(table.counts) - p
    squared = np.divide(
        difference * difference, p, out=np.zeros_like(p), where=p > 0
    ).sum(axis=-1)
    result: Floats = table.splits.sums(table.weights() * squared)
    return result


# --- by name --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to score splits."""

    name: str
    cuts: CutMeasure
    branches: Callable[[ContingencyTable], Floats] | None  # None: only binary splits
    # Whether the impurity is concave. If so, and there are two labels, the best binary
    # split of categories is a cut of their order by the share of one label.
    is_concave: bool = True
    slack: float = 1.0  # how much less exact scores are than a difference of impurities


_ALL = (
    Measure("gini", gini_cuts, partial(gain, gini)),
    Measure("entropy", entropy_cuts, partial(gain, entropy)),
    Measure("gain-ratio", ratio_cuts, gain_ratio, is_concave=False, slack=1e3),
    Measure("distance", distance_cuts, closeness, is_concave=False),
    Measure("chi-square", chi_square_cuts, chi_square),
)
MEASURES = {measure.name: measure for measure in _ALL}
LEAST_SQUARES = Measure("squares", squares, None)  # for numeric targets


# --- the chi-square test --------------------------------------------------------------


def by_chance(
    table: ContingencyTable, probability: float, sizes: Floats | None = None
) -> Mask:
    """Return which splits chance alone explains with more than this probability.

    `sizes` are the numbers of cases of the splits, if the counts have another unit.
    """
    counts = table.undivided()
    branches = table.splits.sums((table.sizes() > 0).astype(np.intp))
    freedom = (branches - 1) * (np.count_nonzero(counts, axis=1) - 1)
    if sizes is None:
        sizes = counts.sum(axis=1)
    chance: Mask = chi_square(table) * sizes < critical_values(probability, freedom)
    return chance


def upper_tail(statistic: float, freedom: int) -> float:
    """Return the probability that chi-square is at least as large as the statistic.

    This is a regularised incomplete gamma function, computed by a series below the
    mean and by a continued fraction above it.
    """
    a, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        return max(0.0, 1.0 - scale * _series(a, x))
    return scale * _fraction(a, x)


def _series(a: float, x: float) -> float:
    """Return the sum over n of x^n / (a (a + 1) ... (a + n))."""
    term = total = 1 / a
    while term > total * PRECISION:
        a += 1
        term *= x / a
        total += term
    return total


def _fraction(a: float, x: float) -> float:
    """Evaluate Legendre's continued fraction by Lentz's method."""
    b = x + 1 - a
    c, d = 1 / TINY, 1 / b
    value, step, n = d, inf, 0
    while abs(step - 1) > PRECISION:
        n += 1
        numerator = -n * (n - a)
        b += 2
        d = 1 / (numerator * d + b or TINY)
        c = b + numerator / c or TINY
        step = c * d
        value *= step
    return value


@lru_cache(maxsize=4096)
def critical_value(probability: float, freedom: int) -> float:
    """Find the least statistic that chance exceeds with at most this probability."""
    low, high = 0.0, float(freedom)
    while upper_tail(high, freedom) > probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if upper_tail(middle, freedom) > probability:
            low = middle
        else:
            high = middle
    return high


def critical_values(probability: float, freedom: Positions) -> Floats:
    """Return the critical value of each split; infinite without degrees of freedom."""
    distinct, places = np.unique(freedom, return_inverse=True)
    values = [critical_value(probability, n) if n else inf for n in distinct.tolist()]
    return np.array(values)[places]
