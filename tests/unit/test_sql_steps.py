"""Queries in steps: columns that are typed first, and the rule that is found once."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from random import Random

import duckdb
import pytest

from tests.support.dialects import SQLITE
from tests.support.random_models import random_program
from tests.support.samples import balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql import forms, lower
from treecompile.emit.sql.dialect import Dialect, DialectSteps, read_dialect
from treecompile.emit.sql.forms import Steps
from treecompile.emit.sql.text import Quoting, column_names
from treecompile.model import words
from treecompile.model.errors import TargetError
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.model.semantics import predict
from treecompile.verify.verification import verify

DUCKDB = read_dialect("duckdb")
ALL = "label,probability,rule"


def steps(
    program: Program, dialect: Dialect, **options: object
) -> tuple[Steps, list[str]]:
    """The steps of a query, and its lines."""
    asked = EmitOptions(form="select", table="t", **options)  # type: ignore[arg-type]
    body = program.body
    columns = column_names(body, Quoting(dialect, bare=True), asked.columns)
    said = words.evidence_by_id(program) if asked.comments else {}
    made = lower.in_steps(body, dialect, columns, asked, said)
    return made, forms.statement(made, dialect, asked)


def typing(dialect: Dialect = DUCKDB, first: int = 1) -> Dialect:
    return replace(dialect, steps=replace(dialect.steps, typed_from=first))


# ---------------------------------------------------------------- the text


def test_several_outputs_find_the_rule_once() -> None:
    _, lines = steps(stump(0.5), DUCKDB, output=ALL, comments=False)
    assert "\n".join(lines) == """\
WITH decided AS (
  SELECT
    *,
    CASE
      WHEN CAST(x AS DOUBLE) <= 0.5 THEN 1
      ELSE 2
    END AS tc_rule
  FROM t
)
SELECT
  * EXCLUDE (tc_rule),
  ['low', 'high'][tc_rule] AS prediction,
  [0.75e0, 1.0e0][tc_rule] AS probability,
  ['R1', 'R2'][tc_rule] AS rule
FROM decided;"""


def test_columns_are_typed_first_where_that_pays() -> None:
    _, lines = steps(stump(0.5, missing=True), typing(), comments=False)
    assert "\n".join(lines) == """\
WITH typed AS (
  SELECT
    *,
    NULLIF(CAST(x AS DOUBLE), 'NaN') AS tc_x
  FROM t
)
SELECT
  * EXCLUDE (tc_x),
  CASE
    WHEN tc_x > 0.5 THEN 'high'
    ELSE 'low'
  END AS prediction
FROM typed;"""


def test_typed_columns_and_the_rule_are_two_steps() -> None:
    made, lines = steps(every_type(), typing(), output="rule,label")
    text = "\n".join(lines)
    assert [*made.stages["typed"]] == ["tc_number", "tc_text", "tc_grade"]
    assert made.stages["typed"]["tc_text"] == ["text COLLATE C"]
    assert "),\ndecided AS (\n  SELECT\n    *,\n" in text
    assert "WHEN code IN (1, 2) THEN 3 /* R3: 3 of 3 cases */" in text
    assert "\n  FROM typed\n)\nSELECT\n" in text
    assert "* EXCLUDE (tc_number, tc_text, tc_grade, tc_rule),\n" in text
    assert text.endswith("AS prediction\nFROM decided;")


def test_each_step_is_a_whole_query() -> None:
    _, lines = steps(stump(0.5), typing(), output="rule,label", comments=False)
    assert "\n".join(lines) == """\
WITH typed AS (
  SELECT
    *,
    NULLIF(CAST(x AS DOUBLE), 'NaN') AS tc_x
  FROM t
),
decided AS (
  SELECT
    *,
    CASE
      WHEN tc_x <= 0.5 THEN 1
      ELSE 2
    END AS tc_rule
  FROM typed
)
SELECT
  * EXCLUDE (tc_x, tc_rule),
  ['R1', 'R2'][tc_rule] AS rule,
  ['low', 'high'][tc_rule] AS prediction
FROM decided;"""


def test_columns_that_are_typed_already_are_not_cast_again() -> None:
    casting = replace(typing(), number_for_number=Phrase("again({})", [""]))
    for output in ("probability", "label,rule"):
        _, lines = steps(stump(0.5), casting, output=output)
        assert "again" not in "\n".join(lines)


def test_a_lateral_subquery_has_the_rule_in_other_databases() -> None:
    options = EmitOptions(
        dialect="postgres", form="view", table="t", output=ALL, comments=False
    )
    assert emit(stump(0.5), "sql", options).text == """\
CREATE VIEW predictions AS
SELECT
  t.*,
  (ARRAY['low', 'high'])[decided.tc_rule] AS prediction,
  (ARRAY[0.75::float8, 1.0::float8])[decided.tc_rule] AS probability,
  (ARRAY['R1', 'R2'])[decided.tc_rule] AS rule
FROM t
CROSS JOIN LATERAL (
  SELECT
    CASE
      WHEN CAST(x AS DOUBLE PRECISION) <= 0.5 THEN 1
      ELSE 2
    END AS tc_rule
  OFFSET 0
) AS decided;
"""
    text = emit(stump(0.5), "sql", replace(options, form="dbt")).text
    assert text.startswith("SELECT\n  input_rows.*,\n")
    assert 'FROM {{ ref("t") }} input_rows\n' in text


def test_without_lists_a_case_looks_the_answer_up() -> None:
    made, _ = steps(every_type(), read_dialect("snowflake"), output="rule,label")
    assert made.outputs["rule"][:2] == ["CASE tc_rule", "  WHEN 1 THEN 'R1'"]
    assert made.outputs["rule"][-2:] == ["  ELSE 'R6'", "END"]


def test_one_answer_for_all_is_not_looked_up() -> None:
    assert lower.lookup(["1", "1"], "tc_rule", DUCKDB) == ["1"]
    assert lower.lookup(["1", "2"], "tc_rule", DUCKDB) == ["[1, 2][tc_rule]"]


@pytest.mark.parametrize("output", ["label", ALL])
def test_what_has_no_steps(output: str) -> None:
    """A dialect without helper columns, and an expression."""
    made, lines = steps(stump(0.5), SQLITE, output=output)
    assert made.stages == {}
    assert lines[0] == "SELECT"
    columns = column_names(stump(0.5).body, Quoting(DUCKDB, bare=True), {})
    made = lower.in_steps(stump(0.5).body, typing(), columns, EmitOptions())
    assert made.stages == {}


@pytest.mark.parametrize(("first", "typed"), [(0, 0), (1, 1), (8, 1), (9, 0)])
def test_from_which_size_on_columns_are_typed_first(first: int, typed: int) -> None:
    made = steps(balanced(3), typing(first=first))[0]
    assert len(made.stages.get("typed", {})) == typed


def test_only_one_output_needs_no_rule() -> None:
    assert steps(every_type(), DUCKDB, output="rule")[0].stages == {}
    made = steps(every_type(), DUCKDB, output="rule,label")[0]
    assert len(made.stages["decided"]["tc_rule"]) == 11
    always = chain((), (), ("only",))
    assert steps(always, DUCKDB, output="rule,label")[0].stages == {}


# ---------------------------------------------------------------- names


def numbers(*names: str) -> Program:
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in names)
    tests = tuple(Condition(n, Op.LE, 0.5, False) for n in range(len(names)))
    return chain(features, tests, tuple(f"of {n}" for n in range(len(names) + 1)))


def test_helpers_have_names_that_no_feature_has() -> None:
    names = numbers("x", "X y", "X_Y", "rule", "TC_x", "order")
    made, _ = steps(names, typing(), output="rule,label")
    assert [*made.stages["typed"]] == [
        *("tc_tc_x", "tc_tc_x_y", "tc_tc_x_y_2", "tc_tc_rule_2", "tc_tc_tc_x"),
        "tc_tc_order",
    ]
    assert [*made.stages["decided"]] == ["tc_tc_rule"]
    renamed = steps(numbers("x"), typing(), columns={"x": "tc_rule"})[0]
    assert [*renamed.stages["typed"]] == ["tc_tc_x"]


@pytest.mark.parametrize("table", ["typed", "decided", 'main."Decided"', "typed_"])
def test_a_table_may_be_called_like_a_step(table: str) -> None:
    program = every_type()
    for output in ("label", "label,rule"):
        options = EmitOptions(
            dialect="duckdb", form="select", table=table, output=output
        )
        text = emit(program, "sql", options).text
        report = verify(program, text, budget=100)
        assert report.passed, report


# ---------------------------------------------------------------- the answers


def test_every_missing_value_is_null_after_typing() -> None:
    """A NaN is missing, an infinity is not; whatever the type of the column."""
    nan, inf = math.nan, math.inf
    for missing in (True, False):
        program = stump(40.0, missing)
        _, lines = steps(program, typing())
        with closing(duckdb.connect()) as connection:
            connection.execute("CREATE TABLE t (x DOUBLE)")
            rows = [(nan,), (None,), (inf,), (-inf,), (40.0,), (40.000000000000007,)]
            connection.executemany("INSERT INTO t VALUES (?)", rows)
            found = connection.execute("\n".join(lines)).fetchall()
        assert [row[1] for row in found] == [predict(program.body, row) for row in rows]


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("edge", [40.0, math.inf])
@pytest.mark.parametrize("op", [Op.LE, Op.GT])
def test_every_test_of_a_number_after_typing(
    op: Op, edge: float, missing: bool
) -> None:
    """At an edge, without an edge (is it known?), and with the missing value."""
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    program = chain((x,), (Condition(0, op, edge, missing),), ("yes", "no"))
    _, lines = steps(program, typing())
    rows = [(None,), (40.0,), (40.000000000000007,), (math.inf,)]
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE t (x DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", rows)
        found = connection.execute("\n".join(lines)).fetchall()
    assert [row[1] for row in found] == [predict(program.body, row) for row in rows]


def run_all(program: Program, dialect: Dialect, output: str) -> int:
    """Verify a query on DuckDB; the number of rows."""
    _, lines = steps(program, dialect, output=output)
    report = verify(program, "\n".join(lines), "duckdb", output=output, budget=300)
    assert report.passed, report
    return report.rows


def test_hostile_models_in_steps() -> None:
    compared = 0
    for seed in range(40):
        program = random_program(Random(seed))
        output = ALL if program.body.labels else "label,rule"
        for dialect in (DUCKDB, typing()):
            try:
                compared += run_all(program, dialect, output)
                compared += run_all(program, dialect, "rule")
            except TargetError:
                continue
    assert compared > 5000


def test_a_broken_lookup_is_found() -> None:
    _, lines = steps(every_type(), DUCKDB, output=ALL)
    text = "\n".join(lines)
    assert verify(every_type(), text, "duckdb", budget=300).passed
    for old, new in (
        ("['R1', 'R2'", "['R2', 'R1'"),
        ("THEN 3", "THEN 4"),
        ("[0.75e0, ", "[0.76e0, "),
        ("'rest']", "'Rest']"),
        ("* EXCLUDE (tc_rule)", "*"),
        ("  FROM t", "  FROM t WHERE number IS NOT NULL"),
    ):
        assert old in text
        assert not verify(
            every_type(), text.replace(old, new, 1), "duckdb", budget=300
        ).passed


def test_a_case_as_lookup_runs() -> None:
    """On SQLite, where the helper column stays: it is the last but two."""
    without = Phrase("* /* {} */", [""])
    dialect = replace(SQLITE, steps=DialectSteps(without=without))
    _, lines = steps(every_type(), dialect, output="label,rule")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (number, text, code, flag, grade)")
        rows = [
            (1.0, "z", 9, 0, "high"),
            (3.0, "a", 9, 0, "high"),
            (3.0, "z", 9, 0, ""),
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        found = connection.execute("\n".join(lines)).fetchall()
    assert [row[-2:] for row in found] == [
        ("number", "R1"),
        ("text", "R2"),
        ("rest", "R6"),
    ]
