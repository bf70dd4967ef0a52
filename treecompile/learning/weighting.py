"""Class weights and priors: both multiply the weights of the rows of each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite

import numpy as np

from treecompile.learning.options import LabelNumbers
from treecompile.model.arrays import Array, Floats
from treecompile.model.errors import OptionError
from treecompile.model.ir import Label
from treecompile.model.semantics import type_of_labels
from treecompile.tables.columns import PARSE
from treecompile.tables.dataset import Dataset

ODD_MEAN = 10.0  # a mean weight above this, or below 1 / this, gets a note
PRIOR_SLACK = 1e-6  # by which the sum of the priors may differ from 1


@dataclass(frozen=True, slots=True)
class Weighting:
    class_weight: LabelNumbers = ()  # 1 for other labels
    is_balanced: bool = False  # every label has the same total weight
    prior: LabelNumbers = ()  # the share of every label

    def __bool__(self) -> bool:
        return bool(self.class_weight or self.is_balanced or self.prior)

    def check(self, data: Dataset) -> None:
        """Refuse labels that do not occur, and numbers that are not weights."""
        option = "--prior" if self.prior else "--class-weight"
        if (self.class_weight or self.is_balanced) and self.prior:
            raise OptionError(
                "--prior says how much each label counts: leave out --class-weight"
            )
        if not data.labels:
            raise OptionError(
                f"{option} is for labels, and the target {data.target!r} is a number:"
                " leave it out, or use --task classify"
            )
        given = _by_label(self.prior or self.class_weight, data, option)
        if not self.prior:
            return
        for place in np.unique(data.y).tolist():
            if place not in given:
                label = data.labels[place]
                raise OptionError(f"--prior lacks the label {label!r}: add it")
        absent = given.keys() - set(np.unique(data.y).tolist())
        if absent:
            label = data.labels[min(absent)]
            raise OptionError(f"--prior: no row has the label {label!r}")
        total = fsum(given.values())
        if abs(total - 1) > PRIOR_SLACK:
            raise OptionError(f"--prior: the priors add up to {total:g}, not to 1")

    def apply(self, data: Dataset) -> Dataset:
        """The dataset with weighted rows."""
        if not self:
            return data
        own = np.ones(len(data.y)) if data.weights is None else data.weights
        counts = np.bincount(data.y, minlength=len(data.labels))
        factors = self.factors(data, counts, self._sums(data, own), fsum(own))
        return replace(data, weights=own * factors[data.y])

    def _sums(self, data: Dataset, own: Floats) -> Floats:
        """The total weight of each label, if needed, in any order of the rows."""
        if not self.prior:
            return np.zeros(len(data.labels))
        places = range(len(data.labels))
        return np.array([fsum(own[data.y == place]) for place in places])

    def factors(
        self, data: Dataset, counts: Array, sums: Floats, total: float
    ) -> Floats:
        """What to multiply the weights of each label by.

        `counts` and `sums` are the rows and the weight of each label, `total` is the
        weight of all rows.
        """
        size = len(data.labels)
        factors = np.ones(size)
        if self.is_balanced:
            kinds = np.count_nonzero(counts)
            factors = counts.sum() / (kinds * np.maximum(counts, 1))
        elif self.prior:
            # The weights within a label keep their proportions.
            factors = total / np.where(sums > 0, sums, 1.0)
            factors *= _array(_by_label(self.prior, data, "--prior"), size)
        elif self.class_weight:
            given = _by_label(self.class_weight, data, "--class-weight")
            factors *= _array(given, size)
        return factors


def odd_scale(data: Dataset) -> list[str]:
    """A note if the weights are probably not numbers of cases."""
    return [] if data.weights is None else odd_mean(float(data.weights.mean()))


def odd_mean(mean: float) -> list[str]:
    """The same from the mean of the weights."""
    if 1 / ODD_MEAN <= mean <= ODD_MEAN:
        return []
    return [
        f"weights are treated as numbers of cases, {mean:.6g} for each row: divide them"
        " by that if they are not"
    ]


def _array(given: dict[int, float], size: int) -> Floats:
    return np.array([given.get(place, 1.0) for place in range(size)])


def _by_label(given: LabelNumbers, data: Dataset, option: str) -> dict[int, float]:
    """The numbers by the position of their label."""
    found: dict[int, float] = {}
    for key, number in given:
        place = _place(key, data.labels)
        if place < 0:
            known = ", ".join(map(str, data.labels[:10]))
            raise OptionError(
                f"{option}: {data.target!r} has no label {key!r}: there are {known}"
                + ", ..." * (len(data.labels) > 10)
            )
        if place in found:
            raise OptionError(f"{option} names the label {key!r} twice")
        if not (isfinite(number) and 1e-100 <= number <= 1e100):
            raise OptionError(f"{option} {key}={number:g}: expected a number above 0")
        found[place] = number
    return found


def _place(key: Label, labels: Sequence[Label]) -> int:
    """The position of a label, given as a value or as text; -1 if there is none."""
    kind = type(labels[0])
    if isinstance(key, str) and kind is not str:
        try:
            key = PARSE[type_of_labels(labels)]("", key)
        except ValueError:
            return -1
    same = (type(key) is bool) == (kind is bool)  # True is not 1 here
    return labels.index(key) if same and key in labels else -1
