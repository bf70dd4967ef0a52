"""Whole columns at once decide every row as the semantics does row by row."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.random_models import random_row, random_rules, random_tree
from treecompile.batch import Columns, deciders
from treecompile.ir import Body, Kind, Row
from treecompile.semantics import decider, required_features

ROWS = 40


def encoded(body: Body, rows: list[Row]) -> Columns:
    """Doubles or codes, as the columns of data; None where nothing is tested."""
    required = required_features(body)
    columns: list[NDArray[Any] | None] = []
    for position, feature in enumerate(body.features):
        values = [row[position] for row in rows]
        if position not in required:
            columns.append(None)
        elif feature.kind is Kind.NUMERIC:
            numbers = [np.nan if v is None else v for v in values]
            columns.append(np.array(numbers, dtype=np.float64))
        else:
            codes = {c: code for code, c in enumerate(feature.categories)}
            unseen = len(feature.categories)
            found = [-1 if v is None else codes.get(v, unseen) for v in values]  # type: ignore[arg-type]
            columns.append(np.array(found, dtype=np.int32))
    return columns


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_columns_decide_as_rows_do(seed: int, as_rules: bool) -> None:
    random = Random(seed)
    body = random_rules(random) if as_rules else random_tree(random)
    rows = [random_row(random, body) for _ in range(ROWS)]
    found = deciders(body, encoded(body, rows), ROWS)
    assert found.tolist() == [decider(body, row) for row in rows]


@pytest.mark.parametrize("as_rules", [False, True])
def test_no_rows_are_no_answers(as_rules: bool) -> None:
    random = Random(3)
    body = random_rules(random) if as_rules else random_tree(random, splits=5)
    assert deciders(body, encoded(body, []), 0).tolist() == []
