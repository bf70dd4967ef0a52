"""How many bits a rule costs, and how many the cases that a set of rules gets wrong.

The description length of c4.5rules: to send the labels of the training cases, send the
rules, then name the exceptions among the cases that they take and among the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns
from treecompile.ir import Condition, Feature, Kind
from treecompile.semantics import members

Doubles = NDArray[np.float64]

NEVER = 1e6  # bits for what was said to be impossible
NEAR = 1e-6


def log2_factorial(number: int) -> float:
    return lgamma(number + 1) / log(2)


class RuleCoding:
    """The bits of conditions and rules over a training set."""

    def __init__(self, features: Sequence[Feature], tests: Sequence[float]) -> None:
        self.features, self.tests = features, tests
        shares = [bits / sum(self.tests) for bits in self.tests if bits]
        self.choice = sum(share * log2(1 / share) for share in shares)

    def rule(self, conditions: Sequence[Condition]) -> float:
        """A rule: its conditions, whose order says nothing."""
        count = len(conditions)
        bits = sum(self.choice + self._condition(c) for c in conditions)
        return bits + log2(count) - log2_factorial(count)

    def _condition(self, condition: Condition) -> float:
        feature = self.features[condition.feature]
        if feature.kind is Kind.CATEGORICAL and len(members(condition)) != 1:
            return float(len(feature.categories))  # of a group: each value is in or out
        return self.tests[condition.feature]


def bits_of_tests(features: Sequence[Feature], columns: Columns) -> list[float]:
    """The bits of a test of each feature, from the columns of the training cases."""
    return [
        0.0 if column is None else _test_bits(feature, column)
        for feature, column in zip(features, columns, strict=True)
    ]


def _test_bits(feature: Feature, column: NDArray[Any]) -> float:
    if feature.kind is Kind.CATEGORICAL:
        known = column[(column >= 0) & (column < len(feature.categories))]
        return category_bits(np.bincount(known), len(column))
    return threshold_bits(len(np.unique(column)))  # where NaN, or code -1, is one


def category_bits(counts: NDArray[Any], rows: int) -> float:
    """Of a test of a category, of which there are so many in so many rows."""
    counts = counts[counts > 0]
    return float((counts / rows * np.log2(rows / counts)).sum())


def threshold_bits(values: int) -> float:
    """Of a threshold among so many values, the missing one counted with them."""
    return 1 + log2(values) / 2 if values > 1 else 0.0


def exception_bits(
    cases: int, taken: Doubles, false_positives: Doubles, false_negatives: Doubles
) -> Doubles:
    """The bits that name the wrong ones among the cases taken, and among the rest."""
    taken, wrong, missed = map(np.atleast_1d, (taken, false_positives, false_negatives))
    half = (wrong + missed) / 2
    most = taken > cases / 2
    inside = _named(taken, wrong, np.where(most, half, wrong))
    outside = _named(cases - taken, missed, np.where(most, missed, half))
    return np.asarray(log2(cases) + inside + outside, np.float64)


def _named(cases: Doubles, wrong: Doubles, expected: Doubles) -> Doubles:
    """The bits that name so many wrong ones where so many are expected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = expected / cases
        bits = -wrong * np.log2(share) - (cases - wrong) * np.log2(1 - share)
    none, every = expected < NEAR, expected > cases - NEAR
    bits = np.where(every, np.where(wrong == cases, 0.0, NEVER), bits)
    return np.where(none, np.where(wrong == 0, 0.0, NEVER), bits)
