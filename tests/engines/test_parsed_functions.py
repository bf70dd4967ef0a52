"""Functions for databases that the tests cannot run, as far as sqlglot reads them.

It reads five of them completely. Of the others it does not read the statement or its
body, so the expression inside is read by itself.
"""

from __future__ import annotations

from random import Random

import pytest
import sqlglot
from sqlglot import exp

from tests.support.parsed import (
    PARSED,
    answers,
    columns,
    parse,
    read_texts,
    subnormal,
    texts,
    thresholds,
)
from tests.support.random_models import SEVERAL, random_program
from tests.support.samples import every_type
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.steps import agreeing
from treecompile.model.ir import Program, Tree
from treecompile.model.paths import outcomes
from treecompile.model.semantics import required_features
from treecompile.verify.execution import can_hold

WHOLE = ("bigquery", "databricks", "mysql", "trino", "tsql")
WITHIN = ("oracle", "redshift", "snowflake")


def function(program: Program, name: str) -> str:
    others = columns(program, read_dialect(name))
    options = EmitOptions(
        # Of a list, rules that no row reaches are left out.
        dialect=name,
        form="function",
        name="s.f",
        columns=others,
        layout="decision",
    )
    return emit(program, "sql", options).text


def within(text: str) -> str:
    """The expression of a function: to the first END that is not indented."""
    found = text[text.index("CASE\n") :]
    return found[: found.index("\nEND") + len("\nEND")]


def random_programs(name: str) -> list[Program]:
    found = []
    for seed in range(120):
        program = random_program(Random(seed), SEVERAL)
        body = program.body
        known = [c for feature in body.features for c in feature.categories]
        held = can_hold(read_dialect(name), (*known, *body.labels))
        if name == "tsql":
            held &= not any(map(subnormal, (*thresholds(body), *answers(body))))
        if held and isinstance(body, Tree) and len(body.nodes) > 1 and is_written(body):
            found.append(program)
    assert len(found) >= 10
    return found


def is_written(tree: Tree) -> bool:
    """Whether no split is left out because all answers below it are equal."""
    answers = {place: repr(rule.value) for place, rule in outcomes(tree).items()}
    return len(agreeing(tree, answers)[1]) == len(answers)


def test_every_dialect_that_is_not_run_is_read() -> None:
    assert sorted(WHOLE + WITHIN) == PARSED


@pytest.mark.parametrize("name", WHOLE)
def test_functions_are_read_whole(name: str) -> None:
    for program in (every_type(), *random_programs(name)[:10]):
        (tree,) = sqlglot.parse(function(program, name), dialect=name)
        assert isinstance(tree, exp.Create)
        assert tree.kind == "FUNCTION"
        assert isinstance(tree.this, exp.UserDefinedFunction)
        assert tree.this.this.name == "f"
        assert len(tree.this.expressions) == len(required_features(program.body))
        assert set(texts(program.body, read_dialect(name))) <= read_texts(tree)


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_in_functions_is_read(name: str) -> None:
    for program in (every_type(), *random_programs(name)[:10]):
        tree = parse(within(function(program, name)), name)
        assert isinstance(tree, exp.Select)
        (answer,) = tree.expressions
        assert isinstance(answer, exp.Case)
        assert set(texts(program.body, read_dialect(name))) <= read_texts(tree)


def test_oracle_has_no_lengths_in_the_types_of_parameters() -> None:
    first = function(every_type(), "oracle").splitlines()[1]
    assert first.startswith('CREATE FUNCTION s.f("number" IN BINARY_DOUBLE, ')
    assert first.endswith(
        "text IN VARCHAR2, code IN NUMBER, flag IN NUMBER, grade IN VARCHAR2)"
        " RETURN VARCHAR2 DETERMINISTIC IS"
    )
