"""The measures by which splits are compared, and the impurities they are built on.

Each measure is there twice: here for splits into any number of branches, from a table
of class counts, and in `cuts` for the cuts of a level in two. Whatever the measure,
more is better and 0 is nothing gained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treecompile.learners.chi_square import critical_values
from treecompile.learners.cuts import (
    CutMeasure,
    chi_square_cuts,
    distance_cuts,
    entropy_cuts,
    gini_cuts,
    ratio_cuts,
    squares,
)
from treecompile.learners.stretches import Floats, Mask, Stretches

Impurity = Callable[[Floats], Floats]


def shares(counts: Floats) -> Floats:
    """Counts as shares of their sum along the last axis; zeros where the sum is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    result: Floats = np.divide(
        counts, total, out=np.zeros_like(counts), where=total > 0
    )
    return result


def entropy(counts: Floats) -> Floats:
    """Information in bits; 0 log 0 counts as 0."""
    return surprise(shares(counts)).sum(axis=-1)  # type: ignore[no-any-return]


def surprise(p: Floats) -> Floats:
    """-p log2 p, which entropy adds up."""
    bits: Floats = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0))
    return bits


def gini(counts: Floats) -> Floats:
    """The chance that two cases drawn with replacement differ in class."""
    p = shares(counts)
    result: Floats = 1.0 - (p * p).sum(axis=-1)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Class counts of the branches of splits, one split after the other."""

    counts: Floats  # branches x classes
    splits: Stretches  # the branches of each

    def sizes(self) -> Floats:
        """The cases of each branch."""
        sizes: Floats = self.counts.sum(axis=-1)
        return sizes

    def weights(self) -> Floats:
        """The share of each branch in the cases of its split."""
        sizes = self.sizes()
        weights: Floats = sizes / self.splits.spread(self.splits.sums(sizes))
        return weights

    def undivided(self) -> Floats:
        """The class counts of each split before it."""
        counts: Floats = np.add.reduceat(self.counts, self.splits.starts)
        return counts


def remaining(impurity: Impurity, table: Table) -> Floats:
    """The impurity after a split: that of the branches, weighted by their cases.

    With entropy this is the conditional entropy, with gini the total Gini impurity.
    """
    within: Floats = table.splits.sums(table.weights() * impurity(table.counts))
    return within


def gain(impurity: Impurity, table: Table) -> Floats:
    """The decrease of impurity by a split; with entropy the information gain."""
    result: Floats = impurity(table.undivided()) - remaining(impurity, table)
    return result


def information_gain(table: Table) -> Floats:
    return gain(entropy, table)


def gini_gain(table: Table) -> Floats:
    return gain(gini, table)


def split_information(table: Table) -> Floats:
    """The information of the branches themselves."""
    bits: Floats = table.splits.sums(surprise(table.weights()))
    return bits


def gain_ratio(table: Table) -> Floats:
    """Information gain by split information."""
    return _quotient(information_gain(table), split_information(table))


def closeness(table: Table) -> Floats:
    """Information gain by the information of branch and class together.

    One less the distance of Lopez de Mantaras between the two partitions.
    """
    joint = split_information(table) + remaining(entropy, table)
    return _quotient(information_gain(table), joint)


def chi_square(table: Table) -> Floats:
    """The chi-square statistic by cases, also known as phi squared."""
    expected = table.splits.spread(np.arange(len(table.splits.lengths)))
    p = shares(table.undivided())[expected]
    difference = shares(table.counts) - p
    squared = np.divide(
        difference * difference, p, out=np.zeros_like(p), where=p > 0
    ).sum(axis=-1)
    result: Floats = table.splits.sums(table.weights() * squared)
    return result


def by_chance(table: Table, probability: float, sizes: Floats | None = None) -> Mask:
    """Which splits chance alone explains more often than with this probability.

    `sizes` are the cases of each split, where the counts are in another unit.
    """
    counts = table.undivided()
    branches = table.splits.sums((table.sizes() > 0).astype(np.intp))
    freedom = (branches - 1) * (np.count_nonzero(counts, axis=1) - 1)
    if sizes is None:
        sizes = counts.sum(axis=1)
    chance: Mask = chi_square(table) * sizes < critical_values(probability, freedom)
    return chance


def _quotient(part: Floats, whole: Floats) -> Floats:
    result: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return result


# --- the table ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """One way to compare splits."""

    cuts: CutMeasure
    branches: Callable[[Table], Floats] | None  # None: it cuts in two only
    # Is some cut of the categories in the order of one label's share the best subset,
    # where there are two labels? So it is for every concave impurity.
    is_concave: bool = True
    slack: float = 1.0  # how much less exact it is than a difference of impurities


# By the name of the option; explicit, so that what can be chosen is seen here.
MEASURES = {
    "gini": Measure(gini_cuts, gini_gain),
    "entropy": Measure(entropy_cuts, information_gain),
    "gain-ratio": Measure(ratio_cuts, gain_ratio, is_concave=False, slack=1e3),
    "distance": Measure(distance_cuts, closeness, is_concave=False),
    "chi-square": Measure(chi_square_cuts, chi_square),
}


LEAST_SQUARES = Measure(squares, None)  # for numbers
