"""CART: binary splits by Gini impurity or least squares.

Numeric features are cut at the midpoints of adjacent values, ordinal ones between
adjacent categories. Of a categorical feature the categories are put in the order of the
mean response and cut like numbers, which finds the best subset for two labels and for
regression (Breiman et al. 1984); with more labels, the order by the share of each label
in turn is tried and the best cut taken. A split is judged on the cases whose value is
known, its gain scaled by their share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset, take
from treecompile.ir import Kind, Op, Tree
from treecompile.learners.criteria import gain, gini
from treecompile.learners.grow import Candidate, Limits, Progress, Rows, grow

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
LARGEST = sys.float_info.max


def learn(data: Dataset, limits: Limits, progress: Progress) -> Tree:
    """Grow a tree by CART."""
    if not data.labels:  # sums in the order of the targets: whatever that of the rows
        data = take(data, np.argsort(data.y, kind="stable"))
    response = responses(data)

    def find(rows: Rows, tie: float) -> Iterable[Candidate]:
        for position, feature in enumerate(data.features):
            column = data.columns[position][rows]
            if feature.kind is Kind.NUMERIC:
                known = ~np.isnan(column)
            else:
                known = column >= 0
            share = float(np.count_nonzero(known) / len(rows))
            judge = subsets if feature.kind is Kind.CATEGORICAL else cuts
            node = Known(
                column[known], response[rows[known]], share, tie, limits.min_leaf
            )
            candidate = judge(data, position, node)
            if candidate is not None:
                yield candidate

    return grow(data, find, limits, progress=progress)


@dataclass(frozen=True, slots=True)
class Known:
    """The cases of a node whose value of one feature is known."""

    column: NDArray[Any]
    response: Floats
    share: float  # of all the cases of the node
    tie: float
    min_leaf: int


def responses(data: Dataset) -> Floats:
    """What is added up over the cases: an indicator of each label, or the number."""
    if data.labels:
        indicators: Floats = np.eye(len(data.labels))[data.y]
        return indicators
    numbers: Floats = data.y[:, None].astype(np.float64)
    return numbers


def gains(left: Floats, sizes: Floats, response: Floats, is_classes: bool) -> Floats:
    """The gain of each cut, from the sums to its left and how many cases they are."""
    total, count = response.sum(axis=0), float(len(response))
    right = total - left
    if is_classes:
        return gain(gini, np.stack([left, right], axis=-2))
    # The decrease of the variance: between the means of the two sides.
    rest = count - sizes
    difference = left[:, 0] / sizes - right[:, 0] / rest
    result: Floats = sizes * rest * (difference / count) ** 2
    return result


def cuts(data: Dataset, position: int, node: Known) -> Candidate | None:
    """The best threshold of a numeric or ordinal feature, the lowest at a tie."""
    order = np.argsort(node.column, kind="stable")
    values, response = node.column[order], node.response[order]
    if not data.labels and len(response):
        response = response - response.mean()  # so that sums keep their digits
    edges = np.flatnonzero(values[:-1] != values[1:]) + 1
    edges = edges[(edges >= node.min_leaf) & (edges <= len(values) - node.min_leaf)]
    feature = data.features[position]
    if feature.kind is Kind.NUMERIC:
        thresholds = midpoints(values[edges - 1], values[edges])
        edges, thresholds = (
            edges[~np.isnan(thresholds)],
            thresholds[~np.isnan(thresholds)],
        )
    if len(edges) == 0:
        return None
    sums = response.cumsum(axis=0)[edges - 1]
    scores = gains(sums, edges.astype(np.float64), response, bool(data.labels))
    best = int(np.flatnonzero(scores >= scores.max() - node.tie)[0])
    edge = int(edges[best])
    if feature.kind is Kind.NUMERIC:
        low, high = float(values[edge - 1]), float(values[edge])
        value = readable(float(thresholds[best]), low, high)
    else:
        value = feature.categories[values[edge - 1]]
    return Candidate(
        position,
        float(scores[best]) * node.share,
        ((Op.LE, value), (Op.GT, value)),
        (float(edge), float(len(values) - edge)),
    )


def midpoints(low: Floats, high: Floats) -> Floats:
    """Finite thresholds with low <= threshold < high; NaN where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        middle = np.where(np.isnan(middle), 0.0, middle)  # between the infinities
    middle = np.clip(middle, -LARGEST, LARGEST)
    middle = np.where(middle < high, middle, low)  # neighbouring doubles
    result: Floats = np.where((low <= middle) & np.isfinite(middle), middle, np.nan)
    return result + 0.0  # never -0.0


def readable(threshold: float, low: float, high: float) -> float:
    """The threshold to 15 digits, if it still divides the same two values.

    The midpoint of 43.1 and 43.2 is 43.150000000000006 in doubles; people expect 43.15.
    """
    rounded = float(f"{threshold:.15g}")
    return rounded if isfinite(rounded) and low <= rounded < high else threshold


def subsets(data: Dataset, position: int, node: Known) -> Candidate | None:
    """The best division of the categories into two sets."""
    categories = data.features[position].categories
    column, response = node.column, node.response
    counts = np.bincount(column, minlength=len(categories)).astype(np.float64)
    present = np.flatnonzero(counts)
    if len(present) < 2:
        return None
    if not data.labels:
        response = response - response.mean()
    sums = np.zeros((len(categories), response.shape[1]))
    np.add.at(sums, column, response)
    means = sums[present] / counts[present, None]
    best: Candidate | None = None
    for by in range(1 if means.shape[1] <= 2 else means.shape[1]):
        order = present[np.argsort(means[:, by], kind="stable")]
        sizes = counts[order].cumsum()[:-1]
        scores = gains(
            sums[order].cumsum(axis=0)[:-1], sizes, response, bool(data.labels)
        )
        allowed = (sizes >= node.min_leaf) & (len(column) - sizes >= node.min_leaf)
        if not allowed.any():
            continue
        scores = np.where(allowed, scores, -np.inf)
        cut = int(np.flatnonzero(scores >= scores.max() - node.tie)[0])
        score = float(scores[cut]) * node.share
        if best is None or score > best.gain + node.tie:
            best = divide(data, position, order, cut + 1, counts, score)
    return best


def divide(
    data: Dataset,
    position: int,
    order: Integers,
    cut: int,
    counts: Floats,
    gain: float,
) -> Candidate:
    """The two sets of categories, the one with the first category in front."""
    categories = data.features[position].categories
    sides = sorted(
        sorted(int(code) for code in part) for part in (order[:cut], order[cut:])
    )
    return Candidate(
        position,
        gain,
        tuple((Op.IN, tuple(categories[code] for code in side)) for side in sides),
        tuple(float(counts[side].sum()) for side in sides),
    )
