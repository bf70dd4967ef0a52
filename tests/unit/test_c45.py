"""C4.5: the figures of the textbook, and the facts that no printed tree shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from treecompile.cli import main
from treecompile.data import DataOptions, Dataset, make_dataset
from treecompile.errors import OptionError
from treecompile.ir import ClassCounts, Leaf, MissingPolicy, Op, Split, Tree
from treecompile.learners.c45 import C45Options, draft, learn
from treecompile.learners.c45_build import build
from treecompile.learners.c45_draft import Cases, Draft, Sample, SplitTest
from treecompile.learners.c45_group import Blocks, best_pair, group_values, merge_pure
from treecompile.learners.c45_prune import (
    added_errors,
    best_label,
    deviate,
    largest,
    leaf_errors,
    prune,
)
from treecompile.learners.c45_splits import Finder, Judged
from treecompile.learners.costs import Costs
from treecompile.learners.limits import Limits
from treecompile.read import read_table

GOLF: dict[str, list[Any]] = {
    "outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
    "temperature": [75, 80, 85, 72, 69, 72, 83, 64, 81, 71, 65, 75, 68, 70],
    "humidity": [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96],
    "windy": [True, True, *[False] * 3, True, False, True, False, True, True]
    + [False] * 3,
    "play": ["y", "n", "n", "n", "y", *["y"] * 4, "n", "n", "y", "y", "y"],
}
UNPRUNED = C45Options(is_pruning=False)


def table(columns: Mapping[str, Any], **options: Any) -> Dataset:
    frame = pd.DataFrame(dict(columns))
    return make_dataset(read_table(frame), DataOptions(frame.columns[-1], **options))


def finder_of(data: Dataset, **options: Any) -> Finder:
    given: dict[str, Any] = {
        "min_leaf": 2,
        "min_gain": 0.0,
        "measure": None,
        "is_ratio": True,
        "is_grouping": False,
        **options,
    }
    return Finder(Sample(data, is_fractional=True), **given)


def judged(data: Dataset, rows: Sequence[int] | None = None) -> Judged:
    finder = finder_of(data)
    chosen = np.arange(len(data.y)) if rows is None else np.array(rows)
    return finder.judge(Cases(chosen, np.ones(len(chosen))), finder.nominal)


def tree_of(data: Dataset, options: C45Options = UNPRUNED, **limits: Any) -> Tree:
    return learn(data, Limits(**{"min_leaf": 2, **limits}), lambda rows: None, options)


def chosen(tree: Tree) -> list[str]:
    """The features that are tested, from the root in the order of the nodes."""
    splits = [node for node in tree.nodes if isinstance(node, Split)]
    return [tree.features[split.branches[0].when.feature].name for split in splits]


def only_test(data: Dataset, **options: Any) -> SplitTest | None:
    finder = finder_of(data, **options)
    return finder.best(finder.sample.everything(), finder.nominal)


# ---------------------------------------------------------------- figures


def test_the_gains_of_golf() -> None:
    found = judged(table(GOLF))
    outlook, temperature, humidity, windy = found.gains
    assert outlook == pytest.approx(0.247, abs=5e-4)
    assert outlook / found.splits[0] == pytest.approx(0.156, abs=5e-4)
    assert windy == pytest.approx(0.048, abs=5e-4)
    # The numbers gain nothing after the correction, so two features make the average.
    assert temperature == humidity == -np.inf
    assert (outlook + windy) / 2 == pytest.approx(0.147, abs=5e-4)


def test_the_cut_below_sunny() -> None:
    found = judged(table(GOLF), range(5))
    assert found.cuts[2] == 77.5
    assert found.gains[2] == pytest.approx(0.771, abs=5e-4)
    tree = tree_of(table(GOLF))
    cut = next(
        node.branches[0].when
        for node in tree.nodes
        if isinstance(node, Split) and node.branches[0].when.op is Op.LE
    )
    assert cut.value == 75.0  # the greatest value of the whole table below 77.5


@pytest.mark.parametrize(
    ("cases", "errors", "expected"),
    [
        (1, 0, 0.7500),
        (3, 0, 1.1101),
        (6, 0, 1.2378),
        (5, 2, 3.2396),
        (14, 5, 6.7950),
        (16, 1, 2.5069),
        (168, 1, 2.6101),
    ],
)
def test_expected_errors(cases: int, errors: int, expected: float) -> None:
    assert errors + added_errors(cases, errors, 0.25) == pytest.approx(
        expected, abs=5e-5
    )


def test_the_deviate_is_interpolated() -> None:
    assert deviate(0.25) == pytest.approx(0.6925)
    assert deviate(0.4) == 0.25
    assert deviate(0.001) == pytest.approx(3.09)
    assert deviate(1.0) == 0.0
    assert deviate(1e-9) == pytest.approx(4.0)


def test_fractions_of_an_error_are_interpolated() -> None:
    none, one = added_errors(8, 0.0, 0.25), added_errors(8, 1.0, 0.25)
    assert added_errors(8, 0.25, 0.25) == pytest.approx(none + 0.25 * (one - none))
    assert added_errors(8, 9e-7, 0.25) == none
    assert added_errors(8, 0.99995, 0.25) == pytest.approx(one, abs=1e-3)
    assert added_errors(5, 4.6, 0.25) == pytest.approx(0.67 * 0.4)
    assert leaf_errors(np.zeros(2), 0, 0.25) == 0.0


# ---------------------------------------------------------------- growing


def test_features_that_gain_nothing_count_in_the_average() -> None:
    """G2: three features without any gain pull the average down."""
    gains = np.array([0.30, 0.10, 0.0, 0.0, 0.0])
    splits = np.array([1.5, 0.2, 1.0, 1.0, 1.0])
    data = table({**{c: ["a", "b"] * 4 for c in "vwxyz"}, "t": ["p", "q"] * 4})
    finder = finder_of(data)
    finder.counted = np.ones(5, bool)
    worth = finder.worth(Judged(gains, splits, gains, {}))
    assert worth[1] == 0.5  # above the average of 0.08: allowed, and the best ratio
    two = np.array([0.30, 0.10, -np.inf, -np.inf, -np.inf])
    assert finder.worth(Judged(two, splits, two, {}))[1] < 0
    slightly = np.array([0.30, 0.10, -0.0009, -0.0009, -0.0009])
    assert finder.worth(Judged(slightly, splits, slightly, {}))[1] == 0.5
    below = np.array([0.30, 0.10, -0.0011, -0.0011, -0.0011])
    assert finder.worth(Judged(below, splits, below, {}))[1] < 0


def test_a_split_without_gain_may_be_chosen() -> None:
    """G2: where nothing gains, the first feature is split all the same."""
    exclusive = {
        "a": ["0", "0", "1", "1"] * 3,
        "b": ["0", "1", "0", "1"] * 3,
        "t": ["p", "q", "q", "p"] * 3,
    }
    assert chosen(tree_of(table(exclusive))) == ["a", "b", "b"]


def test_a_cut_needs_a_gap() -> None:
    """G9: neighbours that differ by 1e-5 or less are not told apart."""
    for step, expected in ((1e-5, None), (1.1e-5, 0.0)):
        values = [0.0] * 4 + [step] * 4
        test = only_test(table({"x": values, "t": ["p"] * 4 + ["q"] * 4}))
        assert (test and test.cut) == expected


def test_a_cut_must_gain_more_than_its_correction() -> None:
    """G11: a numeric feature without gain after it is dropped, not merely poor."""
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    found = judged(table({"x": x, "t": ["p", "q", "p", "q", "q", "p", "q", "p"]}))
    assert found.gains[0] == -np.inf
    found = judged(table({"x": x, "t": ["p"] * 4 + ["q"] * 4}))
    assert found.gains[0] == pytest.approx(1 - np.log2(5) / 8)  # 5 cuts leave 2 cases


def test_the_correction_is_spread_over_all_cases() -> None:
    """G10: those with a missing value included."""
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, np.nan, np.nan]
    found = judged(table({"x": x, "t": [*"ppppqqqqpq"]}))
    assert found.gains[0] == pytest.approx(0.8 - np.log2(5) / 10)


def test_the_lowest_of_equal_cuts_is_taken() -> None:
    """G12."""
    values = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    test = only_test(table({"x": values, "t": ["p", "p", "q", "q", "p", "p"]}))
    assert test is None or test.cut == 1.0
    found = judged(table({"x": values * 4, "t": ["p", "p", "q", "q", "p", "p"] * 4}))
    assert found.cuts[0] == 1.5


def test_many_valued_features_are_left_out_of_the_average() -> None:
    """G1: as many values as 0.3 of the whole table, unless all features are so."""
    many = [f"v{i % 5}" for i in range(12)]
    few = ["a", "b"] * 6
    target = ["p", "q"] * 6
    assert finder_of(table({"m": many, "f": few, "t": target})).counted.tolist() == [
        False,
        True,
    ]
    assert finder_of(table({"m": many, "t": target})).counted.tolist() == [True]
    grouping = finder_of(table({"m": many, "f": few, "t": target}), is_grouping=True)
    assert grouping.counted.all()


def test_a_value_without_cases_is_a_leaf_of_the_majority() -> None:
    """G6: and cases with a missing value are not sent there."""
    data = table(
        {
            "c": pd.Categorical(
                [*"aaaabbbb", None], categories=["a", "b", "z"]
            ),  # z never occurs
            "t": [*"ppppqqqqp"],
        }
    )
    fractional = C45Options(is_pruning=False, policy=MissingPolicy.FRACTIONAL)
    tree = tree_of(data, fractional)
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert [b.weight for b in split.branches] == [4.5, 4.5, 0.0]
    assert tree.nodes[split.branches[2].then] == Leaf("p", ClassCounts((1.0, 0.0)), 0.0)
    single = tree_of(data)
    stand_in = single.nodes[split.branches[2].then]
    assert stand_in == Leaf("p", ClassCounts((5.0, 4.0)), 0.0)


def test_missing_values_in_training() -> None:
    columns = {"x": [1.0] * 4 + [2.0] * 6 + [np.nan] * 2, "t": [*"ppppqqqqqqpq"]}
    parts = tree_of(table(columns), C45Options(is_pruning=False))
    assert [n.weight for n in parts.nodes if isinstance(n, Leaf)] == pytest.approx(
        [4 + 2 * 0.4, 6 + 2 * 0.6]
    )
    whole = tree_of(table(columns), C45Options(is_pruning=False, is_fractional=False))
    assert [n.weight for n in whole.nodes if isinstance(n, Leaf)] == [4.0, 8.0]
    split = whole.nodes[0]
    assert isinstance(split, Split)
    assert [branch.when.missing for branch in split.branches] == [False, True]


def test_a_category_is_not_tested_twice_on_a_path() -> None:
    """G14."""
    tree = tree_of(table(GOLF))
    assert chosen(tree).count("outlook") == 1


def test_limits_are_kept() -> None:
    data = table(GOLF)
    assert len(tree_of(data, max_depth=0).nodes) == 1
    assert len(tree_of(data, max_depth=1).nodes) in (1, 4)
    assert len(tree_of(data, min_split=15).nodes) == 1
    assert len(tree_of(data, min_leaf=8).nodes) == 1
    assert len(tree_of(data, min_gain=0.3).nodes) == 1
    assert len(tree_of(data, min_gain=0.2).nodes) > 1


def test_ordinal_features_are_cut() -> None:
    columns = {"size": [*"SSMMLLSM"], "t": [*"ppqqqqpq"]}
    data = table(columns, ordinal=(("size", ("S", "M", "L")),))
    tree = tree_of(data)
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert [b.when.value for b in split.branches] == ["S", "S"]


@pytest.mark.parametrize("extreme", [np.inf, 1.7976931348623157e308])
def test_thresholds_are_finite(extreme: float) -> None:
    x = [-extreme] * 4 + [extreme] * 4
    tree = tree_of(table({"x": x, "t": [*"ppppqqqq"]}))
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert np.isfinite(split.branches[0].when.value)


def test_features_are_judged_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = judged(table(GOLF))
    monkeypatch.setattr("treecompile.learners.c45_splits.CHUNK", 1)
    parts = judged(table(GOLF))
    assert np.array_equal(whole.gains, parts.gains)
    assert np.array_equal(whole.splits, parts.splits)


def test_every_row_is_settled_once() -> None:
    settled: list[int] = []
    learn(table(GOLF), Limits(min_leaf=2), settled.append)
    assert sum(settled) == 14


def test_depth_is_no_limit() -> None:
    size = 3_000
    frame = {"x": np.arange(size) * 1.0, "t": ["p", "p", "q", "q"] * (size // 4)}
    options = C45Options(is_ratio=False)
    tree = tree_of(table(frame), options)
    assert isinstance(tree, Tree)


# ---------------------------------------------------------------- pruning


def test_a_node_keeps_its_class_at_a_tie() -> None:
    """P2."""
    assert best_label(np.array([2.0, 2.0]), 1) == 1
    assert best_label(np.array([2.0, 2.0]), 0) == 0
    assert best_label(np.array([3.0, 2.0]), 1) == 0
    assert best_label(np.array([2.0, 2.0, 2.0]), 2) == 2
    assert best_label(np.zeros(2), 1) == 1
    data = table({"x": [1.0] * 4, "t": [*"ppqq"]})
    node = Draft(np.array([2.0, 2.0]), 1)
    prune(node, Sample(data, is_fractional=True), 0.25)
    assert node.label == 1
    assert build(node, data, MissingPolicy.BRANCH).nodes[0].value == "q"  # type: ignore[union-attr]
    # By shares, the first label comes first.
    assert build(node, data, MissingPolicy.FRACTIONAL).nodes[0].value == "p"  # type: ignore[union-attr]


def test_the_last_of_the_largest_branches_is_raised() -> None:
    """P3."""
    assert largest(np.array([3.0, 5.0, 5.0, 1.0])) == 2
    assert largest(np.array([5.0, 3.0])) == 0


def raising(target: str) -> tuple[Draft, Sample]:
    """x <= 0 is a leaf, x > 0 tests y: a tree built by hand over 8 + 4 cases."""
    data = table(
        {"x": [1.0] * 8 + [0.0] * 4, "y": [0.0, 0.0, 1.0, 1.0] * 3, "t": [*target]}
    )
    sample = Sample(data, is_fractional=True)
    zeros = np.zeros(len(data.labels))
    inner = Draft(
        zeros, 0, SplitTest(1, 0.1, cut=0.5), [Draft(zeros, 0), Draft(zeros, 0)]
    )
    root = Draft(zeros, 0, SplitTest(0, 0.1, cut=0.5), [Draft(zeros, 0), inner])
    return root, sample


def test_the_largest_branch_takes_the_place_of_its_parent() -> None:
    """P4: with all the cases of the parent."""
    root, sample = raising("ppqqppqq" + "ppqq")
    prune(root, sample, 0.25)
    assert root.test is not None
    assert root.test.feature == 1
    assert [child.weight for child in root.branches] == [6.0, 6.0]
    assert [child.label for child in root.branches] == [0, 1]


def test_a_leaf_must_beat_the_tree_and_the_raised_branch() -> None:
    """P5."""
    # Branches b to f know nothing, so a leaf errs less than the tree; but the test of y
    # below a, the largest, would be right everywhere.
    data = table(
        {
            "c": [*"aaaabbccddeeff"],
            "y": [0.0, 1.0] * 7,
            "t": ["p", "q"] * 7,
        }
    )
    sample = Sample(data, is_fractional=True)
    zeros = np.zeros(2)
    inner = Draft(
        zeros, 0, SplitTest(1, 0.1, cut=0.5), [Draft(zeros, 0), Draft(zeros, 0)]
    )
    singles = tuple((code,) for code in range(6))
    leaves = [Draft(zeros, 0) for _ in range(5)]
    root = Draft(zeros, 0, SplitTest(0, 0.1, groups=singles), [inner, *leaves])
    as_leaf = leaf_errors(np.array([7.0, 7.0]), 0, 0.25)
    pair, pure = np.array([1.0, 1.0]), np.array([2.0, 0.0])
    as_tree = 5 * leaf_errors(pair, 0, 0.25) + 2 * leaf_errors(pure, 0, 0.25)
    assert as_leaf < as_tree
    prune(root, sample, 0.25)
    assert root.test is not None
    assert root.test.feature == 1
    # A split into two leaves: to raise one is to make a leaf, but the tree is better.
    data = table({"x": [0.0] * 4 + [1.0] * 6, "t": [*"ppppqqqqqq"]})
    root = Draft(
        zeros, 0, SplitTest(0, 0.1, cut=0.5), [Draft(zeros, 0), Draft(zeros, 0)]
    )
    prune(root, Sample(data, is_fractional=True), 0.25)
    assert root.test is not None
    data = table({"x": [0.0] * 4 + [1.0] * 6, "t": [*"ppppppppppq"][1:]})
    prune(root, Sample(data, is_fractional=True), 0.25)
    assert root.test is None


def test_more_confidence_prunes_less() -> None:
    random = np.random.default_rng(5)
    columns = {name: random.choice([*"xyz"], 300) for name in "abcd"}
    is_noise = random.random(300) < 0.25
    noisy = np.where((columns["a"] == "x") ^ is_noise, "p", "q")
    data = table({**columns, "t": noisy})
    sizes = [len(tree_of(data, C45Options(cf=cf)).nodes) for cf in (0.01, 0.25, 1.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] <= len(tree_of(data).nodes)


# ---------------------------------------------------------------- groups and costs


def test_pure_blocks_are_merged_first() -> None:
    blocks = Blocks([[0], [1], [2], [3]], np.array([[3, 0], [1, 1], [0, 2], [4, 0.05]]))
    merge_pure(blocks)
    assert blocks.codes == [[0, 3], [1], [2]]


def test_pure_blocks_are_merged_before_the_largest_is_barred() -> None:
    """S3."""
    counts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    found = group_values(counts, np.zeros(2), 2.0, is_ratio=True)
    assert found.groups == ((0, 2), (1, 3))


class Told:
    """A scale that knows the gain and the value of every merger."""

    def __init__(self, mergers: dict[tuple[int, int], tuple[float, float]]) -> None:
        self.mergers = mergers

    def judge_merged(self, counts: Any, one: int, other: int) -> tuple[float, float]:
        return self.mergers[one, other]

    def value(self, gain: float, split: float) -> float:
        return split


def test_a_merger_that_keeps_half_of_the_gain_is_preferred() -> None:
    """S4."""
    blocks = Blocks([[0], [1], [2]], np.ones((3, 2)))
    scale: Any = Told({(0, 1): (0.1, 0.9), (0, 2): (0.6, 0.5), (1, 2): (0.7, 0.4)})
    assert best_pair(blocks, scale, 0.5, -1, False) == ((0, 2), 0.5)
    assert best_pair(blocks, scale, 0.05, -1, False) == ((0, 1), 0.9)
    assert best_pair(blocks, scale, 0.5, 0, False) == ((1, 2), 0.4)
    poor: Any = Told(dict.fromkeys(((0, 1), (0, 2), (1, 2)), (-0.001, -0.001)))
    assert best_pair(blocks, poor, 0.5, -1, False)[0] is None
    assert best_pair(blocks, poor, 0.5, -1, True)[0] is not None


def test_values_with_few_cases_make_the_last_group() -> None:
    counts = np.array([[4.0, 0.0], [0.0, 0.0], [0.0, 4.0], [0.4, 0.0]])
    found = group_values(counts, np.zeros(2), 2.0, is_ratio=True)
    assert found.groups == ((0,), (2,), (1, 3))


def test_groups_of_values() -> None:
    columns = {"c": [*"aabbccdd"] * 2, "t": [*"ppqqppqq"] * 2}
    tree = tree_of(table(columns), C45Options(is_grouping=True))
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert [b.when.op for b in split.branches] == [Op.NOT_IN, Op.IN]
    assert split.branches[1].when.value == ("b", "d")
    many = {"c": [f"v{i}" for i in range(300)], "t": ["p", "q"] * 150}
    with pytest.raises(OptionError, match="--subset: column 'c' has 300 categories"):
        tree_of(table(many), C45Options(is_grouping=True))


@pytest.mark.parametrize(
    ("measure", "gain", "cost", "expected"),
    [
        ("eg2", 1.0, 3.0, 0.25),
        ("cs-id3", 0.5, 2.0, 0.125),
        ("idx", 0.5, 2.0, 0.25),
    ],
)
def test_cost_measures(measure: str, gain: float, cost: float, expected: float) -> None:
    data = table({"a": ["x", "y"], "t": ["p", "q"]})
    worth = Costs((("a", cost),), measure).measure_for(data.features)
    assert worth(np.array([gain]), np.ones(1)) == pytest.approx([expected])


def test_a_cheap_column_is_preferred() -> None:
    columns = {
        "exact": [*"aaaaaabbbbbb"],
        "cheap": [*"aaaaabbbbbbb"],
        "t": [*"ppppppqqqqqq"],
    }
    free = treecompile.learn(pd.DataFrame(columns), target="t", algorithm="c45")
    assert "exact" in free.show()
    for measure in ("eg2", "cs-id3", "idx"):
        model = treecompile.learn(
            pd.DataFrame(columns),
            target="t",
            costs={"exact": 50.0, "cheap": 0.5},
            cost_measure=measure,
        )
        assert "cheap" in model.show()
        assert ("costs", "exact: 50.0, cheap: 0.5") in model.program.options
    ignored = treecompile.learn(
        pd.DataFrame(columns), target="t", costs={"exact": 50.0}, cost_weight=0.0
    )
    assert "exact" in ignored.show()


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cf": 0.0}, "--cf 0.0: expected a number above 0"),
        ({"cf": 1.5}, "--cf 1.5"),
        ({"cf": float("nan")}, "--cf nan"),
        ({"criterion": "gini"}, "--criterion 'gini': c45 has gain-ratio, gain"),
        ({"prune": "some"}, "--prune 'some'"),
        ({"missing": "drop"}, "--missing 'drop'"),
        ({"predict_missing": "drop"}, "--predict-missing 'drop'"),
        ({"cost_measure": "x"}, "--cost-measure 'x': expected eg2 or cs-id3 or idx"),
        ({"cost_weight": -1.0}, "--cost-weight -1.0"),
        ({"costs": {"outlook": 0.0}}, "--costs: 'outlook' costs 0"),
        ({"costs": {"outlook": -2.0}}, "--costs: 'outlook' costs -2"),
        ({"costs": {"outlok": 1.0}}, "--costs: there is no column 'outlok'"),
        ({"costs": {"play": 1.0}}, "--costs: 'play' is the target"),
        ({"algorithm": "cart", "subset": True}, "--subset is for --algorithm c45"),
        (
            {"algorithm": "cart", "criterion": "gain"},
            "--criterion 'gain': cart has gini, entropy",
        ),
        (
            {"algorithm": "cart", "missing": "fractional"},
            "--missing 'fractional': cart has majority",
        ),
        ({"algorithm": "cart", "costs": {"outlook": 1.0}}, "--costs is for"),
        (
            {"algorithm": "cart", "prune": "pessimistic"},
            "--prune 'pessimistic': cart has none,",
        ),
        ({"algorithm": "cart", "cf": 0.1}, "--cf is for"),
    ],
)
def test_what_cannot_be_done_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as raised:
        treecompile.learn(pd.DataFrame(GOLF), target="play", **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_number_is_not_for_c45() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 1.5]})
    with pytest.raises(OptionError, match="c45 predicts labels"):
        treecompile.learn(frame, target="y", algorithm="c45")


def test_defaults() -> None:
    by_labels = treecompile.learn(pd.DataFrame(GOLF), target="play")
    assert by_labels.program.algorithm == "c45"
    assert by_labels.program.options == ()
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 1.5]})
    assert treecompile.learn(frame, target="y").program.algorithm == "cart"
    for algorithm in ("id3", "cart"):
        columns = {"c": [*"aabb"], "t": [*"ppqq"]}
        model = treecompile.learn(
            pd.DataFrame(columns),
            target="t",
            algorithm=algorithm,
            prune="none",
            missing="majority",
            predict_missing="fractional",
        )
        assert isinstance(model.program.body, Tree)
        assert model.program.body.missing is MissingPolicy.FRACTIONAL


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("outlook;3\n", "line 1: expected column,cost"),
        ("outlook,cheap\n", "line 1: the cost 'cheap' is not a number"),
        ("outlook,1\noutlook,2\n", "line 2: 'outlook' is there already"),
        ("outlook,0\n", "expected a number above 0"),
        ("sky,1\n", "there is no column 'sky'"),
    ],
)
def test_a_bad_file_of_costs_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    data, costs = tmp_path / "golf.csv", tmp_path / "costs.csv"
    pd.DataFrame(GOLF).to_csv(data, index=False)
    costs.write_text(text)
    result = CliRunner().invoke(
        main, ["learn", str(data), "--target", "play", "--costs", str(costs)]
    )
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_command_takes_every_option(tmp_path: Path) -> None:
    data, costs = tmp_path / "golf.csv", tmp_path / "costs.csv"
    pd.DataFrame(GOLF).to_csv(data, index=False)
    costs.write_text("column,cost\noutlook,2\n\n")
    out = tmp_path / "model.json"
    arguments = ["learn", str(data), "--target", "play", "-o", str(out)]
    arguments += ["--costs", str(costs), "--cost-measure", "idx", "--cf", "0.5"]
    arguments += ["--criterion", "gain", "--prune", "pessimistic", "--subset"]
    arguments += ["--missing", "majority", "--predict-missing", "fractional"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    model = treecompile.load(out)
    assert dict(model.program.options)["costs"] == "outlook: 2.0"
    missing = CliRunner().invoke(main, [*arguments, "--costs", "absent.csv"])
    assert missing.exit_code == 2
    assert "cannot read absent.csv" in missing.stderr


def test_the_draft_of_golf_is_the_textbook_tree() -> None:
    root = draft(table(GOLF), Limits(min_leaf=2), lambda rows: None, C45Options())
    assert root.errors / 14 == pytest.approx(0.385, abs=5e-4)
