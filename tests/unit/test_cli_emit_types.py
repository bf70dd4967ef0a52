"""`emit --type` and `emit --from`: SQL that relies on the types of the columns."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from tests.support.samples import chain
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType

NAMES = ("age", "Height", "price", "weight")


@pytest.fixture
def model(tmp_path: Path) -> str:
    features = tuple(Feature(n, Kind.NUMERIC, ValueType.FLOAT) for n in NAMES)
    tests = tuple(Condition(n, Op.LE, 40.5, False) for n in range(len(NAMES)))
    path = tmp_path / "model.json"
    Model(chain(features, tests, tuple("abcde"))).save(path)
    return str(path)


@pytest.fixture
def shop(tmp_path: Path) -> str:
    path = tmp_path / "shop.db"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(
            "CREATE TABLE t (AGE INTEGER, height DOUBLE, price DECIMAL(9, 2), w FLOAT)"
        )
    return f"duckdb://{path}"


def emitted(*arguments: str) -> Result:
    sql = ("--to", "sql", "--dialect", "duckdb", "--no-comments")
    return CliRunner().invoke(main, ["emit", *arguments, *sql])


def test_types_that_the_user_declares(model: str) -> None:
    found = emitted(model, "--type", "age=integer", "--type", "Height=double")
    assert found.exit_code == 0, found.output
    assert "WHEN age <= 40 THEN" in found.stdout
    assert "WHEN Height <= 40.5 THEN" in found.stdout
    assert "WHEN CAST(price AS DOUBLE) <= 40.5 THEN" in found.stdout


def test_types_of_the_table(model: str, shop: str) -> None:
    asked = ("--from", shop, "--table", "t", "--column", "weight=w")
    found = emitted(model, *asked)
    assert found.exit_code == 0, found.output
    assert "WHEN age <= 40 THEN" in found.stdout
    assert "WHEN Height <= 40.5 THEN" in found.stdout
    assert "WHEN CAST(price AS DOUBLE) <= 40.5 THEN" in found.stdout
    assert "WHEN CAST(w AS DOUBLE) <= 40.5 THEN" in found.stdout
    found = emitted(model, *asked, "--type", "age=double")
    assert "WHEN age <= 40.5 THEN" in found.stdout


def test_a_column_that_the_table_has_not(model: str, shop: str) -> None:
    found = emitted(model, "--from", shop, "--table", "t")
    assert found.exit_code == 2
    assert "t has no column 'weight': see --column" in found.stderr
    found = emitted(model, "--from", shop)
    assert found.exit_code == 2
    assert "--from needs --table" in found.stderr


def test_columns_of_sqlite_have_no_types(model: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (age INTEGER, Height, price, weight)")
    found = emitted(model, "--from", f"sqlite://{path}", "--table", "t")
    assert found.exit_code == 0, found.output
    assert "CAST(age AS DOUBLE) <= 40.5" in found.stdout
