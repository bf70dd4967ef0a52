"""A tree learned in a database is the tree learned in memory, node for node.

The tables are random, with ties, skew, infinities, categories and missing values.
Values of so few rows would all be fetched, so `FEW_ROWS` is lowered: then bins are
refined step by step, as for large tables.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from tests.support.in_database import (
    COLUMNS,
    STORES,
    Watched,
    learned_in_database,
    random_frame,
    random_options,
)
from tests.support.tables import table_of
from treecompile.database import learn as in_database
from treecompile.database.grow import refine
from treecompile.database.locations import open_files, open_table
from treecompile.database.schema import read_schema
from treecompile.engines.addresses import open_store
from treecompile.learning import training
from treecompile.learning.grow.criteria import MEASURES
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import (
    DataError,
    EngineError,
    OptionError,
    TreecompileError,
)
from treecompile.model.file.write import dumps
from treecompile.tables.dataset import make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("store", STORES)
def test_the_model_is_that_of_memory(
    store: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, int(rng.choice([50, 500, 3000])))
    options = random_options(rng)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert dumps(there.program) == dumps(here.program)
    assert there.notes == here.notes


@pytest.mark.parametrize("criterion", MEASURES)
@pytest.mark.parametrize("classes", [2, 6])
def test_every_measure_finds_the_cuts_of_memory(
    criterion: str, classes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(classes), 2000)
    y = frame["normal"].fillna(0) * 2 + np.random.default_rng(0).normal(size=2000)
    frame["y"] = np.clip(np.floor(y + classes / 2), 0, classes - 1).astype(int)
    options = LearnOptions("cart", prune="none", max_depth=4, criterion=criterion)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("criterion", ["", "gain-ratio", "distance"])
@pytest.mark.parametrize("store", STORES)
def test_id3_has_a_branch_for_every_category(
    store: str, criterion: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(5), 800)[["few", "text", "flag", "y"]]
    frame["size"] = np.where(frame["few"] > 2, "large", "small")
    columns = replace(COLUMNS, ignore=("few",), ordinal=(("size", ("small", "large")),))
    options = LearnOptions(algorithm="id3", criterion=criterion, chi2=0.2)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", STORES)
def test_columns_mean_what_they_mean_in_memory(store: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = random_frame(rng, 400)
    frame["number"] = np.arange(400)
    frame["key"] = [f"k{i}" for i in range(400)]
    frame["same"] = "only"
    frame["code"] = rng.integers(0, 9, 400)
    frame["y"] = np.where(frame["y"] > 1, "yes", "no")
    frame.loc[3, "y"] = None
    frame.loc[4, "y"] = "?"
    frame["nothing"] = pd.Series([None] * 400, dtype=object)
    columns = replace(
        COLUMNS,
        na_values=("?", "z"),
        categorical=("code",),
        labels=("yes", "no", "never"),
        ignore=("flag",),
    )
    with table_of(store, frame, tmp_path) as (url, table), open_store(url) as opened:
        schema = read_schema(opened, f'"{table}"', columns)
    dataset = make_dataset(read_table(frame), columns)
    assert schema.features == dataset.features
    assert schema.labels == dataset.labels
    assert schema.notes == dataset.notes
    assert schema.summaries == dataset.summaries()
    assert schema.rows == len(dataset.y) == 398


@pytest.mark.parametrize("store", STORES)
def test_what_is_odd_is_said_as_in_memory(store: str, tmp_path: Path) -> None:
    rows = 150
    frame = pd.DataFrame(
        {
            "many": [f"m{i % 90}" for i in range(rows)],
            "town": [f"t{i % 40}" for i in range(rows)],
            "almost": [str(i % 9) if i % 49 else "it's?" for i in range(rows)],
            "unknown": ["?" if i % 7 == 0 else "ab"[i % 2] for i in range(rows)],
            "blank": [" " if i % 7 == 0 else "c" for i in range(rows)],
            "order_id": [3 * i for i in range(rows)],
            "y": [float(i % 3) if i % 10 else np.nan for i in range(rows)],
        }
    )
    with table_of(store, frame, tmp_path) as (url, table), open_store(url) as opened:
        schema = read_schema(opened, f'"{table}"', COLUMNS)
    dataset = make_dataset(read_table(frame), COLUMNS)
    assert schema.features == dataset.features
    assert schema.labels == dataset.labels == (0.0, 1.0, 2.0)
    assert schema.notes == dataset.notes
    said = [note for note in dataset.notes if not note.startswith(("task", "rows"))]
    assert len(said) == 2, said


def test_a_column_with_too_many_categories_is_left_out(tmp_path: Path) -> None:
    values = [f"v{i // 3}" for i in range(30_003)]
    frame = pd.DataFrame({"many": values, "x": np.arange(30_003) % 5})
    frame["y"] = frame["x"] % 2
    with table_of("duckdb", frame, tmp_path) as (url, table), open_store(url) as opened:
        schema = read_schema(opened, f'"{table}"', COLUMNS)
        asked = replace(COLUMNS, categorical=("many",))
        with pytest.raises(DataError, match="'many': it has 10,001 categories"):
            read_schema(opened, f'"{table}"', asked)
    dataset = make_dataset(read_table(frame), COLUMNS)
    assert schema.features == dataset.features
    assert schema.notes == dataset.notes
    assert "'many' is left out: it has 10,001 categories" in schema.notes[-1]


@pytest.mark.parametrize("store", STORES)
def test_booleans_may_be_read_as_numbers(store: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(2), 200)
    frame["y"] = np.where(frame["flag"], frame["y"], 0)  # so that some split is on it
    columns = replace(COLUMNS, numeric=("flag",))
    options = LearnOptions(algorithm="cart", prune="none", max_depth=3)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


def test_many_files_are_one_table(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(2), 900)
    for start in range(0, 900, 300):
        frame[start : start + 300].to_parquet(tmp_path / f"part'{start}.parquet")
    options = LearnOptions("cart", max_depth=3, prune="none")
    here = training.learn(frame, COLUMNS, options)
    for data in (str(tmp_path), f"{tmp_path}/part*.parquet"):
        with open_files(data, "500MB") as there:
            found = in_database.learn(there.store, there.relation, COLUMNS, options)
        assert found.program.body == here.program.body
        assert found.notes == here.notes


def test_moving_rows_is_said_in_few_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    names = [f"column{i}" for i in range(12)]
    frame = pd.DataFrame({name: rng.choice(list("abcdefgh"), 2000) for name in names})
    frame["y"] = rng.choice(["yes", "no"], 2000)
    frame.to_parquet(tmp_path / "noise.parquet")
    lengths: list[int] = []
    nodes: list[int] = []
    options = LearnOptions("cart", prune="none", max_depth=9)
    with open_files(str(tmp_path)) as there:
        watched = Watched(there.store)

        def make(name: str, query: str) -> None:
            lengths.append(len(query))
            there.store.make(name, query)

        watched.make = make
        in_database.learn(
            *(watched, there.relation, COLUMNS, options),
            on_level=lambda level: nodes.append(level.nodes),
        )
    # Each node needs its ways out, not those by all other features.
    assert max(nodes) > 50
    assert max(lengths) < 80 * max(nodes)


def test_the_rows_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 1000)
    rng = np.random.default_rng(3)
    rows = 150_000
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows) for i in range(3)})
    noise = rng.normal(size=rows)
    frame["y"] = np.where(frame["x0"] + frame["x1"] ** 2 + noise > 1, "a", "b")
    frame.to_parquet(tmp_path / "many.parquet")
    options = LearnOptions("cart", prune="none", max_depth=4)
    with open_files(str(tmp_path), "200MB") as there:
        watched = Watched(there.store)
        found = in_database.learn(watched, there.relation, COLUMNS, options)
    assert watched.longest <= 20_000  # the sample from which the bins are made
    here = training.learn(frame, COLUMNS, options)
    assert found.program.body == here.program.body


NAMES = {
    "normal": "{name}",
    "tied": "a}",
    "skewed": "{0}",
    "few": "{}",
    "single": "{x.__class__}",
    "text": "{value!r:>{x}}",
    "flag": "%(x)s {",
    "y": "{y[0]}",
}


@pytest.mark.parametrize("store", ["duckdb", "postgres"])
def test_braces_in_names_are_only_text(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(3), 300).rename(columns=NAMES)
    frame["{y[0]}"] = "{" + frame["{y[0]}"].astype(str) + "}"
    columns = DataOptions("{y[0]}")
    options = LearnOptions("cart", prune="none")
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("column", ["x", "y"])
def test_integers_that_doubles_confuse_are_no_labels(
    column: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": [1, 2, 1], "y": [0, 1, 0]})
    frame[column] += 2**53 + 1
    columns = replace(COLUMNS, categorical=("x",))
    with (
        table_of("duckdb", frame, tmp_path) as (url, table),
        pytest.raises(DataError, match=rf"'{column}' has integers beyond 2\^53"),
    ):
        learned_in_database(url, table, columns, LearnOptions())


# ---------------------------------------------------------------- the database is left


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_left_as_it_was_found(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(4), 300)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        before = digest(tmp_path / "data.db")
        learned_in_database(url, table, COLUMNS, LearnOptions(max_depth=2))
        assert digest(tmp_path / "data.db") == before
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"data.db", "t.parquet"}


@pytest.mark.engine
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_server_is_left_as_it_was_found(
    error: type[BaseException], tmp_path: Path
) -> None:
    import psycopg

    frame = random_frame(np.random.default_rng(4), 300)

    def stop(settled: int) -> None:
        raise error

    with table_of("postgres", frame, tmp_path) as (url, table):
        with pytest.raises(error), open_table(url, table) as there:
            in_database.learn(
                there.store,
                there.relation,
                COLUMNS,
                LearnOptions(),
                progress=lambda rows: stop,
            )
        with psycopg.connect(url) as connection:
            query = "SELECT count(*) FROM pg_class WHERE relname = 'treecompile_rows'"
            for _ in range(2000):  # the server takes its time to end a session
                ((left,),) = connection.execute(query).fetchall()
                if not left:
                    break
                connection.execute("SELECT pg_sleep(0.05)")
            assert left == 0


@pytest.mark.parametrize("store", STORES)
def test_a_table_of_the_same_name_is_not_touched(store: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(6), 300)
    options = LearnOptions("cart", prune="none", max_depth=3)
    here = training.learn(frame, COLUMNS, options)
    with table_of(store, frame, tmp_path) as (url, table):
        if store == "duckdb":
            make: partial[Any] = partial(duckdb.connect, url.removeprefix("duckdb://"))
        else:
            import psycopg

            make = partial(psycopg.connect, url)
        with make() as connection:
            connection.execute(
                f'CREATE TABLE treecompile_rows AS SELECT * FROM "{table}"'
            )
            if store == "postgres":
                connection.commit()
        try:
            there = learned_in_database(url, "treecompile_rows", COLUMNS, options)
            with make() as connection:
                query = "SELECT count(*) FROM treecompile_rows"
                assert connection.execute(query).fetchall() == [(300,)]
        finally:
            with make() as connection:
                connection.execute("DROP TABLE treecompile_rows")
    assert there.program.body == here.program.body


@pytest.mark.engine
def test_a_lost_connection_is_one_line(tmp_path: Path) -> None:
    import psycopg

    frame = random_frame(np.random.default_rng(4), 300)
    with table_of("postgres", frame, tmp_path) as (url, table):

        def lose(settled: int) -> None:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                    " AND query LIKE '%treecompile_rows%'"
                    " AND datname = current_database()"
                )

        with (
            pytest.raises(EngineError, match="^PostgreSQL: ") as caught,
            open_table(url, table) as there,
        ):
            in_database.learn(
                there.store,
                there.relation,
                COLUMNS,
                LearnOptions(),
                progress=lambda rows: lose,
            )
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- refusals


REFUSED: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({}, {"algorithm": "c5"}, "algorithm='c5': expected id3"),
    ({}, {"algorithm": "c45"}, "c45 learns in memory; in a database use cart or id3"),
    ({}, {"one_hot": ("few",)}, "one_hot needs the rows"),
    ({"weights": "single"}, {}, "weights needs the rows"),
    ({}, {"class_weight": (("0", 2.0),)}, "class_weight needs the rows"),
    ({}, {"algorithm": "cart", "subset": True}, "subset is for algorithm=c45"),
    ({}, {"algorithm": "cart", "costs": (("few", 1.0),)}, "costs is for algo"),
    ({}, {"validation_fraction": 0.5}, "validation_fraction needs the rows"),
    ({}, {"prune": "cost-complexity", "alpha": "cv"}, "alpha=cv needs the rows"),
    ({}, {"criterion": "nonsense"}, "criterion='nonsense': expected gini"),
    (
        {},
        {"algorithm": "cart", "prune": "pessimistic"},
        "prune='pessimistic': expected cost-complexity",
    ),
    ({}, {"algorithm": "id3"}, "id3 needs categories, and column 'normal'"),
    ({"target": "none"}, {}, "no column 'none'"),
    ({"categorical": ("normal",)}, {}, "a category is text, an integer or a boolean"),
)


@pytest.mark.parametrize(("columns", "options", "message"), REFUSED)
def test_refusals_say_what_to_do(
    columns: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(4), 100)
    with (
        table_of("duckdb", frame, tmp_path) as (url, table),
        pytest.raises(TreecompileError) as caught,
    ):
        learned_in_database(
            url, table, replace(COLUMNS, **columns), LearnOptions(**options)
        )
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("store", STORES)
def test_a_type_that_cannot_be_learned_from_is_named(
    store: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(4), 50)
    with table_of(store, frame, tmp_path) as (url, table), open_store(url) as opened:
        relation = f"(SELECT y, CAST('2020-01-01' AS DATE) AS d FROM \"{table}\") AS q"
        with pytest.raises(
            DataError, match="column 'd' holds (date|DATE) values: convert"
        ):
            read_schema(opened, relation, COLUMNS)
        with pytest.raises(EngineError, match="none_such"):
            read_schema(opened, "none_such", COLUMNS)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mongodb://x", "expected duckdb://FILE, postgresql://..., spark:, sqlite:"),
        ("duckdb", "expected duckdb://FILE"),
        ("duckdb://none.db", "no database file 'none.db'"),
        pytest.param(
            "postgresql://127.0.0.1:1/x",
            "cannot connect to PostgreSQL: ",
            marks=pytest.mark.engine,
        ),
    ],
)
def test_an_address_without_a_database_is_one_line(url: str, message: str) -> None:
    with pytest.raises(TreecompileError) as caught, open_store(url):
        pass
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_limit_of_memory_is_for_duckdb() -> None:
    with pytest.raises(OptionError, match="for DuckDB"), open_store("spark:", "1GB"):
        pass
    wrong = open_store("duckdb://", "much")
    with pytest.raises(EngineError, match="cannot start DuckDB: "), wrong:
        pass


def test_no_rows_are_nothing_to_learn_from(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(4), 50)[:0]
    with (
        table_of("duckdb", frame, tmp_path) as (url, table),
        pytest.raises(DataError, match="nothing to learn from"),
    ):
        learned_in_database(url, table, COLUMNS, LearnOptions())


def test_what_goes_wrong_as_rows_are_fetched_is_one_line() -> None:
    late = "CAST(CASE WHEN i = 2900000 THEN 'x' ELSE '1' END AS INTEGER)"
    with (
        open_store("duckdb://") as store,
        pytest.raises(EngineError, match="^DuckDB: Conversion Error: [^\n]*$"),
    ):
        store.arrays(f"SELECT {late} FROM range(3000000) AS r(i)")


def test_nothing_but_the_model_goes_to_standard_output() -> None:
    """DuckDB shows there how long its queries take, unless it is told not to."""
    with open_store("duckdb://") as store:
        (shown,) = store.arrays("SELECT current_setting('enable_progress_bar')")
    assert shown.tolist() == [False]
