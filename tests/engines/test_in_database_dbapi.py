"""SQLite and MariaDB: their tables are evaluated and scored, but not learned from."""

from __future__ import annotations

import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.support.in_database import COLUMNS, learned_in_database, random_frame
from tests.support.tables import table_of
from treecompile.api.model import Model
from treecompile.database.evaluate import evaluate
from treecompile.database.locations import open_table
from treecompile.engines.addresses import open_store
from treecompile.engines.sqlite import SQLite
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import EngineError, OptionError, TreecompileError


@pytest.mark.parametrize(
    ("store", "name"), [("sqlite", "SQLite"), ("mariadb", "MariaDB")]
)
def test_learning_is_for_other_databases(store: str, name: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(4), 20)[["few", "y"]]
    said = f"{name} does not learn: learn from a file, or in DuckDB"
    with (
        table_of(store, frame, tmp_path) as (url, table),
        pytest.raises(OptionError, match=said),
    ):
        learned_in_database(url, table, COLUMNS, LearnOptions())


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
    frame = random_frame(np.random.default_rng(4), 300)
    program = training.learn(frame, COLUMNS, LearnOptions("cart")).program
    with table_of("sqlite", frame, tmp_path) as (url, table):
        before = (tmp_path / "data.sqlite").read_bytes()
        with open_table(url, table) as there:
            found = evaluate(there.store, there.relation, program)
    assert found == Model(program).evaluate(frame)
    assert [path.name for path in tmp_path.iterdir()] == ["data.sqlite"]
    assert (tmp_path / "data.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://none.db", "no database file 'none.db'"),
        ("sqlite:", "no database file ''"),
        pytest.param(
            "mysql://me:secret@127.0.0.1:1/x",
            "connect to mysql://me@127.0.0.1:1/x: ",
            marks=pytest.mark.engine,
        ),
        ("mysql://me:secret@host", "from=mysql://me@host: name the database"),
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
    frame = random_frame(np.random.default_rng(20), 3)
    with table_of("sqlite", frame, tmp_path) as (url, _), open_store(url) as store:
        assert isinstance(store, SQLite)
        # A builtin method, so that the signal cannot interrupt the function itself.
        store.connection.create_function("in_query", 0, in_query.release)
        sender = threading.Thread(target=interrupt)
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            store.arrays(long)  # which takes minutes if nothing ends it
        sender.join()
