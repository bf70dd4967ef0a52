"""A part of a large column may show that it is no leak; never the other way round."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from treecompile.learning import leaks
from treecompile.model.ir import Feature, Kind, ValueType
from treecompile.tables.dataset import Dataset

SIZE = 4_000
FEATURE = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def sample(noise: float, kind: str, seed: int) -> Dataset:
    """Labels by a threshold, a share of them by chance."""
    random = np.random.default_rng(seed)
    x = random.normal(size=SIZE)
    if kind == "whole":
        x = np.round(x * 40)
    elif kind == "missing":
        x = np.where(random.random(SIZE) < 0.2, np.nan, x)
    elif kind == "often equal":
        x = np.where(random.random(SIZE) < 0.7, 0.0, x)
    y = (np.nan_to_num(x) > 0.4).astype(np.int32)
    y = np.where(random.random(SIZE) < noise, random.integers(0, 2, SIZE), y)
    return Dataset("y", (FEATURE,), (x,), ("no", "yes"), y, (), "")


def is_leak(data: Dataset, large: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaks, "LARGE", large)
        return leaks._is_leak(data, FEATURE, data.columns[0])


@pytest.mark.parametrize("kind", ["normal", "whole", "missing", "often equal"])
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03, 0.05, 0.1, 0.5, 1.0])
def test_the_verdict_is_that_of_all_rows(noise: float, kind: str) -> None:
    for seed in range(5):
        data = sample(noise, kind, seed)
        assert is_leak(data, large=0) == is_leak(data, large=sys.maxsize)


def test_both_verdicts_occur() -> None:
    assert is_leak(sample(0.0, "normal", 1), large=0)
    assert not is_leak(sample(1.0, "normal", 1), large=0)
