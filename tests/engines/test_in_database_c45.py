"""C4.5 in a database grows and prunes the same tree as in memory.

Structure, tests and thresholds are the same. So are all digits of the figures,
unless cases are divided: then the weights are added in another order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from tests.support.c45_reference import SETS
from tests.support.databases import DATABASES, unavailable
from tests.support.in_database import (
    COLUMNS,
    STORES,
    StoppedError,
    assert_same_tree,
    learned_in_database,
    random_frame,
    read_only,
    run_journalled,
)
from tests.support.reference import read_table
from tests.support.tables import table_of
from treecompile.database.grow import refine
from treecompile.database.learn import learn
from treecompile.engines.duckdb import DuckDB
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.file.read import loads as parse
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions


def random_c45(rng: np.random.Generator) -> LearnOptions:
    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    return LearnOptions(
        algorithm="c45",
        max_depth=one_of(None, 3, 6),
        min_split=one_of(2, 20),
        min_leaf=one_of(None, 1, 5),
        min_gain=one_of(0.0, 0.0, 0.01),
        chi2=one_of(None, None, 0.05),
        criterion=one_of("", "", "gain"),
        prune=one_of("", "", "none", "cost-complexity"),
        cf=one_of(0.25, 0.25, 0.05, 0.9),
        missing=one_of("", "", "majority"),
        predict_missing=one_of("branch", "branch", "fractional"),
        subset=one_of(False, False, True),
        costs=one_of((), (), (("normal", 3.0),)),
    )


def random_table(rng: np.random.Generator, sizes: list[int]) -> pd.DataFrame:
    frame = random_frame(rng, int(rng.choice(sizes)))
    # Neighbours here are often too close to be told apart.
    frame["close"] = np.round((frame["normal"] + rng.normal(size=len(frame))) * 700)
    frame["close"] *= 4e-6
    frame["size"] = np.where(frame["few"] > 2, "large", "small")
    frame.loc[frame["few"] == 2, "size"] = "medium"
    if rng.random() < 0.4:
        frame = frame.dropna().reset_index(drop=True)
    return frame


ORDINAL = DataOptions(target="y", ordinal=(("size", ("small", "medium", "large")),))


@pytest.mark.parametrize("seed", range(12))
def test_the_model_is_that_of_memory(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare("duckdb", seed, [50, 300, 600], tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(100, 104))
def test_so_it_is_in_postgres(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare("postgres", seed, [60, 200], tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(200, 206))
def test_so_it_is_in_sqlite(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare("sqlite", seed, [60, 300], tmp_path, monkeypatch)


def compare(
    store: str,
    seed: int,
    sizes: list[int],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    rng = np.random.default_rng(seed)
    frame, options = random_table(rng, sizes), random_c45(rng)
    with table_of(store, frame, folder) as (url, table):
        there = learned_in_database(url, table, ORDINAL, options)
    here = training.learn(frame, ORDINAL, options)
    assert_same_tree(there.program, here.program)
    assert there.notes == here.notes
    if options.missing == "majority" or not frame.isna().any(axis=None):
        assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", [*STORES, "sqlite", "mariadb"])
def test_a_deep_tree_without_missing_values_is_pruned(
    store: str, tmp_path: Path
) -> None:
    """One query sends rows through many tests, one after the other."""
    frame = random_frame(np.random.default_rng(3), 2000).dropna()
    frame = frame[["normal", "tied", "single", "text", "y"]]
    options = LearnOptions("c45")
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("prune", ["", "none"])
def test_who_may_only_read_gets_the_same_tree(
    store: str, prune: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(8), 300)[["normal", "few", "text", "y"]]
    options = LearnOptions("c45", max_depth=4, prune=prune, subset=True)
    with table_of(store, frame, tmp_path) as (url, table):
        there = read_only(url, table, COLUMNS, options)
    assert_same_tree(there.program, training.learn(frame, COLUMNS, options).program)


@pytest.mark.parametrize("store", STORES)
def test_every_level_can_be_the_last_of_a_run(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(11), 300)
    frame = frame[["normal", "skewed", "few", "text", "y"]]
    options = LearnOptions("c45", max_depth=5, subset=True)
    state = tmp_path / "model.json.state"
    with table_of(store, frame, tmp_path) as where:
        whole, said, _ = run_journalled(where, state, options)
        assert said == []
        state.unlink()  # who writes the model removes it
        for level in range(2, 6):
            with pytest.raises(StoppedError):
                run_journalled(where, state, options, level=level)
        found, said, _ = run_journalled(where, state, options)
        assert found == whole  # sums of weights are the same in any order
        assert said[0].startswith(f"resuming at level 5, from {state}; remove")
    assert_same_tree(parse(whole), training.learn(frame, COLUMNS, options).program)


def test_tables_that_pruning_makes_go_with_what_they_are_for() -> None:
    made: list[str] = []

    class Counting(DuckDB):
        def make(self, name: str, query: str) -> None:
            super().make(name, query)
            made.append(name)
            most.append(len(self.made))

    most: list[int] = []
    frame = random_frame(np.random.default_rng(5), 2000)
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        store = Counting(connection, duckdb.Error)
        options = LearnOptions("c45")
        there = learn(store, "rows", COLUMNS, options).program
        assert store.made == {"treecompile_rows"}
    assert len(made) > 2 * max(most)  # many are made, few are there at once
    assert_same_tree(there, training.learn(frame, COLUMNS, options).program)


def test_so_it_is_in_spark(tmp_path: Path) -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        unavailable("spark", error)
    DATABASES["spark"]()  # starts it as the other tests do
    frame = random_frame(np.random.default_rng(3), 300)[["normal", "y"]]
    frame.to_parquet(tmp_path / "one.parquet")
    options = LearnOptions("c45", max_depth=2)
    table = f'parquet."{tmp_path}/one.parquet"'
    there = learned_in_database("spark:local[1]", table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert_same_tree(there.program, here.program)


@pytest.mark.parametrize("name", SETS)
def test_the_sets_of_the_reference_program(name: str, tmp_path: Path) -> None:
    given = read_table(name)
    columns = DataOptions("class", task="classify", labels=tuple(given.labels))
    frame = given.train.astype(
        {c: object for c in given.train if given.train[c].dtype.kind not in "fi"}
    )
    options = LearnOptions("c45", predict_missing="fractional")
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert_same_tree(there.program, here.program)
