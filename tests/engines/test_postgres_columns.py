"""Columns fetched from PostgreSQL as a whole are those fetched row by row."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.databases import postgres_url
from treecompile.engines import base, postgres
from treecompile.engines.addresses import open_store
from treecompile.model.errors import EngineError

NUMBERS = """SELECT i AS whole, (i % 7)::smallint AS small, i::bigint * 4294967296,
  CASE WHEN i % 3 = 0 THEN 'Infinity' WHEN i % 3 = 1 THEN i / 7e0 END::float8,
  (i / 7e0)::real FROM generate_series(1, 200) AS s(i)"""
OTHERS = (
    "SELECT i, CASE WHEN i > 2 THEN i END FROM generate_series(1, 4) AS s(i)",
    "SELECT i, 'x' || i FROM generate_series(1, 3) AS s(i)",
    "SELECT sum(i), avg(i), i > 1 FROM generate_series(1, 3) AS s(i) GROUP BY i > 1",
    "SELECT 1 AS one, 2e0::float8 AS one WHERE false",
    "SELECT i, i % 2 = 0 AS even FROM generate_series(1, 3) AS s(i)",
)

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("query", [NUMBERS, *OTHERS])
def test_columns_are_those_of_the_rows(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(postgres_url()) as store:
        whole = store.arrays(query)
        monkeypatch.setattr(postgres, "query_of_columns", lambda query, types: "")
        rows = store.arrays(query)
    assert len(whole) == len(rows)
    for one, other in zip(whole, rows, strict=True):
        if one.dtype == object:
            assert one.tolist() == other.tolist()
        else:
            assert np.array_equal(one, other, equal_nan=True)


def test_numbers_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(postgres_url()) as store:
        monkeypatch.delattr(base, "as_array")
        found = store.arrays(NUMBERS)
    assert [column.dtype.kind for column in found] == ["i", "i", "i", "f", "f"]
    assert np.isnan(found[3]).sum() == 67


def test_an_error_is_one_line() -> None:
    with open_store(postgres_url()) as store:
        with pytest.raises(EngineError, match="^PostgreSQL: division by zero$"):
            store.arrays("SELECT 1 / (i - 2) FROM generate_series(1, 3) AS s(i)")
        assert store.arrays("SELECT 5")[0].tolist() == [5]
