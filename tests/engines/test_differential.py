"""Random models and rows: semantics, rules, Python and every database must agree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.databases import DATABASES, SLOW
from tests.support.differential import (
    MODELS,
    ROWS,
    Answer,
    check_language,
    check_python,
    check_sql,
    sample,
)
from tests.support.kept import in_one_session
from tests.support.quick import in_this_process, without_black
from tests.support.rule_lists import flatten
from treecompile.engines.base import Engine
from treecompile.model.ir import Program, Row, Tree
from treecompile.model.semantics import predict
from treecompile.rules.extract import extract

BATCH = 20  # models for each test, so that the work spreads over the cores
SLOW_MODELS = 2  # of each batch, where a query takes long

known = cache(sample)  # the same for every engine


def check_rules(program: Program, rows: list[Row], answers: list[Answer]) -> None:
    body, values = program.body, [answer.value for answer in answers]
    flat = extract(body) if isinstance(body, Tree) else body
    for rules in (flat, flatten(program).body):
        assert [predict(rules, row) for row in rows] == values


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
def test_rules_and_python_agree_with_the_semantics(batch: int) -> None:
    first, *rest = (known(batch * BATCH + place) for place in range(BATCH))
    check_rules(*first)
    assert check_python(*first) == ROWS  # as it is shipped and run
    with without_black(), in_this_process():
        for program, rows, answers in rest:
            check_rules(program, rows, answers)
            assert check_python(program, rows, answers) == ROWS


LANGUAGES = ("javascript",)


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_agree_with_the_semantics(language: str, batch: int) -> None:
    compared = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        compared += check_language(language, *known(seed))
    assert compared > BATCH * ROWS // 2


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A database, opened once for all of its batches."""
    with in_one_session(DATABASES[request.param]()) as database:
        yield database


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
@pytest.mark.parametrize("session", DATABASES, indirect=True)
def test_databases_agree_with_the_semantics(session: Engine, batch: int) -> None:
    compared, models = 0, SLOW_MODELS if session.name in SLOW else BATCH
    for seed in range(batch * BATCH, batch * BATCH + models):
        compared += check_sql(session, *known(seed))
    assert compared > models * ROWS // 2
