"""A tree learned in a database is the tree learned in memory, node for node.

The tables are random, with ties, skew, infinities, categories and missing values. So
few rows would all be fetched by their values, so `FEW_ROWS` is lowered: then the bins
are opened step by step as those of large tables are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.engines.databases import postgres_url
from treecompile import training
from treecompile.data import DataOptions, make_dataset
from treecompile.errors import DataError, EngineError, OptionError, TreecompileError
from treecompile.in_database import learn as in_database
from treecompile.in_database import refine
from treecompile.in_database.levels import Listener
from treecompile.in_database.places import open_files, open_table
from treecompile.in_database.schema import read_schema
from treecompile.learn_options import LearnOptions
from treecompile.learners.criteria import MEASURES
from treecompile.model_file import dumps
from treecompile.read import read_table
from treecompile.stores import open_store
from treecompile.stores.base import Store

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
        prune=one_of("", "cost-complexity"),
    )


TYPES = {"f": "DOUBLE PRECISION", "b": "BOOLEAN", "i": "INTEGER"}


@contextmanager
def table_of(
    store: str, frame: pd.DataFrame, folder: Path
) -> Iterator[tuple[str, str]]:
    """The address of a database with the frame in it, and the name of the table."""
    if store == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        path = folder / "data.db"
        frame.to_parquet(folder / "one.parquet")
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE t AS FROM '{folder}/one.parquet'")
        yield f"duckdb://{path}", "t"
        return
    import psycopg

    url = postgres_url()
    name = f"learned_{folder.name}"
    types = [TYPES.get(frame[c].dtype.kind, "TEXT") for c in frame]
    columns = (f'"{c}" {t}' for c, t in zip(frame, types, strict=True))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})'.encode())
        with connection.cursor().copy(f'COPY "{name}" FROM STDIN'.encode()) as copy:
            for row in frame.itertuples(index=False):
                copy.write_row([None if pd.isna(each) else each for each in row])
        yield url, name
        connection.execute(f'DROP TABLE "{name}"'.encode())


def learned_there(
    url: str, table: str, columns: DataOptions, options: LearnOptions
) -> in_database.LearnedThere:
    with open_table(url, table) as there:
        return in_database.learn(there.store, there.relation, columns, options)


STORES = ("duckdb", "postgres")


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
        there = learned_there(url, table, COLUMNS, options)
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
    options = LearnOptions("cart", max_depth=4, criterion=criterion)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_there(url, table, COLUMNS, options)
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
        there = learned_there(url, table, columns, options)
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


def test_many_files_are_one_table(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    frame = random_frame(np.random.default_rng(2), 900)
    for start in range(0, 900, 300):
        frame[start : start + 300].to_parquet(tmp_path / f"part'{start}.parquet")
    options = LearnOptions(max_depth=3, missing="majority")
    here = training.learn(frame, COLUMNS, options)
    for data in (str(tmp_path), f"{tmp_path}/part*.parquet"):
        with open_files(data, "500MB") as there:
            found = in_database.learn(there.store, there.relation, COLUMNS, options)
        assert found.program.body == here.program.body
        assert found.notes == here.notes


class Watched:
    """A store that remembers the longest answer."""

    def __init__(self, store: Store) -> None:
        self.store, self.longest = store, 0
        self.dialect, self.phrases = store.dialect, store.phrases
        self.columns, self.make = store.columns, store.make
        self.update, self.save = store.update, store.save
        self.discard = store.discard

    def arrays(self, query: str) -> list[np.ndarray]:
        found = self.store.arrays(query)
        self.longest = max(self.longest, *map(len, found))
        return found


def test_moving_rows_is_said_in_few_words(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rng = np.random.default_rng(8)
    names = [f"column{i}" for i in range(12)]
    frame = pd.DataFrame({name: rng.choice(list("abcdefgh"), 2000) for name in names})
    frame["y"] = rng.choice(["yes", "no"], 2000)
    frame.to_parquet(tmp_path / "noise.parquet")
    lengths: list[int] = []
    nodes: list[int] = []
    options = LearnOptions("cart", max_depth=9)
    with open_files(str(tmp_path)) as there:
        watched = Watched(there.store)

        def update(statement: str) -> None:
            lengths.append(len(statement))
            there.store.update(statement)

        watched.update = update
        listener = Listener(lambda level: nodes.append(level.nodes))
        in_database.learn(watched, there.relation, COLUMNS, options, listener=listener)
    # Each node needs its ways out, not those by all other features.
    assert max(nodes) > 50
    assert max(lengths) < 80 * max(nodes)


def test_the_rows_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(refine, "FEW_ROWS", 1000)
    rng = np.random.default_rng(3)
    rows = 150_000
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows) for i in range(3)})
    noise = rng.normal(size=rows)
    frame["y"] = np.where(frame["x0"] + frame["x1"] ** 2 + noise > 1, "a", "b")
    frame.to_parquet(tmp_path / "many.parquet")
    options = LearnOptions("cart", max_depth=4)
    with open_files(str(tmp_path), "200MB") as there:
        watched = Watched(there.store)
        found = in_database.learn(watched, there.relation, COLUMNS, options)
    assert watched.longest <= 20_000  # the sample from which the bins are made
    here = training.learn(frame, COLUMNS, options)
    assert found.program.body == here.program.body


# ---------------------------------------------------------------- the database is left


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_left_as_it_was_found(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(4), 300)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        before = digest(tmp_path / "data.db")
        learned_there(url, table, COLUMNS, LearnOptions(max_depth=2))
        assert digest(tmp_path / "data.db") == before
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"data.db", "one.parquet"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_server_is_left_as_it_was_found(
    error: type[BaseException], tmp_path: Path
) -> None:
    psycopg = pytest.importorskip("psycopg")
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
            for _ in range(100):  # the server ends a session in its own time
                ((left,),) = connection.execute(query).fetchall()
                if not left:
                    break
                connection.execute("SELECT pg_sleep(0.05)")
            assert left == 0


@pytest.mark.parametrize("store", STORES)
def test_a_table_of_the_same_name_is_not_touched(store: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(6), 300)
    options = LearnOptions("cart", max_depth=3)
    here = training.learn(frame, COLUMNS, options)
    with table_of(store, frame, tmp_path) as (url, table):
        if store == "duckdb":
            duckdb = pytest.importorskip("duckdb")
            make = partial(duckdb.connect, url.removeprefix("duckdb://"))
        else:
            psycopg = pytest.importorskip("psycopg")
            make = partial(psycopg.connect, url)
        with make() as connection:
            connection.execute(
                f'CREATE TABLE treecompile_rows AS SELECT * FROM "{table}"'
            )
            if store == "postgres":
                connection.commit()
        try:
            there = learned_there(url, "treecompile_rows", COLUMNS, options)
            with make() as connection:
                query = "SELECT count(*) FROM treecompile_rows"
                assert connection.execute(query).fetchall() == [(300,)]
        finally:
            with make() as connection:
                connection.execute("DROP TABLE treecompile_rows")
    assert there.program.body == here.program.body


def test_a_lost_connection_is_one_line(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    frame = random_frame(np.random.default_rng(4), 300)
    with table_of("postgres", frame, tmp_path) as (url, table):

        def lose(settled: int) -> None:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                    " AND query LIKE '%treecompile_rows%'"
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
    ({}, {"algorithm": "c45", "one_hot_all": True}, "--one-hot-all needs the rows"),
    ({}, {"algorithm": "c45", "max_leaves": 3}, "--max-leaves is for --algorithm cart"),
    ({}, {"algorithm": "c45", "costs": (("x", 1.0),)}, "there is no column 'x'"),
    ({}, {"algorithm": "c5"}, "--algorithm 'c5': there are"),
    ({"weights": "single"}, {"algorithm": "c45"}, "use --algorithm cart in a da"),
    ({}, {"algorithm": "c45", "balanced": True}, "--class-weight needs the rows"),
    ({}, {"one_hot_all": True}, "--one-hot-all needs the rows"),
    ({}, {"algorithm": "cart", "subset": True}, "--subset needs the rows"),
    ({}, {"algorithm": "cart", "costs": (("few", 1.0),)}, "--costs needs the rows"),
    ({}, {"validation_fraction": 0.5}, "--validation-fraction needs the rows"),
    (
        {},
        {"algorithm": "cart", "predict_missing": "fractional"},
        "--predict-missing needs the rows",
    ),
    ({}, {"prune": "cost-complexity", "alpha": "cv"}, "--alpha cv needs the rows"),
    ({}, {"criterion": "nonsense"}, "--criterion 'nonsense': c45 has gain-ratio"),
    (
        {},
        {"algorithm": "cart", "prune": "pessimistic"},
        "--prune 'pessimistic': cart has none",
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
        learned_there(url, table, replace(COLUMNS, **columns), LearnOptions(**options))
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
            DataError, match="column 'd' holds (date|DATE) values: encode"
        ):
            read_schema(opened, relation, COLUMNS)
        with pytest.raises(EngineError, match="none_such"):
            read_schema(opened, "none_such", COLUMNS)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mongodb://x", "expected duckdb://FILE, postgresql://..., spark:, sqlite:"),
        ("duckdb", "expected duckdb://FILE"),
        ("duckdb://none.db", "'none.db': there is no such database file"),
        ("postgresql://127.0.0.1:1/x", "cannot connect to PostgreSQL: "),
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
        learned_there(url, table, COLUMNS, LearnOptions())


def test_what_goes_wrong_as_rows_are_fetched_is_one_line() -> None:
    pytest.importorskip("duckdb")
    late = "CAST(CASE WHEN i = 2900000 THEN 'x' ELSE '1' END AS INTEGER)"
    with (
        open_store("duckdb://") as store,
        pytest.raises(EngineError, match="^DuckDB: Conversion Error: [^\n]*$"),
    ):
        store.arrays(f"SELECT {late} FROM range(3000000) AS r(i)")


def test_nothing_but_the_model_goes_to_standard_output() -> None:
    """DuckDB shows there how long its queries take, unless it is told not to."""
    pytest.importorskip("duckdb")
    with open_store("duckdb://") as store:
        (shown,) = store.arrays("SELECT current_setting('enable_progress_bar')")
    assert shown.tolist() == [False]
