"""Learning for a user who may only read: without a temporary table, the same tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.engines.databases import postgres_url
from tests.engines.test_in_database import (
    COLUMNS,
    STORES,
    random_frame,
    random_options,
    table_of,
)
from treecompile import training
from treecompile.data import DataOptions
from treecompile.errors import EngineError
from treecompile.in_database import learn as in_database
from treecompile.in_database import refine, work
from treecompile.in_database.levels import NO_TABLE, Listener
from treecompile.in_database.places import open_table
from treecompile.learn_options import LearnOptions
from treecompile.model_file import dumps
from treecompile.stores.base import Store


class Reader:
    """A store that makes nothing."""

    def __init__(self, store: Store) -> None:
        self.dialect, self.phrases = store.dialect, store.phrases
        self.columns, self.arrays = store.columns, store.arrays

    def make(self, name: str, query: str) -> None:
        raise AssertionError(query)

    def discard(self, name: str) -> None:
        raise AssertionError(name)

    def save(self, name: str, query: str) -> None:
        raise AssertionError(name)

    def update(self, statement: str) -> None:
        raise AssertionError(statement)


def read_only(
    url: str, table: str, columns: DataOptions, options: LearnOptions
) -> in_database.LearnedThere:
    with open_table(url, table) as there:
        store = Reader(there.store)
        return in_database.learn(
            store, there.relation, columns, options, temporary_tables=False
        )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("store", STORES)
def test_without_a_table_the_tree_is_that_of_memory(
    store: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    monkeypatch.setattr(work, "SPELT_OUT", 3)  # some codes are looked up by a join
    rng = np.random.default_rng(seed + 100)
    frame = random_frame(rng, 600)
    options = random_options(rng)
    columns = DataOptions(
        target="y", ordinal=(("text", ("z", "ä%s", "y", "o'w", "x")),)
    )
    with table_of(store, frame, tmp_path) as (url, table):
        there = read_only(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", STORES)
def test_the_branches_of_id3_are_those_of_memory(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "SPELT_OUT", 3)
    rng = np.random.default_rng(5)
    texts = {name: rng.choice(list("abcde"), 400) for name in ("v", "n", "node", "c0")}
    frame = pd.DataFrame(texts)
    frame["n"] = frame["n"].where(rng.random(400) < 0.9, None)
    frame["y"] = (
        (frame["v"] + frame["n"].fillna("")).isin(["ab", "cd", "e"]).astype(int)
    )
    columns = DataOptions(target="y", na_values=("e",))
    options = LearnOptions("id3", max_leaves=60)
    with table_of(store, frame, tmp_path) as (url, table):
        there = read_only(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


@pytest.mark.parametrize("store", STORES)
def test_a_chain_is_longer_than_a_case_nests(store: str, tmp_path: Path) -> None:
    rows = 110
    frame = pd.DataFrame({"x": np.arange(float(rows)), "y": np.arange(rows) % 2})
    with table_of(store, frame, tmp_path) as (url, table):
        there = read_only(url, table, COLUMNS, LearnOptions("cart"))
    here = training.learn(frame, COLUMNS, LearnOptions("cart"))
    assert there.program.body == here.program.body
    assert len(there.program.body.nodes) == 2 * rows - 1  # type: ignore[union-attr]


@contextmanager
def role(*settings: str) -> Iterator[str]:
    """A user of the server who may read all tables, and its name."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url(), autocommit=True) as connection:
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        for statement in (
            "CREATE ROLE treecompile_reader LOGIN",
            "GRANT pg_read_all_data TO treecompile_reader",
            *(setting.format(database=database) for setting in settings),
        ):
            connection.execute(statement)
        try:
            yield "treecompile_reader"
        finally:
            connection.execute(f'GRANT TEMPORARY ON DATABASE "{database}" TO PUBLIC')
            connection.execute("DROP OWNED BY treecompile_reader")
            connection.execute("DROP ROLE treecompile_reader")


@pytest.mark.parametrize(
    "setting",
    [
        'REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC',
        "ALTER ROLE treecompile_reader SET default_transaction_read_only = on",
    ],
)
def test_who_may_only_read_is_told_that_it_is_slower(
    setting: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(7), 300)
    options = LearnOptions("cart", max_depth=4)
    said: list[str] = []
    with table_of("postgres", frame, tmp_path) as (url, table), role(setting) as user:
        address = f"{url}{'&' if '?' in url else '?'}user={user}"
        with open_table(address, table) as there:
            found = in_database.learn(
                there.store,
                there.relation,
                COLUMNS,
                options,
                listener=Listener(say=said.append),
            )
    assert said == [NO_TABLE]
    here = training.learn(frame, COLUMNS, options)
    assert found.program.body == here.program.body


def test_who_may_not_read_the_table_is_told_so(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(8), 50)
    revoke = "REVOKE pg_read_all_data FROM treecompile_reader"
    with table_of("postgres", frame, tmp_path) as (url, table), role(revoke) as user:
        address = f"{url}{'&' if '?' in url else '?'}user={user}"
        with (
            pytest.raises(EngineError, match=f"permission denied for table {table}$"),
            open_table(address, table) as there,
        ):
            in_database.learn(there.store, there.relation, COLUMNS, LearnOptions())
