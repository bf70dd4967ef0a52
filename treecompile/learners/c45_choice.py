"""Which feature C4.5 takes at each node of a level, from what all of them offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.ir import Feature, Kind
from treecompile.learners.c45_draft import EPSILON
from treecompile.learners.limits import TIE
from treecompile.learners.stretches import Floats, Mask, Positions

MANY = 0.3  # a feature with values for this share of the cases is many-valued

# From the gains and split informations of all features (on the last axis).
Measure = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How features are compared; nodes are on the first axis, features on the last."""

    counted: Mask  # features whose gain counts in the average
    min_gain: float
    measure: Measure | None
    is_ratio: bool

    def best(self, gains: Floats, splits: Floats, barred: Mask) -> Positions:
        """The feature to be tested at each node, the first at a tie; -1 for none."""
        worth = self.worth(gains, splits)
        worth[barred] = -np.inf
        worth[gains < self.min_gain - TIE] = -np.inf
        chosen = np.full(len(worth), -1)
        bar = np.full(len(worth), -EPSILON)
        for feature in range(worth.shape[1]):
            mine = worth[:, feature]
            better = (mine > -EPSILON) & (mine > bar + TIE)
            chosen[better], bar[better] = feature, mine[better]
        return chosen

    def worth(self, gains: Floats, splits: Floats) -> Floats:
        """What features are compared by; not above -EPSILON for those barred."""
        possible = gains > -EPSILON
        if self.measure is not None:
            return np.where(possible & (splits > 0), self.measure(gains, splits), -1.0)
        if not self.is_ratio:
            return np.where(possible & (splits > 0), gains, -1.0)
        averaged = possible & self.counted
        number = averaged.sum(axis=-1, keepdims=True)
        total = np.where(averaged, gains, 0.0).sum(axis=-1, keepdims=True)
        average = total / np.maximum(number, 1)
        allowed = possible & (gains >= average - EPSILON) & (splits > EPSILON)
        allowed &= number > 0
        ratios: Floats = np.full(gains.shape, -1.0)
        np.divide(gains, splits, out=ratios, where=allowed)
        return ratios


def counted_features(
    features: Sequence[Feature], rows: int, *, is_grouping: bool
) -> Mask:
    """All but many-valued ones, unless there are no others."""
    many = np.array(
        [
            feature.kind is Kind.CATEGORICAL and len(feature.categories) >= MANY * rows
            for feature in features
        ]
    )
    return np.full(len(many), True) if many.all() or is_grouping else ~many
