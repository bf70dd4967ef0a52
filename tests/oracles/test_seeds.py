"""The worked examples of textbooks: their figures, their tables, their trees."""

from __future__ import annotations

from math import floor

import numpy as np
import pandas as pd
import pytest

import treecompile
from treecompile.learning.grow.criteria import (
    ContingencyTable,
    entropy,
    gain,
    gini,
    remaining,
)
from treecompile.learning.grow.search import midpoints
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Floats
from treecompile.model.ir import Branch, ClassCounts, Condition, Leaf, Op, Split, Tree


def table(text: str) -> pd.DataFrame:
    header, *rows = (line.split() for line in text.strip().splitlines())
    return pd.DataFrame(rows, columns=header)


TENNIS = table("""
    outlook temperature humidity wind   play
    sunny   high        high     weak   no
    sunny   high        high     strong no
    cloudy  high        high     weak   yes
    rainy   medium      high     weak   yes
    rainy   low         normal   weak   yes
    rainy   low         normal   strong no
    cloudy  low         normal   strong yes
    sunny   medium      high     weak   no
    sunny   low         normal   weak   yes
    rainy   medium      normal   weak   yes
    sunny   medium      normal   strong yes
    cloudy  medium      high     strong yes
    cloudy  high        normal   weak   yes
    rainy   medium      high     strong no
    """)

# The weights are made up; that 2, 4 and 7 of them lie below 8, 9 and 13, and how many
# of those are cats, is not.
CATS = table("""
    ear    face  whiskers weight animal
    pointy round present   7     cat
    pointy round absent    7.5   cat
    floppy other present   8.5   cat
    pointy round present   8.8   cat
    floppy other absent    9.2   dog
    pointy round absent   10     cat
    floppy round absent   11     dog
    pointy other present  15     dog
    floppy round absent   18     dog
    floppy round absent   20     dog
    """).astype({"weight": float})

GENES = table("""
    x1 x2 x3 x4 sample
    1  1  1  0  cancer
    1  1  0  1  cancer
    1  0  1  1  cancer
    0  1  1  0  cancer
    0  0  0  0  healthy
    0  1  0  0  healthy
    1  1  0  0  healthy
    """).replace({"0": False, "1": True})


def cut(number: float) -> float:
    """Three digits, the rest cut off, as most of the tennis figures are printed."""
    return floor(number * 1000) / 1000


def counts(*numbers: object) -> Floats:
    return np.array(numbers, dtype=np.float64)


def split(*branches: object) -> ContingencyTable:
    """The class counts of one split."""
    table = np.array(branches, dtype=np.float64)
    return ContingencyTable(table, Segments.of(np.array([len(table)])))


def by_label(frame: pd.DataFrame, feature: str, target: str) -> Floats:
    return pd.crosstab(frame[feature], frame[target]).to_numpy(dtype=np.float64)


def tree_of(frame: pd.DataFrame, target: str, algorithm: str) -> Tree:
    body = treecompile.learn(frame, target=target, algorithm=algorithm).program.body
    assert isinstance(body, Tree)
    return body


def root_gain(frame: pd.DataFrame, feature: str, target: str) -> float:
    """The gain with which ID3 splits on a feature when it has no other."""
    root = tree_of(frame[[feature, target]], target, "id3").nodes[0]
    assert isinstance(root, Split)
    return root.gain


# --- figures --------------------------------------------------------------------------


def test_entropies_of_the_fruit_machine() -> None:
    assert cut(float(entropy(counts(0.1, 0.9)))) == 0.468
    assert round(float(entropy(counts(0.1, 0.9))), 3) == 0.469
    assert round(float(entropy(counts(0.2, 0.3, 0.5))), 3) == 1.485
    assert entropy(counts(0.5, 0.5)) == 1
    assert entropy(counts(0, 1)) == 0


def test_tennis_entropies() -> None:
    play = counts(*TENNIS["play"].value_counts())
    assert round(float(entropy(play)), 3) == 0.940
    outlook = by_label(TENNIS, "outlook", "play")
    cloudy, rainy, sunny = entropy(outlook)
    assert (cut(sunny), cut(rainy), cloudy) == (0.970, 0.970, 0)
    assert round(sunny, 3) == round(rainy, 3) == 0.971
    assert round(float(remaining(entropy, split(*outlook))[0]), 3) == 0.694


@pytest.mark.parametrize(
    ("feature", "printed"),
    [("outlook", 0.246), ("temperature", 0.029), ("humidity", 0.151), ("wind", 0.048)],
)
def test_tennis_gains(feature: str, printed: float) -> None:
    assert (
        cut(float(gain(entropy, split(*by_label(TENNIS, feature, "play")))[0]))
        == printed
    )
    assert cut(root_gain(TENNIS, feature, "play")) == printed


@pytest.mark.parametrize(
    ("feature", "printed"), [("temperature", 0.570), ("humidity", 0.970)]
)
def test_tennis_gains_below_sunny(feature: str, printed: float) -> None:
    sunny = TENNIS[TENNIS["outlook"] == "sunny"]
    assert cut(root_gain(sunny, feature, "play")) == printed


def test_tennis_gain_of_wind_below_sunny() -> None:
    sunny = TENNIS[TENNIS["outlook"] == "sunny"]
    assert cut(root_gain(sunny, "wind", "play")) == 0.019
    assert round(root_gain(sunny, "wind", "play"), 3) == 0.020


@pytest.mark.parametrize(
    ("cats", "printed"), [(0, 0.0), (2, 0.92), (3, 1.0), (5, 0.65), (6, 0.0)]
)
def test_entropies_of_six_animals(cats: int, printed: float) -> None:
    assert round(float(entropy(counts(cats, 6 - cats))), 2) == printed


@pytest.mark.parametrize(
    ("feature", "left", "right", "printed"),
    [
        ("ear", (4, 1), (1, 4), 0.28),
        ("face", (4, 3), (1, 2), 0.03),
        ("whiskers", (3, 1), (2, 4), 0.12),
    ],
)
def test_cat_gains(
    feature: str, left: tuple[int, int], right: tuple[int, int], printed: float
) -> None:
    assert round(float(gain(entropy, split(left, right))[0]), 2) == printed
    made = {tuple(map(int, row)) for row in by_label(CATS, feature, "animal")}
    assert made == {left, right}
    assert round(root_gain(CATS, feature, "animal"), 2) == printed


@pytest.mark.parametrize(
    ("threshold", "below", "above", "printed"),
    [(8, (2, 0), (3, 5), 0.24), (9, (4, 0), (1, 5), 0.61), (13, (5, 2), (0, 3), 0.40)],
)
def test_cat_gains_by_weight(
    threshold: float, below: tuple[int, int], above: tuple[int, int], printed: float
) -> None:
    assert round(float(gain(entropy, split(below, above))[0]), 2) == printed
    light = CATS["weight"] <= threshold
    made = pd.crosstab(light, CATS["animal"]).to_numpy().tolist()
    assert made == [list(above), list(below)]


def test_gini_peaks_at_one_half() -> None:
    at = [float(gini(counts(cats, 10 - cats))) for cats in range(11)]
    assert at[0] == at[10] == 0
    assert max(at) == at[5] == 0.5
    assert at == pytest.approx(at[::-1])


def test_total_gini_is_weighted_by_cases() -> None:
    # Leaves of 1 + 3 and 2 + 4 cases.
    left, right = 1 - (1 / 4) ** 2 - (3 / 4) ** 2, 1 - (2 / 6) ** 2 - (4 / 6) ** 2
    expected = 4 / 10 * left + 6 / 10 * right
    assert remaining(gini, split((1, 3), (2, 4))) == pytest.approx([expected])


# --- candidates -----------------------------------------------------------------------


def test_ten_weights_have_nine_midpoints() -> None:
    weights = CATS["weight"].to_numpy()
    expected = [7.25, 8, 8.65, 9, 9.6, 10.5, 13, 16.5, 19]
    assert midpoints(weights[:-1], weights[1:]).tolist() == pytest.approx(expected)


def test_cart_cuts_the_cats_at_nine_pounds() -> None:
    tree = tree_of(CATS[["weight", "animal"]], "animal", "cart")
    assert first_test(tree).value == pytest.approx(9)


def test_cart_cuts_where_the_class_changes() -> None:
    frame = pd.DataFrame(
        {"x": [40.0, 48, 60, 72, 80, 90], "y": ["a", "a", "b", "b", "b", "a"]}
    )
    tree = tree_of(frame, "y", "cart")
    splits = [node for node in tree.nodes if isinstance(node, Split)]
    assert [split.branches[0].when.value for split in splits] == [54.0, 85.0]
    leaves = [node.value for node in tree.nodes if isinstance(node, Leaf)]
    assert leaves == ["a", "b", "a"]


def first_test(tree: Tree) -> Condition:
    root = tree.nodes[0]
    assert isinstance(root, Split)
    return root.branches[0].when


# --- trees ----------------------------------------------------------------------------


def test_tennis_tree_node_by_node() -> None:
    tree = tree_of(TENNIS, "play", "id3")
    outlook, _, humidity, wind = range(4)
    assert [feature.name for feature in tree.features] == list(TENNIS)[:4]
    assert tree.labels == ("no", "yes")

    def leaf(value: str, no: float, yes: float) -> Leaf:
        return Leaf(value, ClassCounts((no, yes)), no + yes)

    def branch(
        feature: int, op: Op, categories: tuple[str, ...], then: int, weight: float
    ) -> Branch:
        # Of each split the one branch that names what it excludes takes the missing.
        when = Condition(feature, op, categories, missing=op is Op.NOT_IN)
        return Branch(when, then, weight)

    gains = [node.gain for node in tree.nodes if isinstance(node, Split)]
    assert [cut(each) for each in gains] == [0.246, 0.970, 0.970]
    assert tree.nodes == (
        Split(
            (
                branch(outlook, Op.IN, ("cloudy",), 1, 4),
                branch(outlook, Op.NOT_IN, ("cloudy", "sunny"), 2, 5),
                branch(outlook, Op.IN, ("sunny",), 5, 5),
            ),
            ClassCounts((5, 9)),
            gains[0],
        ),
        leaf("yes", 0, 4),
        Split(
            (
                branch(wind, Op.IN, ("strong",), 3, 2),
                branch(wind, Op.NOT_IN, ("strong",), 4, 3),
            ),
            ClassCounts((2, 3)),
            gains[1],
        ),
        leaf("no", 2, 0),
        leaf("yes", 0, 3),
        Split(
            (
                branch(humidity, Op.NOT_IN, ("normal",), 6, 3),
                branch(humidity, Op.IN, ("normal",), 7, 2),
            ),
            ClassCounts((3, 2)),
            gains[2],
        ),
        leaf("no", 3, 0),
        leaf("yes", 0, 2),
    )


def test_cat_tree() -> None:
    frame = CATS.drop(columns="weight")
    tree = tree_of(frame, "animal", "id3")
    ear, face, whiskers = range(3)
    splits = [node for node in tree.nodes if isinstance(node, Split)]
    tested = {
        node.branches[0].when.feature: tuple(map(int, node.stats.weights))
        for node in splits
        if isinstance(node.stats, ClassCounts)
    }
    assert len(splits) == 3
    assert tested == {ear: (5, 5), face: (4, 1), whiskers: (1, 4)}
    assert splits[0].branches[0].when.feature == ear
    assert all(0 in leaf_counts(node) for node in tree.nodes if isinstance(node, Leaf))


def leaf_counts(leaf: Leaf) -> tuple[float, ...]:
    assert isinstance(leaf.stats, ClassCounts)
    return leaf.stats.weights


@pytest.mark.parametrize("algorithm", ["id3", "cart"])
def test_cancer_genes_are_learned_without_error(algorithm: str) -> None:
    model = treecompile.learn(GENES, target="sample", algorithm=algorithm)
    assert model.predict(GENES).tolist() == GENES["sample"].tolist()
    # x3 sets three of the four apart, x4 the last.
    body = model.program.body
    assert isinstance(body, Tree)
    splits = [node for node in body.nodes if isinstance(node, Split)]
    assert [split.branches[0].when.feature for split in splits] == [2, 3]


@pytest.mark.parametrize("algorithm", ["id3", "cart"])
def test_cancer_genes_without_the_telling_ones(algorithm: str) -> None:
    frame = GENES.drop(columns=["x3", "x4"])
    model = treecompile.learn(frame, target="sample", algorithm=algorithm, prune="none")
    # Both genes mutated: two with cancer, one without. The second gene alone: one of
    # each, and the first label wins.
    assert model.predict(frame).tolist() == [
        *("cancer", "cancer", "cancer", "cancer"),
        *("healthy", "cancer", "cancer"),
    ]
