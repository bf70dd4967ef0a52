"""C4.5: the figures of the textbook, and facts that no printed tree shows."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from treecompile.cli import main
from treecompile.learning.c45 import pessimistic_pruning
from treecompile.learning.c45.case_columns import make_case_column
from treecompile.learning.c45.case_level import CaseLevel
from treecompile.learning.c45.category_groups import (
    ValueGroups,
    best_pair,
    group_values,
    merge_pure,
)
from treecompile.learning.c45.fractional_cases import NodeCases, Sample
from treecompile.learning.c45.gain_ratio import (
    FeatureChoice,
    GainCandidates,
    counted_features,
)
from treecompile.learning.c45.learner import C45Options, draft, learn
from treecompile.learning.c45.pessimistic_pruning import (
    CaseDraft,
    fall,
    finish_case_tree,
    last_largest,
    prune,
)
from treecompile.learning.costs import worth_of
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.segments import Segments
from treecompile.learning.options import GrowthLimits
from treecompile.measure.statistics import (
    added_errors,
    best_labels,
    deviate,
    leaf_errors,
)
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassCounts, Leaf, Op, Split, Tree
from treecompile.tables.dataset import Dataset, make_dataset, take
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table

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


def choice_of(features: int) -> FeatureChoice:
    return FeatureChoice(np.full(features, True), 0.0, None, True)


def judged(data: Dataset) -> list[Any]:
    """Gain, split information and cut of each feature at the root."""
    sample = Sample(data, is_fractional=True)
    cases = sample.everything()
    level = CaseLevel.of(sample, cases, sample.counts(cases), 2.0)
    found = []
    for place in range(len(data.features)):
        column = make_case_column(sample, place, is_grouping=False, is_ratio=True)
        each = column.search(level, np.array([0]))
        assert isinstance(each, GainCandidates)
        found.append(
            (float(each.gains[0]), float(each.split_info[0]), float(each.thresholds[0]))
        )
    return found


def tree_of(data: Dataset, options: C45Options = UNPRUNED, **limits: Any) -> Tree:
    return learn(
        data, GrowthLimits(**{"min_leaf": 2, **limits}), lambda rows: None, options
    )


def chosen(tree: Tree) -> list[str]:
    """The features that are tested, from the root in the order of the nodes."""
    splits = [node for node in tree.nodes if isinstance(node, Split)]
    return [tree.features[split.branches[0].when.feature].name for split in splits]


def only_cut(data: Dataset) -> Any:
    """The cut at the root, None if it is a leaf."""
    root = tree_of(data, max_depth=1).nodes[0]
    return root.branches[0].when.value if isinstance(root, Split) else None


def drafted(shape: Any, classes: int = 2) -> CaseDraft:
    """A draft by hand: (feature, cut or groups, branches) is a split, else a leaf."""
    nodes, level = [shape], [shape]
    firsts: dict[int, int] = {}
    start = 0
    while level:
        below: list[Any] = []
        for place, each in enumerate(level, start):
            if isinstance(each, tuple):
                firsts[place] = len(nodes) + len(below) - 1
                below += each[2]
        start = len(nodes)
        nodes += below
        level = below
    tests = Splits.none(len(nodes))
    for place, each in enumerate(nodes):
        if isinstance(each, tuple):
            feature, by, branches = each
            tests.feature[place], tests.size[place] = feature, len(branches)
            tests.gain[place] = 0.1
            if isinstance(by, tuple):
                tests.groups[place] = by
            else:
                tests.threshold[place] = by
    count = len(nodes)
    draft = CaseDraft(
        tests,
        np.zeros((count, classes)),
        np.zeros(count),
        np.array([firsts.get(place, 0) for place in range(count)]),
        np.arange(1, count),
        np.zeros(count - 1),
    )
    draft.label = np.array([each if isinstance(each, int) else 0 for each in nodes])
    return draft


# ---------------------------------------------------------------- figures


def test_the_gains_of_golf() -> None:
    found = judged(table(GOLF))
    outlook, temperature, humidity, windy = (gain for gain, _, _ in found)
    assert outlook == pytest.approx(0.247, abs=5e-4)
    assert outlook / found[0][1] == pytest.approx(0.156, abs=5e-4)
    assert windy == pytest.approx(0.048, abs=5e-4)
    # The numbers gain nothing after the correction, so two features make the average.
    assert temperature == humidity == -np.inf
    assert (outlook + windy) / 2 == pytest.approx(0.147, abs=5e-4)


def test_the_cut_below_sunny() -> None:
    gain, _, cut = judged(take(table(GOLF), np.arange(5)))[2]
    assert cut == 77.5
    assert gain == pytest.approx(0.771, abs=5e-4)
    tree = tree_of(table(GOLF))
    cut = next(
        node.branches[0].when
        for node in tree.nodes
        if isinstance(node, Split) and node.branches[0].when.op is Op.LE
    )
    assert cut.value == 75.0  # the greatest value of the whole table below 77.5


def added(cases: float, errors: float) -> float:
    return float(added_errors(np.array(cases * 1.0), np.array(errors), 0.25))


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
    assert errors + added(cases, errors) == pytest.approx(expected, abs=5e-5)


def test_the_deviate_is_interpolated() -> None:
    assert deviate(0.25) == pytest.approx(0.6925)
    assert deviate(0.4) == 0.25
    assert deviate(0.001) == pytest.approx(3.09)
    assert deviate(1.0) == 0.0
    assert deviate(1e-9) == pytest.approx(4.0)


def test_fractions_of_an_error_are_interpolated() -> None:
    none, one = added(8, 0.0), added(8, 1.0)
    assert added(8, 0.25) == pytest.approx(none + 0.25 * (one - none))
    assert added(8, 9e-7) == none
    assert added(8, 0.99995) == pytest.approx(one, abs=1e-3)
    assert added(5, 4.6) == pytest.approx(0.67 * 0.4)
    assert leaf_errors(np.zeros((1, 2)), np.array([0]), 0.25).tolist() == [0.0]


# ---------------------------------------------------------------- growing


def test_features_that_gain_nothing_count_in_the_average() -> None:
    """G2: three features without any gain pull the average down."""
    gains = np.array([0.30, 0.10, 0.0, 0.0, 0.0])
    splits = np.array([1.5, 0.2, 1.0, 1.0, 1.0])
    worth = choice_of(5).worth(gains[None], splits[None])[0]
    assert worth[1] == 0.5  # above the average of 0.08: allowed, and the best ratio
    nothing, slight, below = -np.inf, -0.0009, -0.0011
    for rest, expected in ((nothing, -1.0), (slight, 0.5), (below, -1.0)):
        two = np.array([[0.30, 0.10, rest, rest, rest]])
        assert choice_of(5).worth(two, splits[None])[0, 1] == expected


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
        cut = only_cut(table({"x": values, "t": ["p"] * 4 + ["q"] * 4}))
        assert cut == expected


def test_a_cut_must_gain_more_than_its_correction() -> None:
    """G11: a numeric feature without gain after it is dropped, not merely poor."""
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    ((gain, _, _),) = judged(table({"x": x, "t": [*"pqpqqpqp"]}))
    assert gain == -np.inf
    ((gain, _, _),) = judged(table({"x": x, "t": ["p"] * 4 + ["q"] * 4}))
    assert gain == pytest.approx(1 - np.log2(5) / 8)  # 5 cuts leave 2 cases


@pytest.mark.parametrize("ones", range(2, 9))
def test_a_cut_without_gain_is_none_however_it_is_rounded(ones: int) -> None:
    """Both sides alike: the only cut gains nothing, and has no correction to pay."""
    for others in range(1, 20):
        x = np.repeat([0.0, 1.0], ones + others)
        target = [*"p" * ones, *"q" * others] * 2
        ((gain, _, _),) = judged(table({"x": x, "t": target}))
        assert gain == -np.inf


def test_the_correction_is_spread_over_all_cases() -> None:
    """G10: those with a missing value included."""
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, np.nan, np.nan]
    ((gain, _, _),) = judged(table({"x": x, "t": [*"ppppqqqqpq"]}))
    assert gain == pytest.approx(0.8 - np.log2(5) / 10)


def test_the_lowest_of_equal_cuts_is_taken() -> None:
    """G12."""
    values = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    target = ["p", "p", "q", "q", "p", "p"]
    assert only_cut(table({"x": values, "t": target})) in (None, 1.0)
    ((_, _, cut),) = judged(table({"x": values * 4, "t": target * 4}))
    assert cut == 1.5
    many = np.repeat(np.arange(99.0), 4)  # more values than are counted
    labels = np.repeat([*"pqp"], 4 * 33)
    ((_, _, cut),) = judged(table({"x": many, "t": labels}))
    assert cut == 32.5


def test_many_valued_features_are_left_out_of_the_average() -> None:
    """G1: as many values as 0.3 of the whole table, unless all features are so."""
    many = [f"v{i % 5}" for i in range(12)]
    few = ["a", "b"] * 6
    target = ["p", "q"] * 6
    data = table({"m": many, "f": few, "t": target})
    assert counted_features(data.features, len(data.y), is_grouping=False).tolist() == [
        False,
        True,
    ]
    assert counted_features(data.features, len(data.y), is_grouping=True).all()
    alone = table({"m": many, "t": target})
    assert counted_features(
        alone.features, len(alone.y), is_grouping=False
    ).tolist() == [True]


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
    tree = tree_of(data, C45Options(is_pruning=False))
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert [b.weight for b in split.branches] == [4.5, 4.5, 0.0]
    assert tree.nodes[split.branches[2].then] == Leaf("p", ClassCounts((5.0, 4.0)), 0.0)


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


def test_no_cut_where_no_finite_threshold_is() -> None:
    x = [-np.inf] * 4 + [-1.7976931348623157e308] * 4
    assert len(tree_of(table({"x": x, "t": [*"ppppqqqq"]})).nodes) == 1


def test_nodes_are_grouped_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    columns = {name: random.choice([*"abcdef"], 300) for name in "uvw"}
    target = np.where(np.isin(columns["u"], [*"ab"]) ^ (columns["v"] == "c"), "p", "q")
    data = table({**columns, "t": target})
    grouping = C45Options(is_grouping=True)
    whole = tree_of(data, grouping)
    monkeypatch.setattr("treecompile.learning.c45.case_columns.MOST_CELLS", 1)
    assert tree_of(data, grouping) == whole
    assert len(whole.nodes) > 5


def test_every_row_is_settled_once() -> None:
    settled: list[int] = []
    learn(table(GOLF), GrowthLimits(min_leaf=2), settled.append)
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
    counts = np.array([[2.0, 2.0], [2.0, 2.0], [3.0, 2.0], [0.0, 0.0]])
    assert best_labels(counts, np.array([1, 0, 1, 1])).tolist() == [1, 0, 0, 1]
    assert best_labels(np.full((1, 3), 2.0), np.array([2])).tolist() == [2]
    data = table({"x": [1.0] * 4, "t": [*"ppqq"]})
    draft = drafted(1)
    prune(draft, Sample(data, is_fractional=True), 0.25)
    assert draft.label.tolist() == [1]
    leaf = finish_case_tree(draft, data.features, data.labels).nodes[0]
    assert isinstance(leaf, Leaf)
    assert leaf.value == "q"


def test_the_last_of_the_largest_branches_is_raised() -> None:
    """P3."""
    known = np.array([3.0, 5.0, 5.0, 1.0, 5.0, 3.0])
    parts = Segments.of(np.array([4, 2]))
    assert last_largest(known, parts).tolist() == [2, 4]


def raising(target: str) -> tuple[CaseDraft, Sample]:
    """x <= 0 is a leaf, x > 0 tests y: a tree built by hand over 8 + 4 cases."""
    data = table(
        {"x": [1.0] * 8 + [0.0] * 4, "y": [0.0, 0.0, 1.0, 1.0] * 3, "t": [*target]}
    )
    sample = Sample(data, is_fractional=True)
    return drafted((0, 0.5, [0, (1, 0.5, [0, 0])])), sample


@pytest.mark.parametrize("part", [50, 250, 10_000])
def test_cases_fall_part_by_part(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pessimistic_pruning, "PART", part)
    random = np.random.default_rng(part)
    x, y = random.random((2, 600))
    codes = random.integers(0, 2, 600)
    data = table({"x": x, "y": y, "t": ["pq"[code] for code in codes]})
    left, right = (1, 0.5, [0, 0]), (1, 0.3, [0, (0, 0.8, [0, 0])])
    draft = drafted((0, 0.5, [left, right]))
    starts, sizes = np.array([1, 2, 1, 6]), np.array([200, 250, 100, 50])
    expected: dict[tuple[int, int], list[float]] = {}
    for row, root in enumerate(np.repeat(np.arange(4), sizes).tolist()):
        node = int(starts[root])
        while (tested := int(draft.splits.feature[node])) >= 0:
            is_above = (x, y)[tested][row] > draft.splits.threshold[node]
            node = int(draft.child[draft.first[node] + is_above])
        expected.setdefault((root, node), [0.0, 0.0])[codes[row]] += 1
    with ThreadPoolExecutor(2) as pool:
        sample = Sample(data, is_fractional=True, run=pool.map)
        cases = NodeCases(np.arange(600), None, Segments.of(sizes))
        found = fall(sample, draft, starts, cases)
    reached = zip(*(each.tolist() for each in found), strict=True)
    assert {(root, leaf): each for root, leaf, each in reached} == expected


def test_the_largest_branch_takes_the_place_of_its_parent() -> None:
    """P4: with all the cases of the parent."""
    draft, sample = raising("ppqqppqq" + "ppqq")
    prune(draft, sample, 0.25)
    assert draft.splits.feature[0] == 1
    root, left, right = draft.reading_order()
    assert root == 0
    assert draft.stats[[left, right]].tolist() == [[6.0, 0.0], [0.0, 6.0]]
    assert draft.label[[left, right]].tolist() == [0, 1]


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
    singles = tuple((code,) for code in range(6))
    draft = drafted((0, singles, [(1, 0.5, [0, 0]), 0, 0, 0, 0, 0]))
    as_leaf, pair, pure = leaf_errors(
        np.array([[7.0, 7.0], [1.0, 1.0], [2.0, 0.0]]), np.zeros(3, np.intp), 0.25
    )
    assert as_leaf < 5 * pair + 2 * pure  # which is what the tree is expected to err
    prune(draft, sample, 0.25)
    assert draft.splits.feature[0] == 1
    # A split into two leaves: to raise one is to make a leaf, but the tree is better.
    data = table({"x": [0.0] * 4 + [1.0] * 6, "t": [*"ppppqqqqqq"]})
    draft = drafted((0, 0.5, [0, 0]))
    prune(draft, Sample(data, is_fractional=True), 0.25)
    assert draft.splits.feature[0] == 0
    data = table({"x": [0.0] * 4 + [1.0] * 6, "t": [*"ppppppppppq"][1:]})
    prune(draft, Sample(data, is_fractional=True), 0.25)
    assert draft.splits.feature[0] == -1


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
    blocks = ValueGroups(
        [[0], [1], [2], [3]], np.array([[3, 0], [1, 1], [0, 2], [4, 0.05]])
    )
    merge_pure(blocks)
    assert blocks.codes == [[0, 3], [1], [2]]


def test_pure_blocks_are_merged_before_the_largest_is_barred() -> None:
    """S3."""
    counts = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    _, _, groups = group_values(counts, np.zeros(2), 2.0, is_ratio=True)
    assert groups == ((0, 2), (1, 3))


class Told:
    """A scale that knows the gain and the value of every merger."""

    def __init__(self, mergers: dict[tuple[int, int], tuple[float, float]]) -> None:
        self.mergers = mergers

    def measure_merged(self, counts: Any, one: int, other: int) -> tuple[float, float]:
        return self.mergers[one, other]

    def value(self, gain: float, split: float) -> float:
        return split


def test_a_merger_that_keeps_half_of_the_gain_is_preferred() -> None:
    """S4."""
    blocks = ValueGroups([[0], [1], [2]], np.ones((3, 2)))
    scale: Any = Told({(0, 1): (0.1, 0.9), (0, 2): (0.6, 0.5), (1, 2): (0.7, 0.4)})
    assert best_pair(blocks, scale, 0.5, -1, False) == ((0, 2), 0.5)
    assert best_pair(blocks, scale, 0.05, -1, False) == ((0, 1), 0.9)
    assert best_pair(blocks, scale, 0.5, 0, False) == ((1, 2), 0.4)
    poor: Any = Told(dict.fromkeys(((0, 1), (0, 2), (1, 2)), (-0.001, -0.001)))
    assert best_pair(blocks, poor, 0.5, -1, False)[0] is None
    assert best_pair(blocks, poor, 0.5, -1, True)[0] is not None


def test_values_with_few_cases_make_the_last_group() -> None:
    counts = np.array([[4.0, 0.0], [0.0, 0.0], [0.0, 4.0], [0.4, 0.0]])
    _, _, groups = group_values(counts, np.zeros(2), 2.0, is_ratio=True)
    assert groups == ((0,), (2,), (1, 3))


def test_groups_of_values() -> None:
    columns = {"c": [*"aabbccdd"] * 2, "t": [*"ppqqppqq"] * 2}
    tree = tree_of(table(columns), C45Options(is_grouping=True))
    split = tree.nodes[0]
    assert isinstance(split, Split)
    assert [b.when.op for b in split.branches] == [Op.NOT_IN, Op.IN]
    assert split.branches[1].when.value == ("b", "d")
    many = {"c": [f"v{i}" for i in range(300)] * 2, "t": ["p", "q"] * 300}
    with pytest.raises(OptionError, match="subset: column 'c' has 300 categories"):
        tree_of(table(many), C45Options(is_grouping=True))


def test_gain_and_cost_are_combined_by_eg2() -> None:
    data = table({"a": ["x", "y"], "t": ["p", "q"]})
    worth = worth_of([("a", 3.0)], data.features)
    assert worth(np.array([1.0])) == pytest.approx([0.25])


def test_a_cheap_column_is_preferred() -> None:
    columns = {
        "exact": [*"aaaaaabbbbbb"],
        "cheap": [*"aaaaabbbbbbb"],
        "t": [*"ppppppqqqqqq"],
    }
    free = treecompile.learn(pd.DataFrame(columns), target="t", algorithm="c45")
    assert "exact" in free.show()
    model = treecompile.learn(
        pd.DataFrame(columns), target="t", costs={"exact": 50.0, "cheap": 0.5}
    )
    assert "cheap" in model.show()
    assert ("costs", "exact: 50.0, cheap: 0.5") in model.program.options


@pytest.mark.parametrize("cost", [5e-324, 1.7976931348623157e308])
def test_the_most_extreme_costs_decide_without_a_warning(cost: float) -> None:
    columns = {
        "first": [*"aaaaaabbbbbb"],
        "second": [*"aaaaaabbbbbb"],
        "t": [*"ppppppqqqqqq"],
    }
    model = treecompile.learn(
        pd.DataFrame(columns),
        target="t",
        costs={"second": cost},
    )
    assert ("second" in model.show()) == (cost < 1)


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cf": 0.0}, "cf=0.0: expected a number above 0"),
        ({"cf": 1.5}, "cf=1.5"),
        ({"cf": float("nan")}, "cf=nan"),
        (
            {"criterion": "gini"},
            "criterion='gini': expected gain-ratio or gain for c45",
        ),
        ({"prune": "some"}, "prune='some'"),
        ({"missing": "drop"}, "missing='drop'"),
        ({"costs": {"outlook": 0.0}}, "costs: 'outlook' costs 0"),
        ({"costs": {"outlook": -2.0}}, "costs: 'outlook' costs -2"),
        ({"costs": {"outlok": 1.0}}, "costs: no column 'outlok'"),
        ({"costs": {"play": 1.0}}, "costs: 'play' is the target"),
        ({"algorithm": "cart", "subset": True}, "subset is for algorithm=c45"),
        (
            {"algorithm": "cart", "criterion": "gain"},
            "criterion='gain': expected gini, entropy",
        ),
        (
            {"algorithm": "cart", "missing": "fractional"},
            "missing='fractional': expected majority for cart",
        ),
        ({"algorithm": "cart", "costs": {"outlook": 1.0}}, "costs is for"),
        (
            {"algorithm": "cart", "prune": "pessimistic"},
            "prune='pessimistic': expected cost-complexity, none",
        ),
        ({"algorithm": "cart", "cf": 0.1}, "cf is for"),
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
        )
        assert isinstance(model.program.body, Tree)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("outlook;3\n", "line 1: expected two fields, column,cost"),
        ("outlook,cheap\n", "line 1: the cost is 'cheap': expected a number"),
        ("outlook,1\noutlook,2\n", "line 2: 'outlook' has a cost already"),
        ("outlook,0\n", "expected a number above 0"),
        ("sky,1\n", "no column 'sky'"),
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
    arguments += ["--costs", str(costs), "--cf", "0.5"]
    arguments += ["--criterion", "gain", "--prune", "pessimistic", "--subset"]
    arguments += ["--missing", "majority"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    model = treecompile.load(out)
    assert dict(model.program.options)["costs"] == "outlook: 2.0"
    absent = [*arguments, "--force", "--costs", "absent.csv"]
    missing = CliRunner().invoke(main, absent)
    assert missing.exit_code == 2
    assert "cannot read 'absent.csv'" in missing.stderr


def test_the_draft_of_golf_is_the_textbook_tree() -> None:
    made = draft(table(GOLF), GrowthLimits(min_leaf=2), lambda rows: None, C45Options())
    assert made.errors[0] / 14 == pytest.approx(0.385, abs=5e-4)
