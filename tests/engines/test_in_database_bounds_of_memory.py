"""What is fetched of a feature is bounded, whatever the data: no result is long.

The constants are lowered, so that small tables are treated like huge ones. The tree
must be the one learned in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.in_database import (
    STORES,
    assert_same_regression,
    learned_in_database,
    random_frame,
)
from tests.support.tables import table_of
from treecompile.database import learn as in_database
from treecompile.database.grow import counting, refine, source
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.work import WorkTable
from treecompile.database.locations import open_table
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions

ROWS = 3000
FEW, MORE, AT_ONCE, FINER = 40, 150, 3, 8


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("feature", FEATURES)
def test_no_answer_is_long(
    feature: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_bounded("duckdb", feature, kind, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", ["noise", "noisy numbers"])
def test_no_answer_of_a_server_is_long(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "postgres" in STORES
    assert_bounded("postgres", "crowded", kind, tmp_path, monkeypatch)


def assert_bounded(
    store: str, feature: str, kind: str, folder: Path, patch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("FEW_ROWS", FEW),
        ("FEW_ENOUGH", FEW),
        ("MOST_BINS", MORE),
        ("AT_ONCE", AT_ONCE),
        ("ROUNDS", 2),
    ):
        patch.setattr(refine, name, value)
    patch.setattr(refine, "FINER", FINER)
    patch.setattr(counting, "FINER", FINER)
    rng = np.random.default_rng(len(feature) + len(kind))
    x = FEATURES[feature](rng)
    y = answers(kind, x, rng)
    frame = pd.DataFrame({"x": x, "other": rng.random(ROWS).round(1), "y": y})
    columns = DataOptions(
        "y", task="regress" if kind == "noisy numbers" else "classify"
    )
    options = LearnOptions("cart", prune="none", max_depth=2, min_leaf=3)
    asked: list[int] = []
    held: list[int] = []
    lines: list[int] = []
    ask, gathered = counting._within, counting._gathered
    opened = BinHistogram.opened

    def watched(*arguments: Any) -> Any:
        lines.clear()
        found = ask(*arguments)
        asked.append(sum(lines))
        return found

    def watched_lines(work: WorkTable, keys: Any, group: Any, *rest: Any) -> Any:
        lines.append(len(group))
        return gathered(work, keys, group, *rest)

    def counted(self: BinHistogram, *arguments: object) -> BinHistogram:
        cells = opened(self, *arguments)  # type: ignore[arg-type]
        held.append(len(cells.node))
        return cells

    patch.setattr(counting, "_within", watched)
    patch.setattr(counting, "_gathered", watched_lines)
    patch.setattr(BinHistogram, "opened", counted)
    with (
        table_of(store, frame, folder) as (url, table),
        open_table(url, table) as there,
    ):
        found = in_database.learn(there.store, there.relation, columns, options)
    here = training.learn(frame, columns, options)
    if kind == "noisy numbers":
        assert_same_regression(found.program, here.program)
    else:
        assert dumps(found.program) == dumps(here.program)
    assert asked
    classes = max(1, len(here.program.body.labels))
    # Parts of cells by class, and the ends of each range, which are cells of their own.
    assert max(asked) <= max(FEW * classes, AT_ONCE * (FINER + 2) * classes)
    bins = 2 * 241  # at two nodes
    assert max(held) <= bins + MORE + FEW + AT_ONCE * FINER


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
