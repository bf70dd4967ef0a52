"""Class weights: they multiply the weights of the rows with each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from treecompile.learning.options import BALANCED, ClassWeight
from treecompile.model.arrays import Array, Floats
from treecompile.model.errors import OptionError
from treecompile.model.ir import Label
from treecompile.model.semantics import type_of_labels
from treecompile.tables.columns import PARSE
from treecompile.tables.dataset import Dataset

ODD_MEAN = 10.0  # a mean weight above this, or below 1 / this, gets a note


def check_class_weight(given: ClassWeight, data: Dataset) -> None:
    """Refuse labels that do not occur, and numbers that are not weights."""
    if given and not data.labels:
        raise OptionError(
            f"class_weight is for labels, and the target {data.target!r} is a"
            " number: leave it out, or use task=classify"
        )
    _by_label(given, data)


def weighted(data: Dataset, given: ClassWeight) -> Dataset:
    """Return the dataset with the weights of each label multiplied."""
    if not given:
        return data
    own = np.ones(len(data.y)) if data.weights is None else data.weights
    counts = np.bincount(data.y, minlength=len(data.labels))
    return replace(data, weights=own * label_factors(given, data, counts)[data.y])


def label_factors(given: ClassWeight, data: Dataset, counts: Array) -> Floats:
    """Return the factor of each label; `counts` is the number of rows with each."""
    if given == BALANCED:
        kinds = np.count_nonzero(counts)
        balanced: Floats = counts.sum() / (kinds * np.maximum(counts, 1))
        return balanced
    factors = np.ones(len(data.labels))
    for place, number in _by_label(given, data).items():
        factors[place] = number
    return factors


def _by_label(given: ClassWeight, data: Dataset) -> dict[int, float]:
    """Return the given numbers by the position of their label."""
    found: dict[int, float] = {}
    if isinstance(given, str):
        return found
    for key, number in given:
        place = _place(key, data.labels)
        if place < 0:
            known = ", ".join(map(str, data.labels[:10]))
            raise OptionError(
                f"class_weight: {data.target!r} has no label {key!r}: expected"
                f" one of {known}" + ", ..." * (len(data.labels) > 10)
            )
        if place in found:
            raise OptionError(f"class_weight names the label {key!r} twice")
        if not (isfinite(number) and 1e-100 <= number <= 1e100):
            raise OptionError(
                f"class_weight={{{key!r}: {number:g}}}: expected a number above 0"
            )
        found[place] = number
    return found


def odd_mean(mean: float) -> list[str]:
    """Return a note if weights with this mean are probably not numbers of cases."""
    if 1 / ODD_MEAN <= mean <= ODD_MEAN:
        return []
    return [
        f"weights are treated as numbers of cases, {mean:.6g} for each row: divide them"
        " by that if they are not"
    ]


def _place(key: Label, labels: Sequence[Label]) -> int:
    """Return the position of a label given as a value or as text; -1 if unknown."""
    kind = type(labels[0])
    if isinstance(key, str) and kind is not str:
        try:
            key = PARSE[type_of_labels(labels)]("", key)
        except ValueError:
            return -1
    same = (type(key) is bool) == (kind is bool)  # True is not 1 here
    return labels.index(key) if same and key in labels else -1
