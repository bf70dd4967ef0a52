"""CART: every split against a search through all splits, in exact arithmetic."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import treecompile
from treecompile.learning.grow import columns, histogram, rows
from treecompile.learning.grow.search import midpoints
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Kind,
    Leaf,
    Moments,
    Node,
    Op,
    Split,
    Tree,
    Value,
)
from treecompile.model.semantics import holds, predict

INF, NAN = math.inf, math.nan
LARGEST, SMALLEST = sys.float_info.max, 5e-324
LABELS = ("a", "b", "c")
CATEGORIES = ("p", "q", "r", "s", "t", "u")
LEVELS = ("low", "mid", "high", "top")

Column = tuple[Value, ...]


@dataclass(frozen=True)
class Sample:
    kinds: tuple[Kind, ...]
    columns: tuple[Column, ...]
    y: tuple[int, ...]
    is_regression: bool
    min_leaf: int = 1

    def learn(self, order: list[int] | None = None, scale: float = 1.0) -> Tree:
        rows = range(len(self.y)) if order is None else order
        frame = pd.DataFrame(
            {
                f"x{i}": pd.Series(
                    [column[row] for row in rows],
                    dtype=np.float64 if kind is Kind.NUMERIC else object,
                )
                for i, (kind, column) in enumerate(
                    zip(self.kinds, self.columns, strict=True)
                )
            }
        )
        if self.is_regression:
            frame["y"] = [self.y[row] * scale for row in rows]
        else:
            frame["y"] = [LABELS[self.y[row]] for row in rows]
        ordinal = {
            f"x{i}": LEVELS for i, kind in enumerate(self.kinds) if kind is Kind.ORDINAL
        }
        return tree_of(
            frame,
            ordinal=ordinal,
            task="regress" if self.is_regression else "classify",
            min_leaf=self.min_leaf,
        )


def tree_of(frame: pd.DataFrame, **options: Any) -> Tree:
    given = {"algorithm": "cart", "prune": "none", **options}
    model = treecompile.learn(frame, target="y", **given)
    assert isinstance(model.program.body, Tree)
    return model.program.body


def numeric(x: list[float], y: list[Any], **options: Any) -> Tree:
    return tree_of(pd.DataFrame({"x": x, "y": y}), **options)


def root_of(tree: Tree) -> Split:
    assert isinstance(tree.nodes[0], Split)
    return tree.nodes[0]


def leaf_values(tree: Tree) -> list[Any]:
    return [node.value for node in tree.nodes if isinstance(node, Leaf)]


@st.composite
def samples(draw: st.DrawFn, kinds: tuple[Kind, ...] = tuple(Kind)) -> Sample:
    size = draw(st.integers(1, 9))
    chosen = tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)))
    pools: dict[Kind, tuple[Value, ...]] = {
        Kind.NUMERIC: (-1.5, 0.0, 1.0, 2.0, 2.5, 7.0, None),
        Kind.ORDINAL: (*LEVELS, None),
        Kind.CATEGORICAL: (*CATEGORIES, None),
    }
    columns = []
    for kind in chosen:
        values = st.sampled_from(pools[kind])
        column = draw(st.lists(values, min_size=size, max_size=size))
        if all(value is None for value in column):
            column[0] = pools[kind][0]
        columns.append(tuple(column))
    is_regression = draw(st.booleans())
    # The order of the categories finds the best subset for two labels, not for three,
    # and the best of all, not the best of those with so many cases on each side: then
    # all subsets are tried.
    most = 9 if is_regression else draw(st.sampled_from((1, 2)))
    y = draw(st.lists(st.integers(0, most), min_size=size, max_size=size))
    min_leaf = draw(st.sampled_from((1, 1, 2)))
    return Sample(chosen, tuple(columns), tuple(y), is_regression, min_leaf)


# --- the search through all splits ----------------------------------------------------


def divisions(kind: Kind, known: set[Value]) -> Iterator[tuple[Value, set[Value]]]:
    """Every way to cut what is known in two, the lowest first: (value, left side)."""
    if not known:
        return
    if kind is Kind.CATEGORICAL:
        first, *rest = sorted(known, key=str)
        for some in chain.from_iterable(
            combinations(rest, size) for size in range(len(rest))
        ):
            yield None, {first, *some}
        return
    order: list[Any] = sorted(known, key=LEVELS.index if kind is Kind.ORDINAL else None)
    for place in range(1, len(order)):
        low, high = order[place - 1], order[place]
        value = low if kind is Kind.ORDINAL else (low + high) / 2
        yield value, set(order[:place])


def exact_gain(sample: Sample, rows: list[int], feature: int, left: set[Value]) -> Any:
    """The decrease of Gini impurity or variance; None if a side is too small."""
    column = sample.columns[feature]
    known = [row for row in rows if column[row] is not None]
    sides = (
        [row for row in known if column[row] in left],
        [row for row in known if column[row] not in left],
    )
    if min(map(len, sides)) < sample.min_leaf:
        return None
    within = sum(len(side) * impurity(sample, side) for side in sides)
    return (len(known) * impurity(sample, known) - within) / len(rows)


def impurity(sample: Sample, rows: list[int]) -> Fraction:
    y = [sample.y[row] for row in rows]
    size = len(y)
    if sample.is_regression:
        return Fraction(sum(v * v for v in y), size) - Fraction(sum(y), size) ** 2
    return 1 - Fraction(sum(y.count(label) ** 2 for label in set(y)), size**2)


def assert_best_everywhere(sample: Sample, tree: Tree) -> None:
    """Follow the cases down the tree and search again at every node."""
    stack = [(0, list(range(len(sample.y))))]
    while stack:
        position, rows = stack.pop()
        node = tree.nodes[position]
        assert_stats(sample, rows, node)
        found = [
            (gain, feature, value)
            for feature, kind in enumerate(sample.kinds)
            for value, left in divisions(
                kind, {sample.columns[feature][row] for row in rows} - {None}
            )
            if (gain := exact_gain(sample, rows, feature, left)) is not None
        ]
        if isinstance(node, Leaf):
            assert not found or len({sample.y[row] for row in rows}) == 1
            continue
        greatest = max(gain for gain, _, _ in found)
        _, feature, value = next(each for each in found if each[0] == greatest)
        assert node.gain == pytest.approx(float(greatest), abs=1e-12)
        tests = [branch.when for branch in node.branches]
        assert [test.feature for test in tests] == [feature, feature]
        column = sample.columns[feature]
        sides = [
            [
                row
                for row in rows
                if column[row] is not None
                and holds(test, tree.features[feature], column[row])
            ]
            for test in tests
        ]
        if sample.kinds[feature] is Kind.CATEGORICAL:
            left = {column[row] for row in sides[0]}
            assert exact_gain(sample, rows, feature, left) == greatest
            right = {column[row] for row in sides[1]}
            assert min(map(str, left)) < min(map(str, right))
        else:
            assert [(test.op, test.value) for test in tests] == [
                (Op.LE, value),
                (Op.GT, value),
            ]
        # The heavier side, the first at a tie, takes the cases with a missing value.
        heavier = int(len(sides[1]) > len(sides[0]))
        assert [test.missing for test in tests] == [heavier == 0, heavier == 1]
        assert [branch.weight for branch in node.branches] == list(map(len, sides))
        sides[heavier] += [row for row in rows if column[row] is None]
        stack += zip((branch.then for branch in node.branches), sides, strict=True)


def assert_stats(sample: Sample, rows: list[int], node: Node) -> None:
    y = [sample.y[row] for row in rows]
    if isinstance(node.stats, ClassCounts):
        labels = sorted(set(sample.y))
        assert list(node.stats.weights) == [y.count(label) for label in labels]
    else:
        assert node.stats.weight == len(y)
        assert node.stats.mean == sum(y) / len(y)
        sse = float(len(y) * impurity(sample, rows))
        assert node.stats.sse == pytest.approx(sse, abs=1e-9)
    if isinstance(node, Leaf):
        assert node.weight == len(y)
        common = min(set(y), key=lambda label: (-y.count(label), label))
        expected = sum(y) / len(y) if sample.is_regression else LABELS[common]
        assert node.value == expected


thorough = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@thorough
@given(samples(kinds=(Kind.NUMERIC, Kind.ORDINAL)))
def test_every_cut_is_the_best_and_the_first(sample: Sample) -> None:
    assert_best_everywhere(sample, sample.learn())


@thorough
@given(samples(kinds=(Kind.CATEGORICAL, Kind.CATEGORICAL, Kind.NUMERIC)))
def test_every_subset_is_the_best_of_all(sample: Sample) -> None:
    assert_best_everywhere(sample, sample.learn())


def test_with_three_labels_each_of_them_orders_the_categories() -> None:
    # The share of "a" is the same in all four and tells nothing; that of "b" does.
    frame = pd.DataFrame({"x": list("ppqqrrss"), "y": list("abacabac")})
    first, second = root_of(tree_of(frame, max_depth=1)).branches
    assert first.when == Condition(0, Op.NOT_IN, ("q", "s"), True)
    assert second.when == Condition(0, Op.IN, ("q", "s"), False)


# --- invariance -----------------------------------------------------------------------


def skeleton(tree: Tree) -> list[Any]:
    """Tests and their order, without what the cases add up to."""
    return [
        (
            [(branch.when, branch.then) for branch in node.branches]
            if isinstance(node, Split)
            else None
        )
        for node in tree.nodes
    ]


@thorough
@given(samples(), st.randoms(use_true_random=False), st.sampled_from((1.0, 0.1)))
def test_the_order_of_the_rows_does_not_matter(
    sample: Sample, random: Any, scale: float
) -> None:
    order = list(range(len(sample.y)))
    random.shuffle(order)
    assert sample.learn(order, scale) == sample.learn(scale=scale)


def test_the_order_of_the_rows_does_not_order_the_categories() -> None:
    # All categories have the mean 0.9, and sums that depend on the order of adding.
    y = [0.2, 1.6, 0.7, 1.1, 0.7, 1.1, 0.2, 1.6]
    frame = pd.DataFrame({"x": list("ppqqrrss"), "y": y})
    shuffled = frame.iloc[[3, 4, 0, 5, 7, 1, 6, 2]]
    assert skeleton(tree_of(frame)) == skeleton(tree_of(shuffled))


@thorough
@given(
    samples().map(lambda sample: replace(sample, is_regression=True)),
    st.sampled_from((1e-9, 0.1, 1e9)),
)
@example(  # two categories with the same mean
    Sample(
        (Kind.CATEGORICAL,),
        (("p", "r", None, "q", "p", "q"),),
        (2, 0, 0, 1, 0, 1),
        True,
        2,
    ),
    1e-9,
)
@example(  # below the first split, all three categories have the mean of the node
    Sample(
        (Kind.CATEGORICAL,),
        (("q", "r", "p", "p", "q", "s", "q", "q", "q"),),
        (0, 6, 9, 3, 7, 0, 5, 9, 9),
        True,
        1,
    ),
    1e-9,
)
def test_the_unit_of_the_target_does_not_matter(sample: Sample, scale: float) -> None:
    assert skeleton(sample.learn()) == skeleton(sample.learn(scale=scale))


@pytest.mark.parametrize("unit", [1e-140, 1e145])
def test_very_small_and_very_large_targets(unit: float) -> None:
    y = [1 * unit, 2 * unit, 7 * unit, 8 * unit]
    tree = numeric([1, 2, 3, 4], y)
    assert root_of(tree).branches[0].when.value == 2.5
    assert leaf_values(tree) == y


def test_a_least_gain_far_beyond_the_targets() -> None:
    tree = numeric([1, 2, 3, 4], [1e-140, 2e-140, 7e-140, 8e-140], min_gain=0.01)
    assert len(tree.nodes) == 1


@pytest.mark.parametrize("unit", [1e200, LARGEST / 8])
def test_targets_whose_squares_overflow_are_refused(unit: float) -> None:
    with pytest.raises(DataError, match="'y'"):
        numeric([1, 2, 3, 4], [1 * unit, 2 * unit, 7 * unit, 8 * unit])


@settings(deadline=None)
@given(st.permutations(range(5)), st.sampled_from((1.0, 2.0**48, -(2.0**48))))
def test_a_large_offset_of_the_target_does_not_matter(
    y: list[int], offset: float
) -> None:
    x = [0.0, 1, 2, 3, 4]
    moved = [offset + each / 8 for each in y]
    plain = numeric(x, [float(each) for each in y], task="regress")
    assert skeleton(numeric(x, moved, task="regress")) == skeleton(plain)


# --- thresholds -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 2, 1.5),
        (0.1, 0.3, 0.2),
        (-3, 1, -1),
        # Neighbouring doubles have nothing between them: `<=` needs the lower one.
        (1, math.nextafter(1, 2), 1),
        (math.nextafter(1, 0), 1, math.nextafter(1, 0)),
        (0, SMALLEST, 0),
        (-SMALLEST, 0, -SMALLEST),
        (math.nextafter(LARGEST, 0), LARGEST, math.nextafter(LARGEST, 0)),
        # Sums and differences that overflow.
        (-LARGEST, LARGEST, 0),
        (LARGEST / 2, LARGEST, LARGEST * 0.75),
        (-LARGEST, -LARGEST / 2, LARGEST * -0.75),
        # Infinities are numbers, but no thresholds.
        (0, INF, LARGEST),
        (LARGEST, INF, LARGEST),
        (-INF, 0, -LARGEST),
        (-INF, INF, 0),
        (-INF, -LARGEST, NAN),
    ],
)
def test_midpoints(low: float, high: float, expected: float) -> None:
    (middle,) = midpoints(np.array([low], np.float64), np.array([high], np.float64))
    assert middle == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True)
    assert math.isnan(middle) or low <= middle < high


@pytest.mark.parametrize(
    "x",
    [
        [-LARGEST, LARGEST],
        [-INF, INF],
        [-INF, 0.0],
        [1.0, INF],
        [1.0, math.nextafter(1, 2)],
        [0.0, SMALLEST],
        [-SMALLEST, -0.0],
    ],
)
@pytest.mark.parametrize("y", [["n", "p"], [1.5, 2.5]])
def test_extreme_values_are_told_apart(x: list[float], y: list[Any]) -> None:
    tree = numeric(x, y)
    assert [predict(tree, (value,)) for value in x] == y
    threshold = root_of(tree).branches[0].when.value
    assert isinstance(threshold, float)
    assert math.isfinite(threshold)


def test_a_threshold_is_rounded_for_the_reader() -> None:
    assert (43.1 + 43.2) / 2 == 43.150000000000006
    assert threshold_between(43.1, 43.2) == 43.15
    assert threshold_between(0.1, 0.2) == 0.15
    # But only as far as it keeps the two values apart.
    low = 1 / 3
    high = math.nextafter(math.nextafter(low, 1), 1)
    assert low <= threshold_between(low, high) < high


@settings(deadline=None)
@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
@example(-0.0, SMALLEST)
@example(-INF, 0.0)
@example(-INF, INF)
@example(LARGEST, INF)
def test_a_rounded_threshold_separates_and_is_finite(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high and high != -LARGEST:
        threshold = threshold_between(low, high)
        assert low <= threshold < high
        assert math.isfinite(threshold)
        assert str(threshold) != "-0.0"


def threshold_between(low: float, high: float) -> float:
    value = root_of(numeric([low, high], ["n", "p"])).branches[0].when.value
    assert isinstance(value, float)
    return value


def test_minus_zero_is_zero() -> None:
    tree = numeric([-0.0, 0.0, -0.0, 1.0], ["n", "p", "p", "n"])
    assert root_of(tree).branches[0].when.value == 0.5
    assert len(tree.nodes) == 3


def test_nothing_separates_the_infinity_from_the_largest_double() -> None:
    tree = numeric([-INF, -LARGEST], ["n", "p"])
    assert tree.nodes == (Leaf("n", ClassCounts((1.0, 1.0)), 2.0),)


# --- missing values -------------------------------------------------------------------


def test_the_gain_is_scaled_by_the_known_share() -> None:
    # Known: 2 + 3, told apart perfectly; the known cases are 5 of 8.
    x = [1, 1, 2, 2, 2, NAN, NAN, NAN]
    tree = numeric(x, list("nnpppnnn"), max_depth=1)
    root = root_of(tree)
    assert root.gain == pytest.approx((1 - 0.4**2 - 0.6**2) * 5 / 8)
    assert [branch.weight for branch in root.branches] == [2.0, 3.0]
    # The heavier side takes the three, and its leaf counts them.
    assert tree.nodes[2] == Leaf("n", ClassCounts((3.0, 3.0)), 6.0)
    assert predict(tree, (None,)) == predict(tree, (2.0,))


def test_a_complete_column_beats_one_with_the_same_cut_and_gaps() -> None:
    frame = pd.DataFrame(
        {"gaps": [1, 1, NAN, 2, 2], "whole": [1, 1, 1, 2, 2], "y": list("nnnpp")}
    )
    assert root_of(tree_of(frame)).branches[0].when.feature == 1


# --- leaves ---------------------------------------------------------------------------


def test_a_leaf_of_equal_targets_predicts_that_target() -> None:
    tree = numeric([1, 1, 1, 2], [0.1, 0.1, 0.1, 0.7])
    assert tree.nodes[1] == Leaf(0.1, Moments(3.0, 0.1, 0.0), 3.0)


@settings(deadline=None)
@given(
    st.lists(
        st.integers(-(10**6), 10**6).map(lambda cents: cents / 100),
        min_size=1,
        max_size=8,
    )
)
@example([0.1, 0.1, 0.1])
@example([0.2, 0.6, 0.3, 0.5, 0.2, 0.6, 0.1, 0.7])
def test_a_leaf_predicts_the_mean_of_its_targets(y: list[float]) -> None:
    tree = numeric([1.0] * len(y), y, task="regress")
    assert leaf_values(tree) == [float(sum(map(Fraction, y)) / len(y))]


# --- criteria -------------------------------------------------------------------------


def test_entropy_is_the_gain_in_bits() -> None:
    frame = pd.DataFrame({"x": [0.0, 1, 2, 3, 4, 5, 6, 7], "y": list("aaabbbbc")})
    root = root_of(tree_of(frame, criterion="entropy"))

    def bits(*counts: int) -> float:
        return -sum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)

    assert root.branches[0].when.value == 2.5
    assert root.gain == pytest.approx(bits(3, 4, 1) - 5 / 8 * bits(4, 1))


def test_gini_is_the_default() -> None:
    frame = pd.DataFrame({"x": range(8), "y": list("abcabcaa")})
    assert tree_of(frame) == tree_of(frame, criterion="gini")


def test_criteria_that_are_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 1.5]})
    with pytest.raises(OptionError, match="'y' is a number"):
        tree_of(frame, criterion="gini")
    with pytest.raises(OptionError, match="criterion='gain': expected gini, entropy"):
        tree_of(frame, criterion="gain", task="classify")


# --- forms of columns -----------------------------------------------------------------


@pytest.mark.parametrize("is_regression", [False, True])
@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("room", [0, 4])
def test_counting_and_sorting_find_the_same_tree(
    few: int, room: int, is_regression: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    size = 300
    frame = pd.DataFrame({"x": random.integers(0, 90, size) / 8})
    frame["gaps"] = np.where(random.random(size) < 0.2, NAN, frame["x"] // 2)
    frame["level"] = random.choice(LEVELS, size)
    frame.loc[random.random(size) < 0.1, "level"] = None
    frame["letter"] = random.choice(list("abcdefgh"), size)
    signal = frame["x"] + random.integers(0, 4, size)
    frame["y"] = signal if is_regression else (signal % 3).round().astype(str)
    options: Any = {
        "task": "regress" if is_regression else "classify",
        "ordinal": {"level": LEVELS},
    }
    usual = tree_of(frame, **options)
    monkeypatch.setattr(columns, "FEW_VALUES", few)
    monkeypatch.setattr(histogram, "ROOM", room)
    monkeypatch.setattr(rows, "WORTH_THREADS", 0)
    assert tree_of(frame, **options) == usual


def test_a_chain_is_no_trouble() -> None:
    frame = pd.DataFrame({"x": np.arange(4_000.0), "y": ["a", "b"] * 2_000})
    started = time.process_time()
    tree = tree_of(frame, prune="none")
    assert len(tree.nodes) == 7_999
    # Rows of finished nodes are left behind: this takes a second, not a minute.
    assert time.process_time() - started < 30
