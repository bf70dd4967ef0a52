"""Impurity and gain, against the textbook sums written out case by case."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.criteria import by_definition
from treecompile.learning.grow.columns import single_sides
from treecompile.learning.grow.criteria import (
    MEASURES,
    ContingencyTable,
    Impurity,
    entropy,
    gain,
    gini,
    remaining,
    shares,
)
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Floats


def split(*branches: object) -> ContingencyTable:
    """The class counts of one split."""
    table = np.array(branches, dtype=np.float64)
    return ContingencyTable(table, Segments.of(np.array([len(table)])))


def counts(*numbers: object) -> Floats:
    return np.array(numbers, dtype=np.float64)


tables = st.integers(1, 4).flatmap(
    lambda classes: st.lists(
        st.lists(st.integers(0, 9), min_size=classes, max_size=classes),
        min_size=1,
        max_size=5,
    ).filter(lambda table: sum(map(sum, table)) > 0)
)


@pytest.mark.parametrize(
    ("impurity", "even", "skewed", "three"),
    [(entropy, 1.0, 0.8112781244591328, log2(3)), (gini, 0.5, 0.375, 2 / 3)],
)
def test_impurity_of_known_distributions(
    impurity: Impurity, even: float, skewed: float, three: float
) -> None:
    assert impurity(counts(7, 7)) == even
    assert impurity(counts(3, 9)) == pytest.approx(skewed, abs=1e-15)
    assert impurity(counts(4, 4, 4)) == pytest.approx(three, abs=1e-15)
    assert impurity(counts(0, 5, 0)) == 0.0


def test_no_cases_have_no_shares() -> None:
    assert shares(counts([0, 0], [1, 3])).tolist() == [[0, 0], [0.25, 0.75]]


@pytest.mark.parametrize("impurity", [entropy, gini])
def test_an_empty_branch_changes_nothing(impurity: Impurity) -> None:
    plain = split([3, 1], [1, 4])
    padded = split([3, 1], [0, 0], [1, 4])
    assert gain(impurity, padded) == pytest.approx(gain(impurity, plain), abs=1e-15)


@given(tables)
def test_gain_by_entropy_is_the_mutual_information(table: list[list[int]]) -> None:
    total = sum(map(sum, table))
    rows = [sum(row) / total for row in table]
    columns = [sum(column) / total for column in zip(*table, strict=True)]
    expected = 0.0
    for i, j in product(range(len(rows)), range(len(columns))):
        joint = table[i][j] / total
        if joint:
            expected += joint * log2(joint / (rows[i] * columns[j]))
    assert gain(entropy, split(*table)) == pytest.approx(expected, abs=1e-12)


@given(tables)
def test_what_remains_of_entropy_is_the_conditional_entropy(
    table: list[list[int]],
) -> None:
    total = sum(map(sum, table))
    expected = 0.0
    for row in table:
        for cell in row:
            if cell:
                expected -= cell / total * log2(cell / sum(row))
    assert remaining(entropy, split(*table)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
def test_gini_is_the_share_of_pairs_that_differ(numbers: list[int]) -> None:
    cases = [label for label, number in enumerate(numbers) for _ in range(number)]
    differing = sum(a != b for a, b in product(cases, cases))
    expected = differing / len(cases) ** 2
    assert gini(counts(*numbers)) == pytest.approx(expected, abs=1e-12)


# --- every measure, against its definition --------------------------------------------


@given(st.lists(tables, min_size=1, max_size=4), st.sampled_from(sorted(MEASURES)))
def test_splits_are_judged_at_once_and_by_definition(
    many: list[list[list[int]]], name: str
) -> None:
    classes = max(len(table[0]) for table in many)
    padded = [[row + [0] * (classes - len(row)) for row in table] for table in many]
    rows = np.array([row for table in padded for row in table], np.float64)
    splits = ContingencyTable(
        rows, Segments.of(np.array([len(table) for table in padded]))
    )
    judge = MEASURES[name].branches
    assert judge is not None
    expected = [by_definition(name, table) for table in padded]
    assert judge(splits).tolist() == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1),
    st.sampled_from(sorted(MEASURES)),
    st.integers(1, 3),
)
def test_a_level_is_judged_like_each_of_its_cuts(
    nodes: list[list[int]], name: str, weight: int
) -> None:
    parts = Segments.of(np.array([len(node) for node in nodes]))
    labels = np.concatenate([np.array(node) for node in nodes])
    # Rows weigh 1, 2, 3, ... of some unit, or all the same.
    weights = np.arange(len(labels)) % weight + 1.0
    indicators = [np.where(labels == label, weights, 0.0) for label in (1, 2)]
    totals = [parts.sums(each) for each in indicators]
    given_weights = weights.copy() if weight > 1 else None
    sides = single_sides(parts, totals, 1, given_weights)
    lefts = map(parts.run, indicators, totals)
    scores = MEASURES[name].cuts(lefts, sides)
    place = 0
    for node in nodes:
        every = np.eye(3)[node] * weights[place : place + len(node), None]
        for cut in range(1, len(node)):
            table = [every[:cut].sum(axis=0), every[cut:].sum(axis=0)]
            expected = by_definition(name, [list(map(int, side)) for side in table])
            assert scores[place + cut - 1] == pytest.approx(expected, abs=1e-12)
        place += len(node)
    # There is no cut behind the last row of a node.
    assert sides.barred.tolist() == parts.ends.tolist()


def test_the_outlook_of_tennis_by_every_measure() -> None:
    outlook = split([2, 3], [4, 0], [3, 2])
    found = {}
    for name, measure in MEASURES.items():
        assert measure.branches is not None
        found[name] = round(float(measure.branches(outlook)[0]), 3)
    # Quinlan's gain and ratio; chi-square 3.547 of 14 cases; 0.247 of 2.271 bits.
    assert found == {
        **{"gini": 0.116, "entropy": 0.247, "gain-ratio": 0.156},
        **{"distance": 0.109, "chi-square": 0.253},
    }
