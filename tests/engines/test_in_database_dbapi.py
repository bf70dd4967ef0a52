"""Learning in the databases whose drivers follow the DB-API: SQLite and MariaDB."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest

from tests.support.in_database import (
    COLUMNS,
    StoppedError,
    learned_in_database,
    random_frame,
    random_options,
    run_journalled,
)
from tests.support.tables import table_of
from treecompile.api.model import Model
from treecompile.database.grow import refine
from treecompile.database.grow.query_writer import QueryWriter
from treecompile.database.locations import open_table
from treecompile.database.schema import read_schema
from treecompile.database.score import score
from treecompile.engines.addresses import open_store
from treecompile.engines.base import NoTemporaryTableError
from treecompile.engines.sqlite import SQLite
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import (
    DataError,
    EngineError,
    OptionError,
    TreecompileError,
)
from treecompile.model.file.write import dumps
from treecompile.model.ir import Tree
from treecompile.tables.dataset import make_dataset
from treecompile.tables.read import read_table

STORES = ("sqlite", "mariadb")


def frame_for(store: str, seed: int, rows: int) -> pd.DataFrame:
    frame = random_frame(np.random.default_rng(seed), rows)
    if store == "mariadb":  # no infinity, and a boolean is a small number
        frame["skewed"] = frame["skewed"].replace({np.inf: 1.7e308, -np.inf: -1.7e308})
        frame["flag"] = frame["flag"].astype(int)
    return frame


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("store", STORES)
def test_the_model_is_that_of_memory(
    store: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    rng = np.random.default_rng(seed)
    frame = frame_for(store, seed, int(rng.choice([50, 500, 2000])))
    options = random_options(rng)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert dumps(there.program) == dumps(here.program)
    assert there.notes == here.notes


@pytest.mark.parametrize("store", STORES)
def test_id3_has_a_branch_for_every_category(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 5, 800)[["few", "text", "y"]]
    frame["size"] = np.where(frame["few"] > 2, "large", "small")
    # More categories than are spelt out, which differ by case and blanks alone.
    rng = np.random.default_rng(5)
    many = [f"{letter}{blank}" for letter in "abcdefghABCDEFGH" for blank in ("", " ")]
    many += [f"k{n}" for n in range(40)]
    frame["many"] = rng.choice(many, 800)
    columns = replace(COLUMNS, ignore=("few",), ordinal=(("size", ("small", "large")),))
    options = LearnOptions(algorithm="id3", chi2=0.5, max_depth=3)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", STORES)
def test_numbers_are_learned(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 3, 300).drop(columns="skewed")
    columns, options = replace(COLUMNS, target="single"), LearnOptions(max_depth=3)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options).program.body
    here = training.learn(
        frame, columns, replace(options, algorithm="cart", prune="none")
    )
    assert isinstance(there, Tree)
    assert isinstance(here.program.body, Tree)
    assert branches_of(there) == branches_of(here.program.body)


def branches_of(tree: Tree) -> list[Any]:
    return [getattr(node, "branches", ()) for node in tree.nodes]


@pytest.mark.parametrize("store", STORES)
def test_predictions_are_made_in_the_database(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 7, 300)
    learned = training.learn(
        frame, COLUMNS, LearnOptions("cart", prune="none", max_depth=5)
    )
    with table_of(store, frame, tmp_path) as (url, table):
        with open_table(url, table, writes=True) as there:
            score(learned.program, there, "predicted")
        with open_store(url) as opened:
            found = opened.arrays("SELECT y, prediction FROM predicted")
    pairs = zip(frame["y"], Model(learned.program).predict(frame), strict=True)
    counted = Counter((int(y), int(p)) for y, p in zip(*found, strict=True))
    assert counted == Counter((int(y), int(p)) for y, p in pairs)


@pytest.mark.parametrize("store", STORES)
def test_columns_mean_what_they_mean_in_memory(store: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = frame_for(store, 1, 400)
    frame["number"] = np.arange(400)
    frame["same"] = "only"
    frame["code"] = rng.integers(0, 9, 400)
    frame["y"] = np.where(frame["y"] > 1, "yes", "no")
    frame.loc[3, "y"] = None
    frame.loc[4, "y"] = "?"
    columns = replace(
        COLUMNS,
        na_values=("?", "z"),
        categorical=("code",),
        labels=("yes", "no", "never"),
        ignore=("single",),
    )
    with table_of(store, frame, tmp_path) as (url, table), open_store(url) as opened:
        schema = read_schema(opened, table, columns)
    dataset = make_dataset(read_table(frame), columns)
    assert schema.features == dataset.features
    assert schema.labels == dataset.labels
    assert schema.notes == dataset.notes
    assert schema.summaries == dataset.summaries()


@pytest.mark.parametrize("store", STORES)
def test_what_no_table_has_is_one_line(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 2, 40)
    with (
        table_of(store, frame, tmp_path) as (url, _),
        pytest.raises(EngineError, match="none_such") as caught,
    ):
        learned_in_database(url, "none_such", COLUMNS, LearnOptions())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("store", STORES)
def test_a_table_of_the_same_name_is_not_touched(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 6, 300).drop(columns="flag")
    options = LearnOptions("cart", prune="none", max_depth=3)
    here = training.learn(frame, COLUMNS, options)
    with table_of(store, frame, tmp_path) as (url, table):
        with open_store(url, writes=True) as opened:
            opened.update(f"CREATE TABLE treecompile_rows AS SELECT * FROM {table}")
        there = learned_in_database(url, "treecompile_rows", COLUMNS, options)
        with open_store(url) as opened:
            (left,) = opened.arrays("SELECT count(*) FROM treecompile_rows")
    assert left.tolist() == [300]
    assert there.program.body == here.program.body


# ---------------------------------------------------------------- SQLite


MIXED = (
    ("n", "INTEGER", [1, 2, "three"], "holds mixed (integer and text) values: convert"),
    ("b", "BLOB", [b"1", b"2", None], "holds blob values: convert them"),
    ("d", "DATE", ["2020-01-01", None, None], "holds DATE values: convert"),
)


@pytest.mark.parametrize(("name", "kind", "values", "message"), MIXED)
def test_sqlite_is_asked_what_its_columns_hold(
    name: str, kind: str, values: list[Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"CREATE TABLE t (`{name}` {kind}, y TEXT)")
        file.executemany("INSERT INTO t VALUES (?, 'a')", [(v,) for v in values])
    with pytest.raises(DataError) as caught:
        learned_in_database(f"sqlite://{path}", "t", COLUMNS, LearnOptions())
    assert f"column '{name}' {message}" in str(caught.value)


def test_sqlite_columns_without_a_type_have_that_of_their_values(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE t (whole, mixed, `ba``d`, f BOOLEAN, g BOOLEAN)")
        rows = [(1, 1, "a", 0, 0), (2, 2.5, "b", 1, 2), (None, 3, None, None, 1)]
        file.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    with open_store(f"sqlite://{path}") as opened:
        found = {column.name: column.type for column in opened.columns("t")}
    assert found == {
        "whole": "integer",
        "mixed": "real",
        "ba`d": "text",
        "f": "boolean",
        "g": "integer",
    }


def test_a_sqlite_file_is_left_as_it_was_found(tmp_path: Path) -> None:
    frame = frame_for("sqlite", 4, 300)
    with table_of("sqlite", frame, tmp_path) as (url, table):
        before = (tmp_path / "data.sqlite").read_bytes()
        learned_in_database(url, table, COLUMNS, LearnOptions(max_depth=2))
    assert [path.name for path in tmp_path.iterdir()] == ["data.sqlite"]
    assert (tmp_path / "data.sqlite").read_bytes() == before


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 255, 300, 5000])
def test_a_list_may_be_spelt_by_comparisons(size: int, tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    values = [n * 7 % 11 for n in range(size)]
    with open_store(f"sqlite://{tmp_path}/empty.sqlite") as store:
        item = QueryWriter(store).item(map(str, values), "place")
        places = " UNION ALL VALUES " + ", ".join(f"({n + 2})" for n in range(size - 1))
        rows = f"SELECT 1 AS place{places if size > 1 else ''}"
        (found,) = store.arrays(f"SELECT {item} FROM ({rows}) ORDER BY place")
    assert found.tolist() == values


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://none.db", "no database file 'none.db'"),
        ("sqlite:", "no database file ''"),
        ("mysql://me:secret@127.0.0.1:1/x", "connect to mysql://me@127.0.0.1:1/x: "),
        ("mysql://me:secret@host", "--from mysql://me@host: name the database"),
    ],
)
def test_an_address_without_a_database_is_one_line(url: str, message: str) -> None:
    with pytest.raises(TreecompileError) as caught, open_store(url):
        pass
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look at" * 9)
    wrong = open_store(f"sqlite://{tmp_path}/text")
    with pytest.raises(EngineError, match="cannot open .*not a database"), wrong:
        pass


@pytest.mark.parametrize("url", ["sqlite://x", "mysql://me@host/x"])
def test_a_limit_of_memory_is_for_duckdb(url: str) -> None:
    with pytest.raises(OptionError, match="for DuckDB"), open_store(url, "1GB"):
        pass


def test_without_the_right_to_temporary_tables_it_goes_on(tmp_path: Path) -> None:
    frame = frame_for("mariadb", 8, 200)
    options = LearnOptions("cart", prune="none", max_depth=3)
    with table_of("mariadb", frame, tmp_path) as (url, table):
        user, database = f"r{uuid4().hex}", urlsplit(url).path.strip("/")
        with open_store(url, writes=True) as opened:
            opened.update(f"CREATE USER `{user}`@localhost")
            opened.update(f"GRANT SELECT ON `{database}`.* TO `{user}`@localhost")
        try:
            reader = url.replace("root@", f"{user}@")
            with open_store(reader) as opened, pytest.raises(NoTemporaryTableError):
                opened.make("some", "SELECT 1 AS one")
            there = learned_in_database(reader, table, COLUMNS, options)
        finally:
            with open_store(url, writes=True) as opened:
                opened.update(f"DROP USER `{user}`@localhost")
    here = training.learn(frame, COLUMNS, options)
    assert there.program.body == here.program.body


@pytest.mark.parametrize("store", STORES)
def test_a_run_goes_on_unless_the_rows_have_changed(store: str, tmp_path: Path) -> None:
    frame = frame_for(store, 19, 200)[["normal", "few", "text", "y"]]
    other = frame.copy()
    known = frame.dropna()
    places = pd.Index([known["y"].idxmin(), known["y"].idxmax()])
    other.loc[places, "normal"] = frame.loc[places[::-1], "normal"].to_numpy()
    options = LearnOptions("cart", prune="none", max_depth=4)
    state = tmp_path / "state"
    with table_of(store, frame, tmp_path) as where:
        with pytest.raises(StoppedError):
            run_journalled(where, state, options, level=3)
        kept = state.read_bytes()
        found, said, _ = run_journalled(where, state, options)
    assert said[0].startswith("resuming at level 3")
    assert found == dumps(training.learn(frame, COLUMNS, options).program)
    state.write_bytes(kept)
    (tmp_path / "data.sqlite").unlink(missing_ok=True)
    with table_of(store, other, tmp_path) as where:
        found, said, _ = run_journalled(where, state, options)
    assert "is from before the rows" in said[0]
    assert found == dumps(training.learn(other, COLUMNS, options).program)


def test_ctrl_c_ends_a_query_of_sqlite(tmp_path: Path) -> None:
    """The query calls a function of ours, and the signal comes after that."""
    in_query = threading.Lock()
    in_query.acquire()

    def interrupt() -> None:
        with in_query:
            signal.raise_signal(signal.SIGINT)

    long = (
        "WITH RECURSIVE n(i) AS (SELECT coalesce(in_query(), 0) UNION ALL"
        " SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"
    )
    frame = frame_for("sqlite", 20, 3)
    with table_of("sqlite", frame, tmp_path) as (url, _), open_store(url) as store:
        assert isinstance(store, SQLite)
        # A builtin method, so that the signal cannot interrupt the function itself.
        store.connection.create_function("in_query", 0, in_query.release)
        sender = threading.Thread(target=interrupt)
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            store.arrays(long)  # which takes minutes if nothing ends it
        sender.join()
