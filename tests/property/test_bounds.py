"""No cut within a bin gains more than the bound of the bin says."""

from __future__ import annotations

import numpy as np
import pytest

from treecompile.in_database.bounds import BOUNDS
from treecompile.learners.stretches import Floats


def gain(name: str, left: Floats, totals: Floats) -> float:
    """What a cut gains, by the definition of the measure."""
    sides = np.stack([left, totals - left])
    whole = totals.sum()
    weights = sides.sum(axis=1) / whole
    shares = sides / np.maximum(sides.sum(axis=1, keepdims=True), 1)
    if name == "chi-square":
        expected = np.outer(weights, totals)
        kept = expected > 0
        return float((((sides - expected)[kept] ** 2) / expected[kept]).sum() / whole)
    if name == "gini":

        def impurity(p: Floats) -> float:
            return float(1 - (p**2).sum())

    else:

        def impurity(p: Floats) -> float:
            return float(-(p[p > 0] * np.log2(p[p > 0])).sum())

    below = sum(w * impurity(p) for w, p in zip(weights, shares, strict=True))
    return float(impurity(totals / whole) - below)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("name", list(BOUNDS))
def test_no_cut_surpasses_the_bound(name: str, classes: int) -> None:
    rng = np.random.default_rng(classes)
    for _ in range(150):
        most = int(rng.choice([2, 20, 1000]))
        before, inside, after = rng.integers(0, most, (3, classes)) * (
            rng.random((3, classes)) < 0.8
        )
        totals = before + inside + after
        if not inside.any() or np.count_nonzero(totals) < 2:
            continue
        parts = (before, inside, totals)
        (bound,) = BOUNDS[name](*(part[None, :].astype(np.float64) for part in parts))
        order = rng.permutation(np.repeat(np.arange(classes), inside))
        # Cases one by one in random order, and those of one class after another.
        for cases in (order, np.sort(order), np.sort(order)[::-1]):
            for end in np.unique(np.linspace(0, len(cases), 8).astype(int)):
                left = before + np.bincount(cases[:end], minlength=classes)
                if 0 < left.sum() < totals.sum():
                    found = gain(name, left.astype(np.float64), totals.astype(float))
                    assert found <= bound + 1e-9
