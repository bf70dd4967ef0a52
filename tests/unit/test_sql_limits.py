"""Limits of the SQL text, and what is beyond them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product

import pytest

from tests.support.dialects import with_limits
from tests.support.samples import balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.lower import Arm, lower
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.checks import size_warnings
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.forest_answers import first_greatest
from treecompile.emit.sql.lower import case_lines, expressions
from treecompile.emit.sql.text import ConditionWriter, Quoting, column_names
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Op,
    ValueType,
)

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


# ---------------------------------------------------------------- limits


def case(arms: Iterable[Arm], dialect: Dialect) -> list[str]:
    writer = ConditionWriter(dialect, every_type().body, {0: "x"})
    return list(case_lines(arms, writer, lambda rules: rules[0].id))


def lines_of(dialect: Dialect, tests: int) -> list[str]:
    """A chain of so many tests."""
    conditions = tuple(Condition(0, Op.LE, float(n), False) for n in range(tests))
    return case(lower(chain((X,), conditions, ("a", "b")).body), dialect)


def test_a_case_has_as_many_arms_as_are_allowed() -> None:
    assert len(lines_of(with_limits(arms=3), 3)) == 6  # CASE, 3 WHEN, ELSE, END
    with pytest.raises(TargetError, match="more WHENs than the 3 that SQLite allows"):
        lines_of(with_limits(arms=3), 4)
    assert len(lines_of(with_limits(arms=0), 50)) == 53  # 0 is no limit


def test_a_rule_joins_as_many_tests_as_are_allowed() -> None:
    arms = list(lower(stump(0.5).body))
    arms[0] = replace(arms[0], tests=arms[0].tests * 5)
    for most in (5, 6):
        case(arms, with_limits(tests=most))
    with pytest.raises(TargetError, match="joins 5 conditions by AND.*allows 4"):
        case(arms, with_limits(tests=4))


def test_the_size_of_the_text_is_compared_with_what_the_database_reads() -> None:
    lines = ["CASE", "é", "END"]  # 5 + 3 + 4 bytes with line ends
    assert list(size_warnings(lines, 9, with_limits(text=12, slow_leaves=10))) == []
    assert list(size_warnings(lines, 9, with_limits(text=0, slow_leaves=0))) == []
    slow = list(size_warnings(lines, 10, with_limits(text=12, slow_leaves=10)))
    assert slow == ["SQLite is slow to read an expression of 10 leaves"]
    with pytest.raises(TargetError, match="has 12 bytes, but SQLite allows 11: learn"):
        list(size_warnings(lines, 9, with_limits(text=11, beyond="")))
    (said,) = size_warnings(lines, 9, with_limits(text=11, slow_leaves=0, beyond="x"))
    assert said == "the SQL has 12 bytes, but SQLite allows 11: x"


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_first_of_the_greatest_margins_wins(count: int) -> None:
    names = [f"s{place}" for place in range(count)]
    text = first_greatest(names, [f"'{place}'" for place in range(count)])
    with closing(sqlite3.connect(":memory:")) as connection:
        for shares in product((0.0, 0.25, 0.5), repeat=count):
            columns = ", ".join(f"? AS {name}" for name in names)
            query = f"SELECT {text} FROM (SELECT {columns})"
            (found,) = connection.execute(query, shares).fetchone()
            assert int(found) == shares.index(max(shares))


# ---------------------------------------------------------------- CASE


def whens(lines: Sequence[str]) -> int:
    """The most WHENs of one CASE."""
    most, open_ = 0, []
    for line in lines:
        word = line.split()[0]
        if word == "CASE":
            open_.append(0)
        elif word == "WHEN":
            open_[-1] += 1
            most = max(most, open_[-1])
        elif word == "END":
            open_.pop()
    assert not open_
    return most


def test_the_arms_of_each_case_are_counted() -> None:
    def lines(arms: int) -> list[str]:
        return case(lower(balanced(5).body), with_limits(arms=arms))

    most = whens(lines(0))
    assert 1 < most < 31
    assert lines(most) == lines(0)
    with pytest.raises(TargetError, match="more WHENs"):
        lines(most - 1)
    assert not any(line.endswith(" ") for line in lines(0))
    assert lines(0)[0] == "CASE"
    assert lines(0)[-1] == "END"


@pytest.mark.parametrize("nesting", [1, 2, 3, 9])
def test_any_nesting_decides_alike(nesting: int) -> None:
    body = balanced(4).body
    dialect = with_limits(nesting=nesting)
    columns = column_names(body, Quoting(dialect), {})
    (lines,) = expressions(body, dialect, columns, EmitOptions()).values()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(16)])
        text = "\n".join(lines)
        found = connection.execute(f"SELECT x, {text} FROM t").fetchall()
    assert all(x == answer for x, answer in found)


def test_warnings_come_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = with_limits(slow_leaves=2)
    monkeypatch.setattr("treecompile.emit.sql.lower.read_dialect", lambda name: slow)
    made = emit(stump(0.5), "sql")
    assert made.warnings == ("SQLite is slow to read an expression of 2 leaves",)
    first = made.text.splitlines()[0]
    assert re.search(r", model [0-9a-f]{64} \*/$", first)
