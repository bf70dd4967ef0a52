"""Class weights and priors: both multiply the weights of the rows with each label."""

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
PRIOR_SLACK = 1e-6  # by so much the sum of the priors may differ from 1


@dataclass(frozen=True, slots=True)
class Weighting:
    class_weight: LabelNumbers = ()  # 1 for other labels
    is_balanced: bool = False  # every label has the same total weight
    prior: LabelNumbers = ()  # the share of every label

    def __bool__(self) -> bool:
        return bool(self.class_weight or self.is_balanced or self.prior)

    @property
    def option(self) -> str:
        return "--prior" if self.prior else "--class-weight"

    def check(self, data: Dataset) -> None:
        """Refuse labels that do not occur, and numbers that are not weights."""
        if not self:
            return
        if (self.class_weight or self.is_balanced) and self.prior:
            raise OptionError(
                "--prior and --class-weight both weigh the labels: give one of them"
            )
        if not data.labels:
            raise OptionError(
                f"{self.option} is for labels, and the target {data.target!r} is a"
                " number: leave it out, or use --task classify"
            )
        given = self._by_label(data)
        if not self.prior:
            return
        present = set(np.unique(data.y).tolist())
        if lacking := present - given.keys():
            label = data.labels[min(lacking)]
            raise OptionError(f"--prior lacks the label {label!r}: add it")
        if absent := given.keys() - present:
            label = data.labels[min(absent)]
            raise OptionError(f"--prior: no row has the label {label!r}: leave it out")
        total = fsum(given.values())
        if abs(total - 1) > PRIOR_SLACK:
            raise OptionError(
                f"--prior: the priors add up to {total:g}: expected a sum of 1"
            )

    def apply(self, data: Dataset) -> Dataset:
        """Return the dataset with the weights of each label multiplied."""
        if not self:
            return data
        own = np.ones(len(data.y)) if data.weights is None else data.weights
        counts = np.bincount(data.y, minlength=len(data.labels))
        places = range(len(data.labels)) if self.prior else ()
        sums = np.array([fsum(own[data.y == place]) for place in places])
        factors = self.factors(data, counts, sums, fsum(own))
        return replace(data, weights=own * factors[data.y])

    def factors(
        self, data: Dataset, counts: Array, sums: Floats, total: float
    ) -> Floats:
        """Return the factor for the weights of each label.

        `counts` is the number of rows with each label, and `total` the weight of all
        rows. `sums`, needed for priors only, is the weight of the rows with each label.
        """
        factors = np.ones(len(data.labels))
        if self.is_balanced:
            kinds = np.count_nonzero(counts)
            factors = counts.sum() / (kinds * np.maximum(counts, 1))
        elif self.prior:
            # The weights within a label keep their proportions.
            factors = total / np.where(sums > 0, sums, 1.0)
        for place, number in self._by_label(data).items():
            factors[place] *= number
        return factors

    def _by_label(self, data: Dataset) -> dict[int, float]:
        """Return the given numbers by the position of their label."""
        found: dict[int, float] = {}
        for key, number in self.prior or self.class_weight:
            place = _place(key, data.labels)
            if place < 0:
                known = ", ".join(map(str, data.labels[:10]))
                raise OptionError(
                    f"{self.option}: {data.target!r} has no label {key!r}: expected"
                    f" one of {known}" + ", ..." * (len(data.labels) > 10)
                )
            if place in found:
                raise OptionError(f"{self.option} names the label {key!r} twice")
            if not (isfinite(number) and 1e-100 <= number <= 1e100):
                text = f"{key}={number:g}"
                raise OptionError(f"{self.option} {text}: expected a number above 0")
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
