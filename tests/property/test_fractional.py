"""Shares of divided rows against a plain recursion, in doubles and in fractions.

The recursion does not use `semantics`: it looks values up in the branches and writes
out the sums. The generated module must give exactly these doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fractional import shares
from tests.support.quick import without_black
from tests.support.random_models import random_fractional_tree, random_row
from tests.support.samples import module_of
from treecompile.emit.compiler import emit
from treecompile.model.ir import (
    Program,
)
from treecompile.model.semantics import distribution, predict

ROWS = 25


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with without_black():
        yield


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
