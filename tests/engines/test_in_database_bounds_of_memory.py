"""What is fetched of a feature is bounded, whatever the data: no result is long.

The constants are lowered, so that small tables are treated like huge ones. The tree
must be the one learned in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.in_database import (
    Watched,
    assert_same_regression,
    learned_in_database,
    random_frame,
)
from tests.support.tables import table_of
from treecompile.database import learn as in_database
from treecompile.database import schema
from treecompile.database.grow import counting, refine, source, work
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.locations import open_table
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions
from treecompile.tables.roles import MOST_LABELS

ROWS = 3000
FEW, SAMPLED = 40, 300


def skewed(rng: np.random.Generator) -> np.ndarray:
    """Values that no even parts tell apart: each is a thousandth of the next."""
    sizes = np.exp(rng.normal(size=ROWS)) * 1000.0 ** rng.integers(-90, 90, ROWS)
    signed: np.ndarray = sizes * rng.choice([-1, 1], ROWS)
    return signed


def crowded(rng: np.random.Generator) -> np.ndarray:
    """Nearly all values in a range that a few others make a point of."""
    x = 1 + rng.random(ROWS) * 1e-12
    x[:20] = rng.normal(size=20) * 1e12
    return x


FEATURES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "skewed": skewed,
    "crowded": crowded,
    "even": lambda rng: rng.random(ROWS),
    "infinite": lambda rng: np.where(
        rng.random(ROWS) < 0.1, rng.choice([-np.inf, np.inf], ROWS), rng.random(ROWS)
    ),
    "pairs": lambda rng: np.repeat(np.arange(ROWS / 2), 2),
}


def answers(kind: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "as good everywhere":  # no cut of the pairs gains anything
        return np.tile([0, 1], ROWS // 2)
    if kind == "noise":
        return rng.integers(0, 3, ROWS)
    if kind == "noisy numbers":
        return np.exp(rng.normal(size=ROWS))
    # The best of nearly equal cuts is somewhere in the crowd.
    half = np.argsort(np.argsort(x)) > ROWS // 2
    return np.where(rng.random(ROWS) < 0.3, rng.integers(0, 2, ROWS), half)


KINDS = ("as good everywhere", "noise", "noisy numbers", "half")


CASES = [
    *(("duckdb", feature, kind) for feature in FEATURES for kind in KINDS),
    *(("postgres", "crowded", kind) for kind in ("noise", "noisy numbers")),
]


@pytest.mark.parametrize(("store", "feature", "kind"), CASES)
def test_no_answer_is_long(
    store: str, feature: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("FEW_ROWS", FEW),
        ("FEW_ENOUGH", FEW),
        ("MOST_BINS", 150),
        ("AT_ONCE", 3),
        ("ROUNDS", 2),
        ("FINER", 8),
    ):
        monkeypatch.setattr(refine, name, value)
    monkeypatch.setattr(counting, "FINER", 8)
    monkeypatch.setattr(work, "SAMPLED", SAMPLED)
    monkeypatch.setattr(schema, "SAMPLE_ROWS", SAMPLED)
    rng = np.random.default_rng(len(feature) + len(kind))
    x = FEATURES[feature](rng)
    y = answers(kind, x, rng)
    frame = pd.DataFrame({"x": x, "other": rng.random(ROWS).round(1), "y": y})
    columns = DataOptions(
        "y", task="regress" if kind == "noisy numbers" else "classify"
    )
    options = LearnOptions("cart", prune="none", max_depth=2, min_leaf=3)
    with (
        table_of(store, frame, tmp_path) as (url, table),
        open_table(url, table) as there,
    ):
        watched = Watched(there.store)
        found = in_database.learn(watched, there.relation, columns, options)
    here = training.learn(frame, columns, options)
    if kind == "noisy numbers":
        assert_same_regression(found.program, here.program)
    else:
        assert dumps(found.program) == dumps(here.program)
    classes = max(1, len(here.program.body.labels))
    bins = 2 * 241  # at two nodes
    assert watched.longest <= max(bins * classes, MOST_LABELS + 1)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_nodes_are_counted_some_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as have room; of the others' cells only the two sides are kept."""
    room = 241 + 1
    monkeypatch.setattr(source, "MOST_BINS", room * 5)
    rng = np.random.default_rng(8)
    frame = random_frame(rng, 900)[["normal", "few", "text", "flag", "skewed", "y"]]
    if kind == "numbers":
        frame["y"] = frame["normal"].fillna(0) * 2 + rng.normal(size=900)
    columns = DataOptions("y", task="regress" if kind == "numbers" else "classify")
    options = LearnOptions("cart", prune="none", min_leaf=2)
    held: list[int] = []
    joined = BinHistogram.joined

    def watched(parts: Sequence[BinHistogram]) -> BinHistogram:
        held.append(len(parts))
        return joined(parts)

    monkeypatch.setattr(BinHistogram, "joined", watched)
    here = training.learn(frame, columns, options)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        found = learned_in_database(url, table, columns, options)
    assert max(held) > 1
    if kind == "numbers":
        assert_same_regression(found.program, here.program)
    else:
        assert dumps(found.program) == dumps(here.program)
