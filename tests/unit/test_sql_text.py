"""Names, values and conditions as SQL text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.dialects import SQLITE, with_limits
from tests.support.samples import chain, stump
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.checks import check_values
from treecompile.emit.sql.dialect import (
    Dialect,
)
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


# ---------------------------------------------------------------- names and values


def test_a_label_of_a_type_that_a_database_has_not() -> None:
    without = replace(SQLITE, types=replace(SQLITE.types, boolean=""))
    made = chain((X,), (Condition(0, Op.LE, 0.0, False),), (False, True))
    with pytest.raises(TargetError, match="no type for the prediction, of type bool"):
        check_values(made.body, without)
    check_values(stump(0.5).body, without)


C = Feature("c", Kind.CATEGORICAL, ValueType.STR, tuple("abcde"))


def written(dialect: Dialect, *tests: Condition) -> list[str]:
    made = chain((C,), tests, ("low", "high")).body
    writer = ConditionWriter(dialect, made, column_names(made, Quoting(dialect), {}))
    return [writer.condition(test) for test in tests]


def test_long_sets_are_divided() -> None:
    five = Condition(0, Op.IN, tuple("abcde"), missing=False)
    two = Condition(0, Op.NOT_IN, tuple("ab"), missing=True)
    x = SQLITE.columns.text.fill("`c`")
    assert written(with_limits(members=2, many_sets=0), five, two) == [
        f"({x} IN ('a', 'b') OR {x} IN ('c', 'd') OR {x} IN ('e'))",
        f"({x} NOT IN ('a', 'b') OR `c` IS NULL)",
    ]
    three = Condition(0, Op.NOT_IN, tuple("abc"), missing=True)
    (divided,) = written(with_limits(members=2, many_sets=0), three)
    assert divided == f"(({x} NOT IN ('a', 'b') AND {x} NOT IN ('c')) OR `c` IS NULL)"


def test_many_sets_are_written_singly() -> None:
    two = Condition(0, Op.IN, tuple("ab"), missing=False)
    three = Condition(0, Op.NOT_IN, tuple("abc"), missing=True)
    one = Condition(0, Op.IN, ("d",), missing=False)
    x = SQLITE.columns.text.fill("`c`")
    # Each test occurs twice in the tree, as itself and negated: two sets are four.
    dialect = with_limits(many_sets=3, members=0)
    assert written(dialect, two, three, one) == [
        f"({x} = 'a' OR {x} = 'b')",
        f"(({x} <> 'a' AND {x} <> 'b' AND {x} <> 'c') OR `c` IS NULL)",
        f"{x} = 'd'",
    ]
    assert written(with_limits(many_sets=4, members=0), two, three, one)[0] == (
        f"{x} IN ('a', 'b')"
    )
    assert written(with_limits(many_sets=1, members=0), two)[0].startswith(f"({x} = ")


def test_many_thresholds_are_written_as_a_dialect_wants_it() -> None:
    def doubles(many: int, *values: float) -> list[str]:
        tests = tuple(Condition(0, Op.LE, value, False) for value in values)
        made = chain((X,), tests, ("low", "high")).body
        dialect = with_limits(
            many_doubles=many, double_of_many=Phrase("(SELECT {})", [""])
        )
        writer = ConditionWriter(
            dialect, made, column_names(made, Quoting(dialect), {})
        )
        return [writer.condition(test).partition("<= ")[2] for test in tests]

    one, two, three = (f"CAST({number} AS REAL)" for number in (1, 2, 3))
    assert doubles(0, 1.0, 2.0, 3.0) == [one, two, three]
    assert doubles(2, 1.0, 2.0) == [one, two]
    assert doubles(1, 1.0, 2.0) == [f"(SELECT {one})", f"(SELECT {two})"]
    assert doubles(1, 1.0, 1.0) == [one, one]  # only different ones count
    assert doubles(0, -0.0) == ["CAST(0 AS REAL)"]
