"""Datasets whose numbers bins may treat badly, and learning with and without bins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from treecompile.learning.grow import bin_counts
from treecompile.model.ir import Feature, Kind, ValueType
from treecompile.tables.dataset import Dataset

LARGEST = sys.float_info.max
SIZE = 1_500


@contextmanager
def counting(*, by_bins: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bin_counts, "WORTH_BINS", 0 if by_bins else sys.maxsize)
        patch.setattr(bin_counts, "FEW_IN_BIN", 1)
        patch.setattr(bin_counts, "LAST_LEVELS", 100)
        yield


def numbers(kind: str, random: np.random.Generator) -> Any:
    """A column of numbers that bins may treat badly."""
    x = random.normal(size=SIZE)
    match kind:
        case "heavy tails":
            x = np.exp(20 * x)
        case "often equal":
            x = np.where(random.random(SIZE) < 0.6, 0.25, x)
        case "whole":
            x = np.round(x * 60)
        case "missing":
            x = np.where(random.random(SIZE) < 0.3, np.nan, x)
        case "infinite":
            ends = np.array([-np.inf, -LARGEST, LARGEST, np.inf])
            x = np.where(random.random(SIZE) < 0.5, random.choice(ends, SIZE), x)
        case "neighbours":
            x = np.float64(1.0) + np.spacing(1.0) * random.integers(0, 300, SIZE)
        case "zeros of both signs":
            x = np.where(random.random(SIZE) < 0.4, random.choice([0.0, -0.0], SIZE), x)
        case "one far away":
            x[7] = 1e300
    return x


KINDS = (
    "normal",
    "heavy tails",
    "often equal",
    "whole",
    "missing",
    "infinite",
    "neighbours",
    "zeros of both signs",
    "one far away",
)


def sample(kind: str, labels: int, seed: int, weights: str = "") -> Dataset:
    """Two columns of a kind, which both matter, and a third that does not."""
    random = np.random.default_rng(seed)
    columns = [numbers(kind, random) for _ in range(3)]
    known = [np.nan_to_num(np.clip(column, -3, 3)) for column in columns]
    signal = known[0] + np.sin(3 * known[1]) + random.normal(scale=0.3, size=SIZE)
    names = tuple(f"l{label}" for label in range(labels))
    y: Any = signal
    if labels:
        cuts = np.quantile(signal, np.arange(1, labels) / labels)
        y = np.searchsorted(cuts, signal).astype(np.int32)
    features = tuple(
        Feature(f"x{place}", Kind.NUMERIC, ValueType.FLOAT) for place in range(3)
    )
    given = {
        "": None,
        "whole": random.integers(1, 4, SIZE).astype(np.float64),
        "any": random.random(SIZE) + 0.01,
    }
    data = Dataset("y", features, tuple(columns), names, y, (), "")
    return replace(data, weights=given[weights])
