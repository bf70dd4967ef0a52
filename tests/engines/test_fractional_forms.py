"""Trees that divide missing values: every form and output, on every database."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tests.support.databases import DATABASES, SLOW
from tests.support.fractional import GRID, model, numbers, shares
from tests.support.fractional import program as two_labels
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.engines.addresses import ENGINES as ALL_ENGINES
from treecompile.model.errors import TargetError
from treecompile.model.ir import Program, Row, Tree
from treecompile.verify.execution import run_sql
from treecompile.verify.verification import verify

ENGINES = [name for name in DATABASES if name in ALL_ENGINES]
QUICK = [name for name in ENGINES if name not in SLOW]
SEVERAL = "label,probability,rule"


def body_of(program: Program) -> Tree:
    assert isinstance(program.body, Tree)
    return program.body


def expected(tree: Tree, row: Row) -> tuple[str, float, float]:
    """The label, its probability and that of the second, by a recursion of its own."""
    some = shares(tree, row, 0, float)
    return str(tree.labels[some.index(max(some))]), max(some), some[1]


@pytest.mark.parametrize(
    ("engine", "form"),
    [
        *itertools.product(QUICK, ("select", "view", "dbt")),
        *((engine, "select") for engine in SLOW),
    ],
)
def test_all_outputs_in_one_pass(engine: str, form: str) -> None:
    """Three labels, every combination of known, unseen and missing values."""
    database, program = DATABASES[engine](), model()
    options = EmitOptions(dialect=engine, form=form, table="t", output=SEVERAL)
    text = emit(program, "sql", options).text
    tree = body_of(program)
    found = run_sql(text, tree.features, GRID, database, outputs=3)
    known = [expected(tree, row) for row in GRID]
    assert [answer[:2] for answer in found] == [answer[:2] for answer in known]
    rules = [answer[2] for answer in found]
    assert rules.count("divided") > len(GRID) // 4
    assert len(set(rules)) == 6  # and each of the five rules
    if form == "select" and engine not in SLOW:
        assert verify(program, text, url=database.url).passed


CASES = [
    (model(), "label", ""),
    (model(), "probability", "b"),
    (two_labels(), "label", ""),
    (two_labels(), "probability", ""),
    (numbers(1 / 3, -5.7), "label", ""),
]


FUNCTIONS = [name for name in QUICK if read_dialect(name).functions.create]


@pytest.mark.parametrize(
    ("engine", "form"),
    [
        *((engine, "expression") for engine in QUICK),
        *((engine, "function") for engine in FUNCTIONS),
    ],
)
def test_expressions_and_functions(engine: str, form: str) -> None:
    url = DATABASES[engine]().url
    for program, output, label in CASES:
        options = EmitOptions(
            dialect=engine, form=form, output=output, label=label, name="f"
        )
        text = emit(program, "sql", options).text
        report = verify(program, text, url=url, budget=200)
        assert report.passed, (form, output, report)
        assert report.divided > 2


@pytest.mark.parametrize("engine", SLOW)
def test_an_expression_and_a_function_where_queries_take_long(engine: str) -> None:
    tree = body_of(model())
    options = EmitOptions(dialect=engine, output="probability", label="b")
    text = emit(model(), "sql", options).text
    found = run_sql(text, tree.features, GRID, DATABASES[engine]())
    assert found == [expected(tree, row)[2] for row in GRID]
    text = emit(model(), "sql", EmitOptions(dialect=engine, form="function")).text
    found = run_sql(text, tree.features, GRID, DATABASES[engine]())
    assert found == [expected(tree, row)[0] for row in GRID]


@pytest.mark.parametrize("engine", QUICK)
def test_another_name_for_the_table_and_for_columns(engine: str) -> None:
    url = DATABASES[engine]().url
    columns = {"sky": "v0_0", "heat": "X1"}
    options = EmitOptions(dialect=engine, columns=columns, alias="a b")
    for given in (options, replace(options, form="select", table="t", output=SEVERAL)):
        text = emit(two_labels(), "sql", given).text
        report = verify(two_labels(), text, url=url, columns=columns, alias="a b")
        assert report.passed, report


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_beyond_doubles_is_refused_everywhere(engine: str) -> None:
    options = EmitOptions(dialect=engine)
    with pytest.raises(TargetError, match="exceed the largest double"):
        emit(numbers(1e308, -1e308), "sql", options)
