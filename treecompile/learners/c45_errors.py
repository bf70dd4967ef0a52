"""The errors to expect on new cases, by what pessimistic pruning judges a leaf.

The upper end of a confidence interval around the errors seen in training.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from treecompile.learners.stretches import Floats, Positions

LEVELS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0)


def deviate(cf: float) -> float:
    """How many standard deviations a confidence level is, by interpolation."""
    place = max(1, bisect_left(LEVELS, cf))
    low, high = LEVELS[place - 1], LEVELS[place]
    share = (cf - low) / (high - low)
    return DEVIATES[place - 1] + share * (DEVIATES[place] - DEVIATES[place - 1])


def added_errors(cases: Floats, errors: Floats, cf: float) -> Floats:
    """The errors to expect beside those that were seen; cases are above 0."""
    none = cases * (1 - cf ** (1 / cases))
    share = np.where(errors < 1e-6, 0.0, errors)
    result = np.where(share == 0.0, none, none + share * (_some(cases, 1.0, cf) - none))
    return np.where(errors < 0.9999, result, _some(cases, errors, cf))


def _some(cases: Floats, errors: Floats | float, cf: float) -> Floats:
    """The same where errors were seen."""
    z2 = deviate(cf) ** 2
    seen = errors + 0.5
    inside = np.maximum(z2 * (seen * (1 - seen / cases) + z2 / 4), 0.0)
    usual = cases * (seen + z2 / 2 + np.sqrt(inside)) / (cases + z2) - errors
    return np.where(seen >= cases, 0.67 * (cases - errors), usual)


def best_labels(counts: Floats, current: Positions) -> Positions:
    """The most common class of each node; the current one where no other has more."""
    nodes = np.arange(len(counts))
    heaviest = counts.argmax(axis=1)
    return np.where(counts[nodes, heaviest] > counts[nodes, current], heaviest, current)


def leaf_errors(counts: Floats, label: Positions, cf: float) -> Floats:
    """The errors to expect of leaves; none where there are no cases."""
    cases = counts.sum(axis=1)
    errors = cases - counts[np.arange(len(counts)), label]
    expected = errors + added_errors(np.where(cases > 0, cases, 1.0), errors, cf)
    return np.where(cases > 0, expected, 0.0)
