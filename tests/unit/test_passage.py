"""How sorted columns follow the cases to the next level, and objects made in bulk."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from treecompile.learning.c45.fractional_cases import CaseDescent
from treecompile.learning.grow.build import make
from treecompile.model.ir import Condition, Op


@pytest.mark.parametrize("branches", [2, 3, 300])
@pytest.mark.parametrize("copies", [False, True])
def test_an_order_is_kept_in_every_branch(branches: int, copies: bool) -> None:
    random = np.random.default_rng(branches)
    size = 2_000
    order = random.permutation(size).astype(np.int32)
    # Where each case goes: nowhere, to one branch, or to several.
    goes = [
        set(random.choice(branches, random.integers(0, 3 if copies else 2), False))
        for _ in range(size)
    ]
    reached = [
        [case for case in range(size) if branch in goes[case]]
        for branch in range(branches)
    ]
    origin = np.array([case for cases in reached for case in cases])
    bounds = np.cumsum([len(cases) for cases in reached])
    followed = CaseDescent.of(origin, size, bounds).follow(order)
    expected = [
        case for branch in range(branches) for case in order if branch in goes[case]
    ]
    assert origin[followed].tolist() == expected
    starts = bounds - [len(cases) for cases in reached]
    for start, end in zip(starts, bounds, strict=True):
        assert ((followed[start:end] >= start) & (followed[start:end] < end)).all()


def test_nothing_is_left_of_an_empty_order() -> None:
    descent = CaseDescent.of(np.array([0, 1, 1]), 2, np.array([2, 3]))
    assert len(descent.follow(np.zeros(0, np.int32))) == 0


def test_what_is_made_in_bulk_is_like_the_rest() -> None:
    made = make(Condition, 2, [0, 1], [Op.LE] * 2, [0.5, 1.5], [True, False])
    assert made == [Condition(0, Op.LE, 0.5, True), Condition(1, Op.LE, 1.5, False)]
    assert hash(made[0]) == hash(Condition(0, Op.LE, 0.5, True))
    with pytest.raises(FrozenInstanceError):
        made[0].feature = 3  # type: ignore[misc]
