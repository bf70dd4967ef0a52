"""The verbs from Python, on tables that stay in their database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import treecompile
from treecompile import DataError, EngineError, OptionError, Table


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = range(400)
    return pd.DataFrame(
        {
            "seven": [float(i % 7) for i in rows],
            "three": [f"c{i % 3}" for i in rows],
            "y": ["yes" if i % 7 > 3 and (i % 3 or i % 5 == 0) else "no" for i in rows],
        }
    )


@pytest.fixture
def folder(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events").mkdir()
    for start in (0, 200):
        frame[start : start + 200].to_parquet(tmp_path / "events" / f"{start}.parquet")
    with duckdb.connect("shop.db") as connection:
        connection.execute("CREATE TABLE orders AS FROM 'events/0.parquet'")
        connection.execute("CREATE TABLE later AS FROM 'events/200.parquet'")
    return tmp_path


def learned(data: Any, **options: Any) -> treecompile.Model:
    return treecompile.learn(
        data, target="y", **{"algorithm": "cart", "prune": "none", **options}
    )


def test_every_verb_works_on_a_table(folder: Path, frame: pd.DataFrame) -> None:
    first, second = frame[:200], frame[200:]
    orders, later = (Table("duckdb://shop.db", name) for name in ("orders", "later"))
    here = learned(first, prune="reduced-error", validation=second)
    there = learned(orders, prune="reduced-error", validation=later)
    assert there.program.body == here.program.body
    assert there.notes == here.notes
    assert there.evaluate(later) == here.evaluate(second)
    there.score(orders, "predicted", output="label,rule")
    found = there.evaluate(Table("duckdb://shop.db", "predicted"))
    assert found == here.evaluate(first)


def test_files_by_pattern_are_a_table(folder: Path, frame: pd.DataFrame) -> None:
    here = learned(frame)
    for data in ("events", "events/*.parquet", Path("events")):
        there = learned(data)
        assert there.program.body == here.program.body
        assert there.evaluate(data) == here.evaluate(frame)
    there.score("events", "predicted.parquet")
    made = pd.read_parquet("predicted.parquet")
    assert sorted(made["prediction"]) == sorted(here.predict(frame))
    for rows in (frame, "events/0.parquet"):
        held_out = learned("events/2*.parquet", validation=rows)
        assert held_out.program.training is not None
        assert held_out.program.training.validation is not None


def test_a_connection_of_the_user_is_left_as_it_was(frame: pd.DataFrame) -> None:
    with duckdb.connect() as connection:
        connection.register("orders", frame)
        orders = Table(connection, "orders")
        model = learned(orders, validation=orders)
        assert model.program.body == learned(frame).program.body
        assert model.evaluate(orders) == model.evaluate(frame)
        model.score(orders, "predicted")
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert tables == [("predicted",)]
        with pytest.raises(DataError, match="no column 'nothing'"):
            treecompile.learn(orders, target="nothing")
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_rows_to_validate_by_may_be_elsewhere(
    folder: Path, frame: pd.DataFrame
) -> None:
    expected = learned(frame[:200], validation=frame[200:])
    with duckdb.connect() as connection:
        connection.register("later", frame[200:])
        found = learned(
            Table("duckdb://shop.db", "orders", memory_limit="1GB"),
            validation=Table(connection, "later"),
        )
    assert found.program.training is not None
    assert expected.program.training is not None
    validation = expected.program.training.validation
    assert found.program.training.validation == validation


def test_what_needs_the_rows_says_so(folder: Path, frame: pd.DataFrame) -> None:
    orders = Table("duckdb://shop.db", "orders")
    model = learned(orders)
    with pytest.raises(OptionError, match="not a Table: use score"):
        model.predict(orders)
    with pytest.raises(OptionError, match="cross_validate needs the rows in memory"):
        treecompile.cross_validate(orders, target="y")
    with pytest.raises(OptionError, match="give one of them"):
        model.prune(orders, training=orders)
    with pytest.raises(OptionError, match="prune needs the rows in memory, not a Tab"):
        model.prune(orders)
    with pytest.raises(OptionError, match="the validation rows are a Table"):
        learned(frame, validation=orders)
    with pytest.raises(OptionError, match="only a table in a database"):
        model.score(frame, "predicted")
    with pytest.raises(OptionError, match="a Spark session, not as int"):
        model.evaluate(Table(3, "orders"))
    with duckdb.connect() as connection:
        limited = Table(connection, "orders", memory_limit="1GB")
        with pytest.raises(OptionError, match="memory_limit needs an address"):
            model.evaluate(limited)
    with pytest.raises(EngineError, match="no database file 'none.db'"):
        model.evaluate(Table("duckdb://none.db", "orders"))
