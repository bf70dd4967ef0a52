"""Divided rows against a recursion of its own, in doubles and in fractions.

Neither uses `semantics`: a value is looked up in the branches by hand, the sums are
written out, and the generated module must give these very doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_models import random_fractional_tree, random_row
from tests.samples import module_of
from treecompile import render
from treecompile.compiler import emit
from treecompile.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    Op,
    Program,
    Row,
    Tree,
    Value,
)
from treecompile.semantics import distribution, predict

ROWS = 25


@pytest.fixture(autouse=True, scope="module")
def without_black() -> Iterator[None]:
    """The layout of the text does not matter here, and takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "BLACK_UP_TO", 0)
        yield


def is_known(feature: Feature, value: Value) -> bool:
    if feature.kind is Kind.NUMERIC:
        return value is not None and float(value) == float(value)
    return any(category == value for category in feature.categories)


def passes(test: Condition, feature: Feature, value: Any) -> bool:
    """Whether a known value meets a test."""
    if test.op in (Op.IN, Op.NOT_IN):
        assert isinstance(test.value, tuple)
        return (value in test.value) == (test.op is Op.IN)
    if feature.kind is Kind.ORDINAL:
        places = feature.categories.index
        return (places(value) <= places(test.value)) == (test.op is Op.LE)
    assert isinstance(test.value, float)
    return (float(value) <= test.value) == (test.op is Op.LE)


def shares(tree: Tree, row: Row, position: int, number: Any) -> list[Any]:
    """The recursion of the law, with numbers of any type."""
    node = tree.nodes[position]
    if isinstance(node, Leaf):
        if not isinstance(node.stats, ClassCounts):
            return [number(node.value)]
        total = node.stats.weight
        return [number(weight / total) for weight in node.stats.weights]
    where = node.branches[0].when.feature
    feature, value = tree.features[where], row[where]
    if is_known(feature, value):
        (taken,) = [b for b in node.branches if passes(b.when, feature, value)]
        return shares(tree, row, taken.then, number)
    sums, total = [number(0)] * (len(tree.labels) or 1), number(0)
    for branch in node.branches:
        below = shares(tree, row, branch.then, number)
        total = total + number(branch.weight)
        sums = [s + number(branch.weight) * b for s, b in zip(sums, below, strict=True)]
    return [s / total for s in sums]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_module_adds_the_same_doubles(seed: int) -> None:
    random = Random(seed)
    tree = random_fractional_tree(random)
    module = module_of(emit(Program("y", "random", tree), "python").text)
    names = [feature.name for feature in tree.features]
    for _ in range(ROWS):
        row = random_row(random, tree)
        expected = shares(tree, row, 0, float)
        mapping = dict(zip(names, row, strict=True))
        if not all(map(isfinite, expected)):
            continue
        assert list(distribution(tree, row)) == expected
        if tree.labels:
            assert list(module.predict_proba(mapping).values()) == expected
            best = max(
                range(len(expected)), key=lambda place: (expected[place], -place)
            )
            assert module.predict(mapping) == tree.labels[best]
        else:
            assert module.predict(mapping) == expected[0]
        assert module.predict(mapping) == predict(tree, row)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_doubles_are_near_the_exact_shares(seed: int) -> None:
    random = Random(seed)
    tree = random_fractional_tree(random)
    if not tree.labels:
        return
    for _ in range(ROWS):
        row = random_row(random, tree)
        exact = shares(tree, row, 0, Fraction)
        for share, fraction in zip(distribution(tree, row), exact, strict=True):
            assert abs(Fraction(share) - fraction) < Fraction(1, 2**40)
