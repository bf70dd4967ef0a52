"""Deciding whole columns at once agrees with deciding row by row."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import (
    encoded,
    random_row,
    random_rules,
    random_tree,
)
from treecompile.model.batch import answers, deciders
from treecompile.model.ir import Body
from treecompile.model.semantics import (
    decider,
    predict,
)

ROWS = 40


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_columns_decide_as_rows_do(seed: int, as_rules: bool) -> None:
    random = Random(seed)
    body = random_rules(random) if as_rules else random_tree(random)
    rows = [random_row(random, body) for _ in range(ROWS)]
    found = deciders(body, encoded(body, rows), ROWS)
    assert found.tolist() == [decider(body, row) for row in rows]


def same_bits(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_answers_are_those_of_the_rows(seed: int, is_tree: bool) -> None:
    random = Random(seed)
    body: Body = random_tree(random) if is_tree else random_rules(random)
    rows = [random_row(random, body) for _ in range(ROWS)]
    found = answers(body, encoded(body, rows), ROWS).tolist()
    expected: list[Any] = [predict(body, row) for row in rows]
    if body.labels:
        assert [body.labels[place] for place in found] == expected
    else:
        assert same_bits(found, expected)


@pytest.mark.parametrize("as_rules", [False, True])
def test_no_rows_are_no_answers(as_rules: bool) -> None:
    random = Random(3)
    body = random_rules(random) if as_rules else random_tree(random, splits=5)
    assert deciders(body, encoded(body, []), 0).tolist() == []
