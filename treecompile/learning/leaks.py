"""Finds leaks: features that predict the target alone, for which learning adds a note.

Such a feature is often known only after the target. The test leaves each row out in
turn: a row is predicted from the other rows with the same value of the feature, or if
there are none, from the rows with the nearest values. It costs one sort, and finds any
relation: one threshold, bands, categories, a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.measure.quality import accuracy
from treecompile.model import words
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import ClassQuality, Feature, Kind, Program, Tree
from treecompile.model.options import sentence
from treecompile.model.semantics import required_features
from treecompile.tables.dataset import Dataset

ALONE = 0.98  # accuracy, or R squared, that one feature should not reach
GAINED = 0.8  # share of a constant answer's errors that a leak avoids
# The limit for columns of many categories, which name kinds of things: the model of a
# car decides its class, with few exceptions.
MANY, ALONE_IN_GROUPS = 20, 0.95
# A formula gives most numbers exactly, however large the errors of the others are.
NEAR, MOST = 0.05, 0.9  # shares of the standard deviation, and of the rows
VARIED = 0.5  # share of the rows that a constant answer must not be near to
# With so many rows, numbers between two quantiles of a sample are tried first.
LARGE, SAMPLE, BOUNDS = 20_000, 1_000, (0.45, 0.55)
FEWEST = 30  # rows with a known value that are needed, besides half of all rows


def leak_notes(data: Dataset, tree: Tree) -> list[str]:
    """Return a note on the features of a tree that predict the target alone, if any."""
    tested = {tree.features[index].name for index in required_features(tree)}
    found = [
        feature.name
        for feature, column in zip(data.features, data.columns, strict=True)
        if feature.name in tested and _is_leak(data, feature, column)
    ]
    return [_said(found, data.target)] if found else []


def leak_note_of(program: Program) -> list[str]:
    """Return that note from the model alone, where the rows are not in memory."""
    tested = required_features(program.body)
    quality = program.training.quality if program.training else None
    if isinstance(quality, ClassQuality):
        share = accuracy(quality)
    else:
        share = None if quality is None else quality.r_squared
    if len(tested) != 1 or share is None or share < ALONE:
        return []
    return [_said([program.body.features[tested[0]].name], program.target)]


def _said(features: Sequence[str], target: str) -> str:
    """Write the note on features that predict the target alone."""
    names = sentence(map(words.name, features), "and")
    options = " ".join(f"--ignore {name!r}" for name in features)
    one = f"{names} alone predicts {words.name(target)}: if it is"
    many = f"{names} each predict {words.name(target)} alone: if they are"
    first, them = (many, "them") if features[1:] else (one, "it")
    return f"{first} known only afterwards, leave {them} out with {options}"


def _is_leak(data: Dataset, feature: Feature, column: Array) -> bool:
    is_numeric = feature.kind is Kind.NUMERIC
    known = np.isfinite(column) if is_numeric else column >= 0
    if not is_numeric:  # no other row tells anything about a category that occurs once
        known &= np.bincount(column + 1)[column + 1] > 1
    if known.sum() < max(FEWEST, len(known) / 2):
        return False
    column, y = column[known], data.y[known]
    if is_numeric and data.labels and _errs_nearby(column, y, len(data.labels)):
        return False
    values = FeatureValues.of(column, is_numeric=is_numeric)
    return _predicts(values, y, len(data.labels))


def _errs_nearby(column: Array, y: Array, labels: int) -> bool:
    """Return whether the rows between two bounds already have too many wrong labels.

    Then all rows need not be sorted. Within the bounds a number has the same neighbours
    as among all numbers, except the first and the last one.
    """
    if len(column) < LARGE:
        return False
    sample = np.sort(column[:: len(column) // SAMPLE])
    low, high = np.quantile(sample, BOUNDS)
    inside = (column >= low) & (column <= high)
    values = FeatureValues.of(column[inside], is_numeric=True)
    if len(values.distinct) < 3:
        return False
    wrong = _labels(values, y[inside], labels) != y[inside]
    wrong &= (values.of_row > 0) & (values.of_row < len(values.distinct) - 1)
    return bool(wrong.sum() > (1 - ALONE) * len(y))


@dataclass(frozen=True, slots=True, eq=False)
class FeatureValues:
    """The distinct values of a column, in order."""

    distinct: Array
    of_row: Positions  # for each row: the position of its value in `distinct`
    sizes: Positions  # for each value: its number of rows
    is_numeric: bool  # if so, the nearest value predicts a row that is alone

    @classmethod
    def of(cls, column: Array, *, is_numeric: bool) -> FeatureValues:
        distinct, of_row = np.unique(column, return_inverse=True)
        return cls(distinct, of_row, np.bincount(of_row), is_numeric)

    def alone(self) -> Mask:
        """Return which rows have a value that no other row has."""
        result: Mask = self.sizes[self.of_row] == 1
        return result

    def sides(self) -> tuple[Positions, Positions, Floats]:
        """Return the values before and after each, and where it lies between (0 to 1).

        The first and the last value have only one neighbour, which is given twice.
        """
        last = len(self.distinct) - 1
        places = np.arange(last + 1)
        before, after = np.maximum(places - 1, 0), np.minimum(places + 1, last)
        before[0], after[-1] = after[0], before[-1]
        low, high = self.distinct[before], self.distinct[after]
        gap = np.where(high > low, high - low, 1.0)
        share = np.where(high > low, (self.distinct - low) / gap, 0.5)
        return before, after, share


def _predicts(values: FeatureValues, y: Array, labels: int) -> bool:
    if len(values.distinct) < 2:
        return False
    if labels:
        wrong = int((_labels(values, y, labels) != y).sum())
        usual = len(y) - int(np.bincount(y).max())
        many = not values.is_numeric and len(values.distinct) >= MANY
        least = ALONE_IN_GROUPS if many else ALONE
        return wrong <= (1 - least) * len(y) and wrong <= (1 - GAINED) * usual
    error, deviation = np.abs(_numbers(values, y) - y), float(y.std())
    if not deviation:
        return False
    near = NEAR * deviation
    is_varied = (np.abs(y - np.median(y)) > near).mean() >= VARIED
    r_squared = 1 - (error @ error) / (len(y) * deviation**2)
    return bool(r_squared >= ALONE or (is_varied and (error <= near).mean() >= MOST))


def _labels(values: FeatureValues, y: Array, labels: int) -> Array:
    """Predict the label of each row from the other rows."""
    size = len(values.distinct) * labels
    counts = np.bincount(values.of_row * labels + y, minlength=size)
    counts = counts.reshape(-1, labels)
    others = counts[values.of_row]
    others[np.arange(len(y)), y] -= 1
    found: Array = others.argmax(axis=1)
    if values.is_numeric:
        alone = values.alone()
        before, after, share = values.sides()
        nearest = np.where(share > 0.5, after, before)
        found[alone] = counts.argmax(axis=1)[nearest[values.of_row[alone]]]
    return found


def _numbers(values: FeatureValues, y: Array) -> Floats:
    """Predict the number of each row from the other rows."""
    sums = np.bincount(values.of_row, weights=y)
    others = np.maximum(values.sizes - 1, 1)[values.of_row]
    found: Floats = (sums[values.of_row] - y) / others
    if values.is_numeric:
        alone = values.alone()
        before, after, share = values.sides()
        means = sums / values.sizes
        between = means[before] + share * (means[after] - means[before])
        found[alone] = between[values.of_row[alone]]
    return found
