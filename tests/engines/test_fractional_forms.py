"""Trees that divide missing values: every form and output, on every database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engines.databases import DATABASES, SLOW
from tests.engines.test_fractional_mutants import GRID, model
from tests.property.test_fractional import shares
from tests.unit.test_fractional import program as two_labels
from tests.unit.test_fractional_artefacts import numbers
from treecompile.compiler import emit
from treecompile.errors import TargetError
from treecompile.ir import Program, Row, Tree
from treecompile.lower import EmitOptions
from treecompile.targets import read_dialect
from treecompile.verify import verify
from treecompile.verify.drivers import DRIVERS
from treecompile.verify.engines import run_sql

ENGINES = [name for name in DATABASES if name in DRIVERS]
SEVERAL = "label,probability,rule"


def body_of(program: Program) -> Tree:
    assert isinstance(program.body, Tree)
    return program.body


def expected(tree: Tree, row: Row) -> tuple[str, float, float]:
    """The label, its probability and that of the second, by a recursion of its own."""
    some = shares(tree, row, 0, float)
    return str(tree.labels[some.index(max(some))]), max(some), some[1]


@pytest.mark.parametrize("form", ["select", "view", "dbt"])
@pytest.mark.parametrize("engine", ENGINES)
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


@pytest.mark.parametrize("engine", ENGINES)
def test_expressions_and_functions(engine: str) -> None:
    database = DATABASES[engine]()
    forms = ["expression", "function"]
    if not read_dialect(engine).functions.create:
        forms.remove("function")
    for form in forms:
        for program, output, label in (
            (model(), "label", ""),
            (model(), "probability", "b"),
            (two_labels(), "label", ""),
            (two_labels(), "probability", ""),
            (numbers(1 / 3, -5.7), "label", ""),
        ):
            options = EmitOptions(
                dialect=engine, form=form, output=output, label=label, name="f"
            )
            text = emit(program, "sql", options).text
            budget = 60 if engine in SLOW else 400
            report = verify(program, text, url=database.url, budget=budget)
            assert report.passed, (form, output, report)
            assert report.divided > 2


@pytest.mark.parametrize("engine", ENGINES)
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
    with pytest.raises(TargetError, match="beyond all doubles"):
        emit(numbers(1e308, -1e308), "sql", options)
