"""Queries of trees, which need no helper columns, and of forests, which have stages."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.support.forests import stump as forest_of
from tests.support.random_models import random_program
from tests.support.samples import every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Condition,
    Feature,
    ForestProgram,
    Kind,
    Op,
    ValueType,
)
from treecompile.verify.verification import verify

ALL = "label,probability,rule"
QUERY = EmitOptions(dialect="duckdb", form="select", table="t")


def test_each_output_has_an_expression() -> None:
    options = replace(QUERY, output="label,rule", comments=False)
    text = emit(stump(0.5), "sql", options).text
    assert text == """\
SELECT
  *,
  CASE
    WHEN CAST(x AS DOUBLE) <= 0.5 THEN 'low'
    ELSE 'high'
  END AS prediction,
  CASE
    WHEN CAST(x AS DOUBLE) <= 0.5 THEN 'R1'
    ELSE 'R2'
  END AS rule
FROM t;
"""


def test_hostile_models_with_several_outputs() -> None:
    compared = 0
    for seed in range(10):
        program = random_program(Random(seed))
        output = ALL if program.body.labels else "label,rule"
        try:
            text = emit(program, "sql", replace(QUERY, output=output)).text
        except TargetError:
            continue
        report = verify(program, text, budget=300)
        assert report.passed, report
        compared += report.rows
    assert compared > 800


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("THEN 'R3'", "THEN 'R4'"),
        (" 0.75e0", " 0.76e0"),
        ("ELSE 'rest'", "ELSE 'Rest'"),
        ("FROM t", "FROM t WHERE number IS NOT NULL"),
    ],
)
def test_an_error_in_one_of_several_outputs_is_found(old: str, new: str) -> None:
    program = every_type()
    text = emit(program, "sql", replace(QUERY, output=ALL)).text
    assert old in text
    assert verify(program, text, budget=300).passed
    assert not verify(program, text.replace(old, new, 1), budget=300).passed


# ---------------------------------------------------------------- forests


def forest(name: str) -> ForestProgram:
    x = Feature(name, Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, 0.5, missing=False)
    body = forest_of(x, test, (1.0, -1.0), ("no", "yes"))
    return ForestProgram("y", "a stump", body)


@pytest.mark.parametrize("table", ["typed", "sums_0", 'main."Typed"', "typed_"])
def test_a_table_may_be_called_like_a_stage(table: str) -> None:
    program = forest("x")
    text = emit(program, "sql", replace(QUERY, table=table)).text
    assert verify(program, text, budget=100).passed
