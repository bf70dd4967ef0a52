"""Impurity and gain, against the textbook sums written out case by case."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecompile.learners.criteria import (
    CRITERIA,
    Floats,
    Impurity,
    entropy,
    gain,
    gini,
    remaining,
    shares,
)
from treecompile.learners.sorted_column import single_sides
from treecompile.learners.stretches import Stretches


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
    split = counts([3, 1], [1, 4])
    padded = counts([3, 1], [0, 0], [1, 4])
    assert gain(impurity, padded) == pytest.approx(gain(impurity, split), abs=1e-15)


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
    assert gain(entropy, counts(*table)) == pytest.approx(expected, abs=1e-12)


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
    assert remaining(entropy, counts(*table)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
def test_gini_is_the_share_of_pairs_that_differ(numbers: list[int]) -> None:
    cases = [label for label, number in enumerate(numbers) for _ in range(number)]
    differing = sum(a != b for a, b in product(cases, cases))
    expected = differing / len(cases) ** 2
    assert gini(counts(*numbers)) == pytest.approx(expected, abs=1e-12)


def test_candidates_are_judged_at_once() -> None:
    candidates = counts([[4, 0], [0, 4]], [[2, 2], [2, 2]], [[3, 1], [1, 3]])
    together = gain(gini, candidates)
    assert together.shape == (3,)
    assert together.tolist() == [gain(gini, one) for one in candidates]
    assert together.tolist() == pytest.approx([0.5, 0.0, 0.125])


# --- whole levels ---------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1),
    st.sampled_from([("gini", gini), ("entropy", entropy)]),
)
def test_a_level_is_judged_like_each_of_its_cuts(
    nodes: list[list[int]], criterion: tuple[str, Impurity]
) -> None:
    name, impurity = criterion
    parts = Stretches.of(np.array([len(node) for node in nodes]))
    labels = np.concatenate([np.array(node) for node in nodes])
    indicators = [(labels == label).astype(np.int32) for label in (1, 2)]
    totals = [parts.sums(each) for each in indicators]
    sides = single_sides(parts, totals, 1)
    lefts = map(parts.run, indicators, totals)
    scores = CRITERIA[name](lefts, sides)
    place = 0
    for node in nodes:
        every = np.eye(3)[node]
        for cut in range(1, len(node)):
            table = np.stack([every[:cut].sum(axis=0), every[cut:].sum(axis=0)])
            expected = float(gain(impurity, table))
            assert scores[place + cut - 1] == pytest.approx(expected, abs=1e-12)
        assert sides.barred[place + len(node) - 1]
        place += len(node)
