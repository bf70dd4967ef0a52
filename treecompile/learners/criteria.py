"""Impurity and the measures built on it, over whole arrays of class counts.

Counts have the classes on the last axis and, where a split is judged, its branches on
the one before: shape (..., branches, classes). Any leading axes are candidates that are
judged at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
    p = shares(counts)
    bits: Floats = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1)
    return bits


def gini(counts: Floats) -> Floats:
    """The chance that two cases drawn with replacement differ in class."""
    p = shares(counts)
    result: Floats = 1.0 - (p * p).sum(axis=-1)
    return result


def remaining(impurity: Impurity, counts: Floats) -> Floats:
    """The impurity after a split: that of the branches, weighted by their cases.

    With entropy this is the conditional entropy, with gini the total Gini impurity.
    """
    weights = shares(counts.sum(axis=-1))
    result: Floats = (weights * impurity(counts)).sum(axis=-1)
    return result


def gain(impurity: Impurity, counts: Floats) -> Floats:
    """The decrease of impurity by a split; with entropy the information gain."""
    result: Floats = impurity(counts.sum(axis=-2)) - remaining(impurity, counts)
    return result
