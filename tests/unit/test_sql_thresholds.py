"""Thresholds in SQL: plain numbers where they are exact, else a form that is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from math import inf, nextafter
from random import Random

import duckdb
import pytest

from tests.support.samples import balanced, stump
from treecompile.emit.compiler import emit
from treecompile.emit.literals import plain_number
from treecompile.emit.options import EmitOptions

WRITTEN = [
    (40.0, "40", "40"),
    (-3.0, "-3", "-3"),
    (-0.0, "0", "0"),
    (999999999.0, "999999999", "999999999"),
    (1e9, "", ""),
    (-1e9, "", ""),
    (40.5, "40.5", "40.5"),
    (-0.25, "-0.25", "-0.25"),
    (0.1, "0.1", ""),
    (-40.1, "-40.1", ""),
    (0.03503766454344431, "", ""),  # too close to the middle of two doubles
    (-0.03503766454344431, "", ""),
    (1e-7, "", ""),
    (5e-324, "", ""),
    (2.0**60 + 2.0**20, "", ""),
]


@pytest.mark.parametrize(("value", "decimal", "exact"), WRITTEN)
def test_plain_numbers(value: float, decimal: str, exact: str) -> None:
    assert plain_number(value, any_decimal=True) == decimal
    assert plain_number(value, any_decimal=False) == exact


def test_a_plain_number_is_the_double() -> None:
    random = Random(1)
    for _ in range(5000):
        value = round(random.uniform(-1e4, 1e4), random.randint(0, 12))
        if text := plain_number(value, any_decimal=True):
            assert float(text) == value
        if text := plain_number(value, any_decimal=False):
            assert Fraction(text) == Fraction(value)


def test_answers_keep_the_type_of_a_double() -> None:
    """A CASE of plain decimals would be an exact decimal."""
    text = emit(balanced(2), "sql", EmitOptions(dialect="duckdb")).text
    assert "<= 0.5 THEN 0.0e0" in text


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_one_ulp_beside_a_plain_threshold(engine: str) -> None:
    random = Random(3)
    for _ in range(60):
        cut = round(random.uniform(-100, 100), random.randint(0, 9))
        text = emit(stump(cut), "sql", EmitOptions(dialect=engine, comments=False)).text
        values = [nextafter(cut, -inf), cut, nextafter(cut, inf)]
        connect = sqlite3.connect if engine == "sqlite" else duckdb.connect
        with closing(connect(":memory:")) as connection:
            connection.execute("CREATE TABLE t (x DOUBLE)")
            connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
            query = f"SELECT {text} FROM t ORDER BY x"
            found = [answer for (answer,) in connection.execute(query).fetchall()]
        assert found == ["low", "low", "high"], cut
