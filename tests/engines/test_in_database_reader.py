"""Learning for a user who may not create a temporary table: the same tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
import psycopg
import pytest

from tests.support.databases import postgres_url
from tests.support.in_database import (
    COLUMNS,
    STORES,
    random_frame,
    random_options,
    read_only,
)
from tests.support.tables import table_of
from treecompile.database import learn as in_database
from treecompile.database.grow import refine, work
from treecompile.database.grow.levels import NO_TABLE, Listener
from treecompile.database.locations import open_table
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import EngineError
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions


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
        there = read_only(url, table, COLUMNS, LearnOptions("cart", prune="none"))
    here = training.learn(frame, COLUMNS, LearnOptions("cart", prune="none"))
    assert there.program.body == here.program.body
    assert len(there.program.body.nodes) == 2 * rows - 1  # type: ignore[union-attr]


@contextmanager
def role(*settings: str) -> Iterator[str]:
    """The name of a user who may read all tables; `settings` may name {user}."""
    user = f"reader_{uuid4().hex}"
    with psycopg.connect(postgres_url(), autocommit=True) as connection:
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        for statement in (
            f"CREATE ROLE {user} LOGIN",
            f"GRANT pg_read_all_data TO {user}",
            *(setting.format(database=database, user=user) for setting in settings),
        ):
            connection.execute(statement.encode())
        try:
            yield user
        finally:
            for statement in (
                f'GRANT TEMPORARY ON DATABASE "{database}" TO PUBLIC',
                f"DROP OWNED BY {user}",
                f"DROP ROLE {user}",
            ):
                connection.execute(statement.encode())


@pytest.mark.parametrize(
    "setting",
    [
        'REVOKE TEMPORARY ON DATABASE "{database}" FROM PUBLIC',
        "ALTER ROLE {user} SET default_transaction_read_only = on",
    ],
)
def test_who_may_only_read_is_told_that_it_is_slower(
    setting: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(7), 300)
    options = LearnOptions("cart", prune="none", max_depth=4)
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
    revoke = "REVOKE pg_read_all_data FROM {user}"
    with table_of("postgres", frame, tmp_path) as (url, table), role(revoke) as user:
        address = f"{url}{'&' if '?' in url else '?'}user={user}"
        with (
            pytest.raises(EngineError, match=f"permission denied for table {table}$"),
            open_table(address, table) as there,
        ):
            in_database.learn(there.store, there.relation, COLUMNS, LearnOptions())
