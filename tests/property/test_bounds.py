"""No cut within a bin gains more than the bound of the bin."""

from __future__ import annotations

import numpy as np
import pytest

from treecompile.learning.grow.bounds import label_bound, squares_bound
from treecompile.learning.grow.criteria import MEASURES
from treecompile.model.arrays import Floats


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
    gained = impurity(totals / whole) - below
    if name == "gain-ratio":
        return float(gained / impurity(weights))
    if name == "distance":
        return float(gained / impurity(sides.ravel() / whole))
    return float(gained)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("name", list(MEASURES))
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
        counts = [part[None, :].astype(np.float64) for part in parts]
        (bound,) = label_bound(name, *counts)
        order = rng.permutation(np.repeat(np.arange(classes), inside))
        # Cases one by one in random order, and those of one class after another.
        for cases in (order, np.sort(order), np.sort(order)[::-1]):
            for end in np.unique(np.linspace(0, len(cases), 8).astype(int)):
                left = before + np.bincount(cases[:end], minlength=classes)
                if 0 < left.sum() < totals.sum():
                    found = gain(name, left.astype(np.float64), totals.astype(float))
                    assert found <= bound + 1e-9


@pytest.mark.parametrize("kind", ["normal", "skewed", "two values", "whole"])
def test_no_cut_lessens_the_variance_by_more_than_the_bound(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(80):
        sizes = rng.integers(0, [4, 30, 300][rng.integers(3)], 3)
        sizes[1] += 2
        parts = [rng.normal(rng.normal(), size=int(size)) for size in sizes]
        if kind == "skewed":
            parts = [np.exp(4 * part) for part in parts]
        elif kind == "two values":
            parts = [(part > 0).astype(float) for part in parts]
        elif kind == "whole":
            parts = [np.round(part * 3) for part in parts]
        y = np.concatenate(parts)
        y -= y.mean()
        before, inside = y[: sizes[0]], y[sizes[0] : sizes[0] + sizes[1]]
        told = [[float(len(each)), each.sum()] for each in (before, inside, y)]
        spread = [[inside.min(), inside.max(), (inside**2).sum()]]
        first, middle, whole = (np.array([each]) for each in told)
        (bound,) = squares_bound(first, middle, np.array(spread), whole)
        scale = max(float(y.var()), 1e-300)
        # Cases one by one in random order, upwards and downwards.
        for cases in (inside, np.sort(inside), np.sort(inside)[::-1]):
            for end in range(len(cases) + 1):
                left = np.concatenate([before, cases[:end]])
                right = np.concatenate([cases[end:], y[sizes[0] + sizes[1] :]])
                if not len(left) or not len(right):
                    continue
                rest = (left.var() * len(left) + right.var() * len(right)) / len(y)
                assert y.var() - rest <= bound + 1e-9 * scale


def test_the_bound_of_variance_is_no_more_than_it_need_be() -> None:
    """A bin in the middle of noise: far below all that its range would allow."""
    y = np.random.default_rng(0).normal(size=24_000)
    inside = y[12_000:12_100]
    told = [[float(len(each)), each.sum()] for each in (y[:12_000], inside, y)]
    spread = [[inside.min(), inside.max(), (inside**2).sum()]]
    first, middle, whole = (np.array([each]) for each in told)
    (bound,) = squares_bound(first, middle, np.array(spread), whole)
    # Half of the bin above its mean, half below: deviation times half its cases.
    shift = abs(y[:12_000].sum()) + inside.std() * len(inside) / 2
    assert bound <= 1.1 * (shift / len(y)) ** 2 * 4
