"""Trees as deep and as large as they come, compiled and run."""

from __future__ import annotations

import sys

import pytest

from tests.engines.databases import DATABASES
from tests.random_models import large_rows, large_tree
from treecompile.compiler import emit, flatten
from treecompile.errors import TargetError
from treecompile.extract import extract, outcomes
from treecompile.ir import Program, Tree
from treecompile.lower import EmitOptions
from treecompile.model_file import dumps, loads
from treecompile.semantics import decider
from treecompile.verify.engines import run_python, run_sql

ROWS = large_rows(300)
SIZES = [
    pytest.param(1_500, True, id="chain of 1,500"),
    pytest.param(5_000, False, id="5,000 leaves"),
    pytest.param(100_000, False, id="100,000 leaves", marks=pytest.mark.large),
]


def program(leaves: int, chain: bool) -> Program:
    return Program("y", "random", large_tree(leaves, chain=chain))


def expected(model: Program) -> list[str]:
    decided = outcomes(model.body)
    return [decided[decider(model.body, row)].id for row in ROWS]


def test_the_trees_are_what_they_say() -> None:
    chain = large_tree(1_500, chain=True)
    depth = [0] * len(chain.nodes)
    for position, node in enumerate(chain.nodes):
        for branch in getattr(node, "branches", ()):
            depth[branch.then] = depth[position] + 1
    assert max(depth) == 1_499
    assert len(outcomes(large_tree(5_000))) >= 5_000
    many = Program("y", "random", large_tree(2_000))
    assert len(set(expected(many))) > 50


@pytest.mark.parametrize("style", ["standard", "numpy"])
@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_python_holds_it(leaves: int, chain: bool, style: str) -> None:
    model = program(leaves, chain)
    text = emit(model, "python", EmitOptions(style=style)).text
    answers = run_python(text, model.body.features, ROWS)
    assert [answer.rule for answer in answers] == expected(model)


@pytest.mark.parametrize("engine", DATABASES)
@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_databases_hold_it(leaves: int, chain: bool, engine: str) -> None:
    database = DATABASES[engine]()
    model = program(leaves, chain)
    options = EmitOptions(dialect=database.dialect.key, output="rule")
    text = emit(model, "sql", options).text
    assert run_sql(text, model.body.features, ROWS, database) == expected(model)


def test_nothing_recurses_with_the_depth() -> None:
    model = program(1_500, True)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        assert loads(dumps(model)) == model
        assert hash(model) == hash(loads(dumps(model)))
        assert isinstance(model.body, Tree)
        assert len(flatten(model).body.rules) == 1_500  # type: ignore[union-attr]
        for target in ("sql", "markdown"):
            emit(model, target)
    finally:
        sys.setrecursionlimit(limit)


def test_what_is_slow_is_said() -> None:
    model = program(20_000, False)
    (warning,) = emit(model, "sql", EmitOptions(dialect="duckdb")).warnings
    assert "DuckDB is slow" in warning
    assert not emit(model, "sql", EmitOptions(dialect="postgres")).warnings


def test_what_cannot_be_held_is_refused_with_the_limit() -> None:
    rules = Program("y", "random", extract(large_tree(1_500, chain=True)))
    with pytest.raises(TargetError, match="SQLite takes 900"):
        emit(rules, "sql", EmitOptions(dialect="sqlite"))
