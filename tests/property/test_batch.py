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
    random_fractional_tree,
    random_row,
    random_rules,
    random_tree,
)
from treecompile.model.batch import answers, deciders, distributions, shares
from treecompile.model.ir import Body
from treecompile.model.semantics import (
    decider,
    distribution,
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


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_divided_rows_get_the_same_doubles(seed: int) -> None:
    random = Random(seed)
    tree = random_fractional_tree(random)
    rows = [random_row(random, tree) for _ in range(ROWS)]
    found = distributions(tree, encoded(tree, rows), ROWS)
    expected = [distribution(tree, row) for row in rows]
    assert same_bits(found, expected)
    if tree.labels:
        assert np.allclose(found.sum(axis=1), 1)
        assert same_bits(found, shares(tree, encoded(tree, rows), ROWS))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["rules", "tree", "fractional"]))
def test_answers_are_those_of_the_rows(seed: int, kind: str) -> None:
    random = Random(seed)
    make: Any = {
        "rules": random_rules,
        "tree": random_tree,
        "fractional": random_fractional_tree,
    }[kind]
    body: Body = make(random)
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
