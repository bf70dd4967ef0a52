"""Features whose gain is left unknown cannot change C4.5's choice."""

from __future__ import annotations

import numpy as np
import pytest

from treecompile.learning.c45.bounded_gains import KnownGains, needed
from treecompile.learning.c45.gain_ratio import FeatureChoice
from treecompile.learning.costs import worth_of


def choice_of(rng: np.random.Generator, features: int) -> FeatureChoice:
    is_ratio = bool(rng.random() < 0.7)
    counted = rng.random(features) < 0.8
    counted[0] = True
    min_gain = float(rng.choice([0.0, 0.05]))
    return FeatureChoice(counted, min_gain, None, is_ratio)


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_that_of_exact_gains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, features = 200, int(rng.integers(1, 7))
    choice = choice_of(rng, features)
    gains = np.exp(rng.normal(-2, 1, (nodes, features)))
    # Ties, gains at the average, and features without a split.
    gains[rng.random(gains.shape) < 0.3] = 0.1
    gains[rng.random(gains.shape) < 0.2] = -np.inf
    splits = rng.choice([1e-4, 0.3, 0.5, 1.0], gains.shape)
    # At first they are known to lie within some bounds, or to be there or not.
    width = np.exp(rng.normal(-4, 2, gains.shape))
    share = rng.random(gains.shape)
    is_there = gains > -np.inf
    low = np.where(is_there, gains - width * share, -np.inf)
    low[low <= 0] = -np.inf
    high = np.where(is_there, gains + width * (1 - share), width)
    has_cut = rng.random(gains.shape) < 0.2
    is_exact = has_cut & (rng.random(gains.shape) < 0.5)
    seen = np.where(has_cut, splits, 1.0)
    low[is_exact], high[is_exact] = gains[is_exact], gains[is_exact]
    asked = 0
    while True:
        find, count = needed(choice, KnownGains(low, high, seen, has_cut, is_exact))
        if not (find | count).any():
            break
        asked += int((find | count).sum())
        assert not (find & has_cut).any()
        has_cut |= find
        seen[find] = splits[find]
        count &= has_cut
        is_exact |= count
        low[count], high[count] = gains[count], gains[count]
    barred = np.zeros(gains.shape, np.bool_)
    chosen = choice.best(low, seen, barred)
    assert chosen.tolist() == choice.best(gains, splits, barred).tolist()
    won = np.flatnonzero(chosen >= 0)
    assert is_exact[won, chosen[won]].all()
    if features > 3:
        assert asked < 2 * gains.size  # not everything is found out


def test_costs_need_everything() -> None:
    measure = worth_of([("a", 2.0)], [])
    choice = FeatureChoice(np.full(2, True), 0.0, measure, True)
    low, high = np.zeros((1, 2)), np.array([[0.1, -np.inf]])
    nothing = np.zeros((1, 2), np.bool_)
    find, count = needed(
        choice, KnownGains(low, high, np.ones((1, 2)), nothing, nothing)
    )
    assert find.tolist() == count.tolist() == [[True, False]]
