"""Weights of rows and labels, and priors: repeated rows, scikit-learn, rpart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import tree as trees

import treecompile
from treecompile.cli import main
from treecompile.learning.grow.segments import Units
from treecompile.model.errors import DataError, OptionError, TreecompileError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    ClassQuality,
    Leaf,
    Moments,
    Split,
    Tree,
)

CLASSIFIERS = [
    *(("cart", each) for each in ("gini", "entropy", "gain-ratio", "distance")),
    *(("cart", "chi-square"), ("id3", "entropy"), ("id3", "gini")),
    *(("c45", "gain-ratio"), ("c45", "gain")),
]


def random_frame(seed: int, algorithm: str, is_regression: bool) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    size = 60
    letters = random.choice(list("abcdef"), size).astype(object)
    letters[random.random(size) < 0.1] = None
    columns: dict[str, Any] = {
        "letter": letters,
        "level": random.choice(list("pqr"), size),
    }
    if algorithm != "id3":
        columns["x"] = random.normal(size=size).round(1)
        columns["z"] = np.where(random.random(size) < 0.1, np.nan, random.random(size))
    signal = (letters == "a") + (columns["level"] == "p") + random.normal(size=size)
    y = signal.astype(float).round(2)
    columns["y"] = y if is_regression else np.array(list("nop"))[np.digitize(y, [0, 1])]
    return pd.DataFrame(columns)


def tree_of(frame: pd.DataFrame, **options: Any) -> Tree:
    body = treecompile.learn(frame, target="y", **options).program.body
    assert isinstance(body, Tree)
    return body


def same(one: Tree, other: Tree, rel: float) -> None:
    """Equal tests, and equal statistics but for rounding."""
    assert len(one.nodes) == len(other.nodes)
    for mine, yours in zip(one.nodes, other.nodes, strict=True):
        assert numbers(mine) == pytest.approx(numbers(yours), rel=rel, abs=rel)
        assert tests(mine) == tests(yours)
        if isinstance(mine, Leaf) and isinstance(yours, Leaf) and one.labels:
            assert mine.value == yours.value


def tests(node: Any) -> list[Any]:
    branches: tuple[Branch, ...] = getattr(node, "branches", ())
    return [(branch.when, branch.then) for branch in branches]


tests.__test__ = False  # type: ignore[attr-defined]


def numbers(node: Any) -> list[float]:
    stats = node.stats
    found = [node.gain] if isinstance(node, Split) else [node.weight]
    found += [branch.weight for branch in getattr(node, "branches", ())]
    if isinstance(stats, ClassCounts):
        return [*found, *stats.weights]
    return [*found, stats.weight, stats.mean, stats.sse]


# --- weights of rows ------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "criterion"), [*CLASSIFIERS, ("cart", "")])
@pytest.mark.parametrize("seed", range(4))
def test_a_row_of_weight_three_is_three_rows(
    seed: int, algorithm: str, criterion: str
) -> None:
    is_regression = not criterion
    frame = random_frame(seed, algorithm, is_regression)
    weights = np.random.default_rng(seed).integers(1, 4, len(frame))
    options: dict[str, Any] = {"algorithm": algorithm, "criterion": criterion}
    options |= {"task": "regress" if is_regression else "classify", "prune": "none"}
    weighted = tree_of(frame.assign(w=weights), weights="w", **options)
    repeated = tree_of(frame.loc[frame.index.repeat(weights)], **options)
    assert len(weighted.nodes) > 5
    if algorithm == "c45" or is_regression:
        same(weighted, repeated, 1e-9)
    else:
        assert weighted == repeated


@pytest.mark.parametrize("algorithm", ["cart", "id3"])
def test_least_cases_are_rows_whatever_they_weigh(algorithm: str) -> None:
    frame = pd.DataFrame({"x": list("aabb"), "y": list("nnpp"), "w": [9, 9, 9, 9]})
    options: dict[str, Any] = {"algorithm": algorithm, "weights": "w"}
    for limit in ("min_leaf", "min_split"):
        most = 2 if limit == "min_leaf" else 4
        assert len(tree_of(frame, **options, **{limit: most}).nodes) == 3
        assert len(tree_of(frame, **options, **{limit: most + 1}).nodes) == 1


def test_least_cases_of_c45_are_weights() -> None:
    frame = pd.DataFrame({"x": list("aabb"), "y": list("nnpp"), "w": [9, 9, 9, 9]})
    options: dict[str, Any] = {"algorithm": "c45", "weights": "w", "prune": "none"}
    assert len(tree_of(frame, **options, min_leaf=18).nodes) == 3
    assert len(tree_of(frame, **options, min_leaf=19).nodes) == 1


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from([*CLASSIFIERS[:7], ("cart", "")]),
    st.sampled_from([1.0, 1e-7, 3e9]),
)
def test_neither_the_order_of_rows_nor_the_unit_of_weights_matters(
    seed: int, case: tuple[str, str], unit: float
) -> None:
    algorithm, criterion = case
    frame = random_frame(seed, algorithm, is_regression=not criterion)
    random = np.random.default_rng(seed)
    frame["w"] = random.gamma(2.0, size=len(frame))
    options: dict[str, Any] = {
        "algorithm": algorithm,
        "criterion": criterion,
        "weights": "w",
        "prune": "none",
    }
    options["task"] = "classify" if criterion else "regress"
    first = tree_of(frame, **options)
    shuffled = frame.iloc[random.permutation(len(frame))]
    same(first, tree_of(shuffled, **options), 1e-12)
    scaled = tree_of(frame.assign(w=frame["w"] * unit), **options)
    assert list(map(tests, scaled.nodes)) == list(map(tests, first.nodes))


def test_weights_are_shown_without_the_dust_of_rounding() -> None:
    frame = pd.DataFrame({"x": list("aaabbb"), "y": list("nnnppp"), "w": [0.1] * 6})
    for algorithm in ("cart", "id3"):
        tree = tree_of(frame, algorithm=algorithm, weights="w")
        assert tree.nodes[0].stats == ClassCounts((0.3, 0.3))
        assert [branch.weight for branch in tree.nodes[0].branches] == [0.3, 0.3]  # type: ignore[union-attr]


def test_weights_of_any_size_next_to_each_other() -> None:
    weights = [1e-90, 1e90, 1e-90, 1.0]
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": list("npnp"), "w": weights})
    tree = tree_of(frame, algorithm="cart", weights="w")
    leaves = [node for node in tree.nodes if isinstance(node, Leaf)]
    assert [leaf.value for leaf in leaves] == list("npnp")
    assert all(leaf.weight > 0 for leaf in leaves)
    units = Units.of(np.array(weights))
    assert units.of_rows.tolist() == [1, units.of_rows[1], 1, 1]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 4))
def test_scikit_learn_grows_the_same_tree_from_weighted_rows(
    seed: int, is_regression: bool, depth: int
) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(80, 3)).astype(np.float32).astype(np.float64)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + random.normal(size=80) / 2
    y: Any = signal if is_regression else np.digitize(signal, [-0.5, 0.5])
    w = random.gamma(2.0, size=80)
    kind = (
        trees.DecisionTreeRegressor if is_regression else trees.DecisionTreeClassifier
    )
    # Leaves of five rows: fewer are told apart equally well by several features.
    theirs = kind(max_depth=depth, min_samples_leaf=5, random_state=0)
    theirs.fit(x, y, sample_weight=w)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=y, w=w)
    tree = tree_of(
        frame,
        algorithm="cart",
        weights="w",
        task="regress" if is_regression else "classify",
        max_depth=depth,
        min_leaf=5,
        prune="none",
    )
    assert_like_theirs(tree, theirs.tree_)


def assert_like_theirs(tree: Tree, theirs: Any) -> None:
    stack = [(0, 0)]
    while stack:
        here, there = stack.pop()
        node = tree.nodes[here]
        weight = theirs.weighted_n_node_samples[there]
        assert node.stats.weight == pytest.approx(weight, rel=1e-9)
        if isinstance(node.stats, Moments):
            assert node.stats.mean == pytest.approx(theirs.value[there][0][0])
            assert node.stats.sse == pytest.approx(theirs.impurity[there] * weight)
        else:
            shares = np.array(node.stats.weights) / node.stats.weight
            np.testing.assert_allclose(shares, theirs.value[there][0], atol=1e-9)
        if isinstance(node, Leaf):
            # What is pure but for rounding is split on there.
            assert theirs.children_left[there] < 0 or theirs.impurity[there] < 1e-14
            continue
        when = node.branches[0].when
        assert when.feature == theirs.feature[there]
        assert when.value == pytest.approx(theirs.threshold[there])
        children = theirs.children_left[there], theirs.children_right[there]
        parts = (
            weight
            - sum(
                theirs.weighted_n_node_samples[c] * theirs.impurity[c] for c in children
            )
            / theirs.impurity[there]
        )
        assert node.gain * weight == pytest.approx(parts * theirs.impurity[there])
        stack += zip((branch.then for branch in node.branches), children, strict=True)


# --- weights of labels ----------------------------------------------------------------


@pytest.mark.parametrize("given", ["balanced", {"low": 3.0, "high": 0.25}])
@pytest.mark.parametrize("seed", range(5))
def test_class_weights_are_those_of_scikit_learn(seed: int, given: Any) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(150, 3)).astype(np.float32).astype(np.float64)
    signal = x[:, 0] + x[:, 1] + random.normal(size=150)
    y = np.array(["high", "low", "mid"])[np.digitize(signal, [-0.2, 1.5])]
    theirs = trees.DecisionTreeClassifier(
        class_weight=given, max_depth=3, min_samples_leaf=5, random_state=0
    ).fit(x, y)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=y)
    options: dict[str, Any] = {"algorithm": "cart", "max_depth": 3, "min_leaf": 5}
    options["prune"] = "none"
    assert_like_theirs(tree_of(frame, class_weight=given, **options), theirs.tree_)
    # And on top of the weights of the rows.
    w = random.gamma(2.0, size=150)
    theirs.fit(x, y, sample_weight=w)
    weighted = tree_of(frame.assign(w=w), weights="w", class_weight=given, **options)
    assert_like_theirs(weighted, theirs.tree_)


def test_labels_of_other_types_are_named_by_their_text() -> None:
    for labels in ([1, 2], [True, False], [0.5, 1.5], ["1", "2"]):
        frame = pd.DataFrame({"x": list("aab"), "y": [labels[0], labels[1], labels[1]]})
        options: dict[str, Any] = {"algorithm": "id3", "task": "classify"}
        by_label = tree_of(frame, class_weight={labels[0]: 2}, **options)
        text = str(labels[0]).lower()
        assert tree_of(frame, class_weight={text: 2}, **options) == by_label
        place = sorted(labels).index(labels[0])
        assert by_label.nodes[0].stats.weights[place] == 2.0  # type: ignore[union-attr]


def test_quality_counts_rows_and_files_say_what_was_weighed(tmp_path: Path) -> None:
    frame = random_frame(1, "cart", is_regression=False).assign(w=2.5)
    model = treecompile.learn(frame, target="y", weights="w", class_weight={"n": 2})
    options = dict(model.program.options)
    assert options["weights"] == "w"
    assert options["class_weight"] == "n: 2"
    assert "w" not in [feature.name for feature in model.program.body.features]
    training = model.program.training
    assert training is not None
    assert training.rows == len(frame)
    path = tmp_path / "model.json"
    model.save(path)
    assert treecompile.load(path).program == model.program


def test_a_note_where_weights_are_hardly_numbers_of_cases() -> None:
    frame = random_frame(1, "cart", is_regression=False)

    def notes(weight: float, **options: Any) -> str:
        model = treecompile.learn(
            frame.assign(w=weight), target="y", weights="w", **options
        )
        return " ".join(model.notes)

    told = "numbers of cases, 5000 for each row"
    assert told in notes(5000.0, algorithm="c45")
    assert told in notes(5000.0, algorithm="cart", chi2=0.1)
    assert told not in notes(5000.0, algorithm="cart")
    assert "0.01 for each row" in notes(0.01, algorithm="c45")
    assert "for each row" not in notes(3.0, algorithm="c45")


def test_cross_validation_weighs_as_well() -> None:
    frame = random_frame(1, "cart", is_regression=False).assign(w=0.5)
    options: dict[str, Any] = {"target": "y", "k": 3, "algorithm": "cart"}
    plain = treecompile.cross_validate(frame.drop(columns="w"), **options)
    even = treecompile.cross_validate(frame, weights="w", **options)
    assert even.quality == plain.quality
    uneven = treecompile.cross_validate(
        frame, weights="w", class_weight={"n": 50}, max_depth=1, **options
    )
    assert isinstance(uneven.quality, ClassQuality)
    predicted = np.sum(uneven.quality.confusion, axis=0)
    assert predicted[0] > len(frame) / 2
    with pytest.raises(OptionError, match="no label 'z'"):
        treecompile.cross_validate(frame, class_weight={"z": 2}, **options)
    with pytest.raises(OptionError, match="'even'"):
        treecompile.cross_validate(frame, class_weight="even", **options)


# --- what is refused ------------------------------------------------------------------

PLAIN = pd.DataFrame({"x": list("aabb"), "y": list("nnpp"), "w": [1.0, 2, 3, 4]})


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            0.0,
            r"row 3: its weight 'w' is 0: expected a finite number above 0, or leave",
        ),
        (-1.0, r"row 3: its weight 'w' is -1: expected a finite number above 0$"),
        (np.nan, r"row 3: its weight 'w' is missing: add it"),
        (np.inf, r"row 3: its weight 'w' is inf: expected"),
        (1e200, r"row 3: its weight 'w' is 1e\+200: expected"),
    ],
)
def test_weights_that_are_none(weight: float, message: str) -> None:
    frame = PLAIN.assign(w=[1, 2, weight, 4])
    with pytest.raises(DataError, match=message):
        treecompile.learn(frame, target="y", weights="w")


def test_the_row_is_that_of_the_file() -> None:
    # Rows without a target are left out, but counted.
    frame = pd.DataFrame({"x": list("aabb"), "y": [None, "n", "p", "p"], "w": [0] * 4})
    with pytest.raises(DataError, match="row 2: its weight"):
        treecompile.learn(frame, target="y", weights="w")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "v"}, "no column 'v'"),
        ({"weights": "y"}, "weights='y': this column is the target"),
        ({"weights": "w", "ignore": "w"}, "weights='w': ignore names this column"),
        ({"weights": "x"}, "'x' is 'a': expected a number"),
        ({"class_weight": {"q": 2}}, "'y' has no label 'q': expected one of n, p"),
        (
            {"class_weight": {"n": 0}},
            "class_weight={'n': 0}: expected a number above 0",
        ),
        ({"class_weight": {"n": -2}}, "class_weight={'n': -2}: expected"),
        ({"class_weight": {"n": np.inf}}, "class_weight={'n': inf}: expected"),
        ({"class_weight": {"n": np.nan}}, "class_weight={'n': nan}: expected"),
        (
            {"class_weight": "even"},
            "class_weight='even': expected a mapping or 'balanced'",
        ),
        (
            {"target": "w", "task": "regress", "class_weight": "balanced"},
            "class_weight is for labels",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TreecompileError, match=message):
        treecompile.learn(PLAIN, **{"target": "y", **options})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--class-weight", "n"], "--class-weight 'n': expected NAME=VALUE"),
        (["--class-weight", "n=x"], "'x' is not a number"),
        (["--class-weight", "n=1", "--class-weight", "n=2"], "'n' twice"),
        (["--class-weight", "n=1", "--class-weight", "balanced"], "not both"),
        (["--weights", "v"], "no column 'v'"),
    ],
)
def test_the_command_line_says_it_in_one_line(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "model.json"
    PLAIN.to_csv(data, index=False)
    result = CliRunner().invoke(
        main, ["learn", str(data), "--target", "y", "-o", str(out), *arguments]
    )
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not out.exists()


def test_the_command_line_weighs(tmp_path: Path) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "model.json"
    PLAIN.to_csv(data, index=False)
    arguments = ["--weights", "w", "--class-weight", "n=2", "--algorithm", "cart", "-q"]
    result = CliRunner().invoke(
        main, ["learn", str(data), "--target", "y", "-o", str(out), *arguments]
    )
    assert result.exit_code == 0, result.stderr
    body = treecompile.load(out).program.body
    expected = tree_of(PLAIN, algorithm="cart", weights="w", class_weight={"n": 2})
    assert body == replace(expected)
    assert expected.nodes[0].stats == ClassCounts((6.0, 7.0))
    with pytest.raises(OptionError):
        tree_of(PLAIN, weights="w", class_weight={"x": 2})
