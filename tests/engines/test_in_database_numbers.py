"""A regression tree learned in a database: the splits and figures of memory.

The tolerance is that of docs/databases.md. Targets are of every size,
far from zero, skewed and tied; bins are refined step by step, as in
`test_in_database`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.databases import unavailable
from tests.support.in_database import (
    STORES,
    Watched,
    assert_same_regression,
    learned_in_database,
    random_frame,
)
from tests.support.tables import table_of
from treecompile.database import learn as in_database
from treecompile.database.grow import refine
from treecompile.database.locations import open_files, open_table
from treecompile.database.validation import ValidationInMemory
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import OptionError
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table

COLUMNS = DataOptions(target="y", task="regress")


TARGETS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda y: y,
    "skewed": lambda y: np.exp(3 * y),
    "far from zero": lambda y: y + 1e9,
    "as far as doubles tell apart": lambda y: 2.0**52 + np.floor(y * 3),
    "whole": np.round,
    "tiny": lambda y: y * 1e-300,
    "smallest": lambda y: np.round(y) * 5e-324,
    "large": lambda y: y * 1e145,
    "two sizes": lambda y: np.where(y > 3, 1e12 * y, y),
    "few of much": lambda y: np.where(y > 5, y + 1e15, y),
}


def numbers_frame(rng: np.random.Generator, target: str) -> pd.DataFrame:
    rows = int(rng.choice([50, 500, 3000]))
    frame = random_frame(rng, rows)
    signal = frame["normal"].fillna(0) * 2 + frame["few"].fillna(1)
    signal += (frame["text"] == "x") * 2 + rng.normal(size=rows)
    sizes = np.array(["S", "M", "L"])[rng.integers(0, 3, rows)]
    signal += (sizes != "M") * 0.5
    return frame.assign(y=TARGETS[target](signal), size=sizes)


def random_options(rng: np.random.Generator) -> LearnOptions:
    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    return LearnOptions(
        algorithm="cart",
        max_depth=int(rng.integers(1, 8)),
        min_leaf=one_of(1, 5),
        max_leaves=one_of(None, None, 6),
        min_gain=one_of(0.0, 0.01),
        min_sse=one_of(None, None, 5.0),
        prune=one_of("none", "cost-complexity"),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("store", STORES)
def test_the_tree_is_that_of_memory(
    store: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    rng = np.random.default_rng(len(target))
    frame = numbers_frame(rng, target)
    columns = replace(COLUMNS, ordinal=(("size", ("S", "M", "L")),))
    options = random_options(rng)
    if target in ("tiny", "smallest"):
        options = replace(options, min_gain=0.0, min_sse=None, prune="none")
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert there.notes == here.notes
    assert_same_regression(there.program, here.program)
    assert len(here.program.body.nodes) > 1  # type: ignore[union-attr]


@pytest.mark.engine
def test_spark_gives_the_same_tree(tmp_path: Path) -> None:
    """One small table: each query takes a tenth of a second and more."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        unavailable("spark", error)
    from tests.support.databases import DATABASES

    DATABASES["spark"]()  # starts it as the other tests do
    frame = numbers_frame(np.random.default_rng(0), "skewed")[:300]
    frame = frame[["normal", "text", "y"]]
    frame.to_parquet(tmp_path / "one.parquet")
    options = LearnOptions("cart", prune="none", max_depth=1)
    table = f'parquet."{tmp_path}/one.parquet"'
    there = learned_in_database("spark:local[1]", table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert_same_regression(there.program, here.program)


def test_the_rows_stay_and_every_run_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though DuckDB adds up by several threads, in another order each time."""
    monkeypatch.setattr(refine, "FEW_ROWS", 1000)
    rng = np.random.default_rng(3)
    rows = 150_000
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows) for i in range(3)})
    frame["y"] = frame["x0"] + frame["x1"] ** 2 + np.exp(2 * rng.normal(size=rows))
    frame.to_parquet(tmp_path / "many.parquet")
    options = LearnOptions("cart", prune="none", max_depth=4)
    texts = set()
    for _ in range(2):
        with open_files(str(tmp_path), "200MB") as there:
            watched = Watched(there.store)
            found = in_database.learn(watched, there.relation, COLUMNS, options)
        assert watched.longest <= 20_000  # the sample from which the bins are made
        texts.add(dumps(found.program))
    assert len(texts) == 1
    assert_same_regression(
        found.program, training.learn(frame, COLUMNS, options).program
    )


def test_other_rows_prune_and_measure_it(tmp_path: Path) -> None:
    frame = numbers_frame(np.random.default_rng(1), "plain")
    grown, other = frame[::2], frame[1::2]
    options = LearnOptions("cart", min_leaf=3, prune="reduced-error")
    here = training.learn(grown, COLUMNS, options, other)
    with table_of("duckdb", grown, tmp_path) as where, open_table(*where) as there:
        validation = ValidationInMemory(read_table(other))
        found = in_database.learn(
            *(there.store, there.relation, COLUMNS, options), validation=validation
        )
    assert found.notes == here.notes
    assert_same_regression(found.program, here.program)


@pytest.mark.parametrize("value", [3.0, -0.0, 1e-320])
def test_one_value_is_one_leaf(value: float, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(300.0), "y": np.full(300, value)})
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, COLUMNS, LearnOptions(prune="none"))
    here = training.learn(frame, COLUMNS, LearnOptions(prune="none"))
    assert dumps(there.program) == dumps(here.program)


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"criterion": "entropy"}, "criterion='entropy' is for labels"),
    ({"algorithm": "id3"}, "id3 predicts labels, and the target 'y' is a number"),
    ({"chi2": 0.05}, "chi2 is for task=classify"),
)


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refusals_are_those_of_memory(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame = numbers_frame(np.random.default_rng(4), "plain")[["text", "y"]]
    given = LearnOptions(**{"algorithm": "cart", **options})
    with pytest.raises(OptionError) as expected:
        training.learn(frame, COLUMNS, given)
    with (
        table_of("duckdb", frame, tmp_path) as (url, table),
        pytest.raises(OptionError) as caught,
    ):
        learned_in_database(url, table, COLUMNS, given)
    assert str(caught.value) == str(expected.value)
    assert message in str(caught.value)
