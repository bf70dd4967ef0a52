"""Random models one at a time, in Python, SQLite and DuckDB; quick, for mutants.

`tests/engines/test_differential.py` has many more of them, on all engines.
"""

from __future__ import annotations

import pytest

from tests.support.databases import DATABASES
from tests.support.differential import check_python, check_sql, sample
from tests.support.quick import in_this_process, without_black

SEEDS = range(1000, 1030)  # not those of the longer test
ROWS = 20


@pytest.mark.parametrize("seed", SEEDS)
def test_python_agrees_with_the_semantics(seed: int) -> None:
    with without_black(), in_this_process():
        assert check_python(*sample(seed, ROWS)) == ROWS


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_databases_agree_with_the_semantics(engine: str, seed: int) -> None:
    check_sql(DATABASES[engine](), *sample(seed, ROWS))
