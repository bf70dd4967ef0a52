"""Learning in a database: random tables, stores for tests, comparison of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from treecompile.database import learn as in_database
from treecompile.database.locations import open_table
from treecompile.engines.base import Store
from treecompile.learning.grow.criteria import MEASURES
from treecompile.learning.options import LearnOptions
from treecompile.learning.training import Learned
from treecompile.model.ir import (
    Moments,
    Program,
    Split,
    Tree,
    ValueQuality,
)
from treecompile.tables.options import DataOptions

COLUMNS = DataOptions(target="y")


def random_frame(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "normal": rng.normal(size=rows),
            "tied": np.round(rng.normal(size=rows) * 3, 1),
            "skewed": np.exp(rng.normal(size=rows) * 20),
            "few": rng.integers(0, 5, rows).astype(float),
            "single": rng.random(rows).astype(np.float32).astype(float),
            "text": rng.choice(["x", "y", "z", "o'w", "ä%s"], rows),
            "flag": rng.random(rows) < 0.5,
        }
    )
    signal = frame["normal"].round(1) * 2 + frame["few"] + (frame["text"] == "x") * 2
    classes = int(rng.integers(2, 7))
    y = np.floor(signal + rng.normal(size=rows))
    frame["y"] = np.clip(y, 0, classes - 1).astype(int)
    for name in ("normal", "skewed", "few"):
        frame.loc[rng.random(rows) < 0.1, name] = np.nan
    frame.loc[rng.random(rows) < 0.01, "skewed"] = np.inf
    frame.loc[rng.random(rows) < 0.01, "skewed"] = -np.inf
    frame["text"] = frame["text"].where(rng.random(rows) < 0.95, None)
    return frame


def random_options(rng: np.random.Generator) -> LearnOptions:
    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    return LearnOptions(
        algorithm="cart",
        max_depth=int(rng.integers(1, 7)),
        min_leaf=one_of(1, 5),
        chi2=one_of(None, None, 0.05),
        max_leaves=one_of(None, None, 6),
        min_gain=one_of(0.0, 0.01),
        criterion=one_of("", *MEASURES),
        prune=one_of("none", "cost-complexity"),
    )


def learned_in_database(
    url: str, table: str, columns: DataOptions, options: LearnOptions
) -> Learned:
    with open_table(url, table) as there:
        return in_database.learn(there.store, there.relation, columns, options)


STORES = ("duckdb", "postgres")


class Watched:
    """A store that remembers how many rows its longest result had."""

    def __init__(self, store: Store) -> None:
        self.store, self.longest = store, 0
        self.dialect = store.dialect
        self.columns, self.make = store.columns, store.make
        self.run, self.save = store.run, store.save

    def arrays(self, query: str) -> list[np.ndarray]:
        found = self.store.arrays(query)
        self.longest = max(self.longest, *map(len, found))
        return found


TOLERANCE = 1e-12  # relative; a mean may differ by this share of the deviation


# Absolute tolerance: only r_squared can be 0 here and almost 0 in memory.
SPARED = {
    "mean_absolute_error": 0,
    "root_mean_squared_error": 0,
    "r_squared": 1e-12,
}


def assert_same_regression(there: Program, here: Program) -> None:
    """The same tree of numbers, with figures within the tolerance."""
    assert isinstance(there.body, Tree)
    assert isinstance(here.body, Tree)
    assert there.body.features == here.body.features
    for one, other in zip(there.body.nodes, here.body.nodes, strict=True):
        assert type(one) is type(other)
        if isinstance(one, Split):
            assert isinstance(other, Split)
            assert one.branches == other.branches
            assert one.gain == pytest.approx(other.gain, TOLERANCE, abs=0)
        assert isinstance(one.stats, Moments)
        assert isinstance(other.stats, Moments)
        assert one.stats.weight == other.stats.weight
        assert one.stats.sse == pytest.approx(other.stats.sse, TOLERANCE, abs=0)
        size = max(abs(other.stats.mean), other.stats.deviation or 0.0)
        assert abs(one.stats.mean - other.stats.mean) <= TOLERANCE * size
    assert there.training is not None
    assert here.training is not None
    quality, expected = there.training.quality, here.training.quality
    assert isinstance(quality, ValueQuality)
    assert isinstance(expected, ValueQuality)
    assert quality.rows == expected.rows
    for name in SPARED:
        figure, other = getattr(quality, name), getattr(expected, name)
        if other is None or figure is None:
            assert figure is other
        else:
            assert figure == pytest.approx(other, 1e-9, abs=SPARED[name])
    for mine, tally in zip(there.training.rules, here.training.rules, strict=True):
        assert (mine.matched, mine.decided) == (tally.matched, tally.decided)
        assert mine.errors == pytest.approx(tally.errors, 1e-9, abs=0)
