"""Whole columns at once decide every row as the semantics does row by row."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.random_models import (
    random_fractional_tree,
    random_row,
    random_rules,
    random_tree,
)
from treecompile.batch import Columns, answers, deciders, distributions, shares
from treecompile.ir import Body, Kind, Row
from treecompile.semantics import (
    decider,
    distribution,
    predict,
    required_features,
)

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
