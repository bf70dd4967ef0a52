"""Random models in both layouts: Python, SQLite and DuckDB against the semantics."""

from __future__ import annotations

import pytest

from tests.support.databases import DATABASES
from tests.support.differential import ROWS, check_python, check_sql, sample
from tests.support.kept import in_one_session
from tests.support.quick import in_this_process, without_black
from treecompile.emit.options import DECISION, LIST

SEEDS = range(1000, 1040)


@pytest.mark.parametrize("layout", [LIST, DECISION])
def test_python_agrees_with_the_semantics(layout: str) -> None:
    with without_black(), in_this_process():
        for seed in SEEDS:
            program, rows, answers = sample(seed)
            assert check_python(program, rows, answers, layout) == ROWS


@pytest.mark.parametrize("layout", [LIST, DECISION])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_databases_agree_with_the_semantics(engine: str, layout: str) -> None:
    compared = 0
    with in_one_session(DATABASES[engine]()) as database:
        for seed in SEEDS:
            program, rows, answers = sample(seed)
            compared += check_sql(database, program, rows, answers, layout)
    assert compared > len(SEEDS) * ROWS // 2
