"""ID3: the choice of the feature, the branches, when to stop, what it refuses."""

from __future__ import annotations

from math import nextafter
from typing import Any

import pandas as pd
import pytest

import treecompile
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Kind,
    Leaf,
    Node,
    Op,
    Split,
    Tree,
)
from treecompile.model.semantics import predict

Columns = dict[str, list[Any]]

XOR: Columns = {
    "a": ["0", "0", "1", "1"],
    "b": ["0", "1", "0", "1"],
    "y": ["n", "p", "p", "n"],
}

# 14 cases: outlook splits them 4 + 5 + 5, humidity 7 + 7, wind 6 + 8.
TENNIS: Columns = {
    "outlook": list("ssorrrossrsoor"),
    "humidity": list("hhhhnnnhnnnhnh"),
    "wind": list("wswwwsswwwssws"),
    "y": list("nnpppnpnpppppn"),
}


def tree_of(columns: Columns, **options: Any) -> Tree:
    frame = pd.DataFrame(columns)
    body = treecompile.learn(frame, target="y", algorithm="id3", **options).program.body
    assert isinstance(body, Tree)
    return body


def split_at(node: Node) -> Split:
    assert isinstance(node, Split)
    return node


def leaf_at(node: Node) -> Leaf:
    assert isinstance(node, Leaf)
    return node


def chosen(tree: Tree) -> list[str]:
    """The names of the features that are tested, in the order of the nodes."""
    splits = [node for node in tree.nodes if isinstance(node, Split)]
    return [tree.features[split.branches[0].when.feature].name for split in splits]


def child(tree: Tree, *path: str) -> Node:
    """The node that categories lead to from the root."""
    position = 0
    for category in path:
        for branch in split_at(tree.nodes[position]).branches:
            assert isinstance(branch.when.value, tuple)
            if (category in branch.when.value) == (branch.when.op is Op.IN):
                position = branch.then
                break
    return tree.nodes[position]


# --- branches -------------------------------------------------------------------------


def test_a_category_without_cases_gets_the_majority_of_its_parent() -> None:
    tree = tree_of(
        {
            "size": ["big"] * 4 + ["small"] * 4,
            "colour": ["red", "red", "green", "blue", "red", "red", "red", "green"],
            "y": ["p", "p", "p", "p", "n", "n", "n", "p"],
        }
    )
    small = split_at(child(tree, "small"))
    assert chosen(tree) == ["size", "colour"]
    blue, green, red = small.branches
    here = tree.nodes.index(small)
    assert blue == Branch(Condition(1, Op.IN, ("blue",), False), here + 1, 0.0)
    assert tree.nodes[blue.then] == Leaf("n", ClassCounts((3.0, 1.0)), 0.0)
    assert green == Branch(Condition(1, Op.IN, ("green",), False), here + 2, 1.0)
    assert tree.nodes[green.then] == Leaf("p", ClassCounts((0.0, 1.0)), 1.0)
    assert red == Branch(
        Condition(1, Op.NOT_IN, ("blue", "green"), True), here + 3, 3.0
    )
    assert tree.nodes[red.then] == Leaf("n", ClassCounts((3.0, 0.0)), 3.0)


def test_a_category_that_only_an_option_lists_gets_a_leaf() -> None:
    columns: Columns = {"s": ["low", "low", "high"], "y": ["n", "n", "p"]}
    tree = tree_of(columns, ordinal={"s": ["low", "mid", "high"]})
    assert child(tree, "mid") == Leaf("n", ClassCounts((2.0, 1.0)), 0.0)


def test_an_ordinal_feature_is_split_like_a_categorical_one() -> None:
    columns: Columns = {"s": ["low", "mid", "high"] * 2, "y": ["n", "p", "n"] * 2}
    tree = tree_of(columns, ordinal={"s": ["low", "mid", "high"]})
    assert tree.features[0].kind is Kind.CATEGORICAL
    assert tree.features[0].categories == ("low", "mid", "high")
    assert [
        (branch.when.op, branch.when.value)
        for branch in split_at(tree.nodes[0]).branches
    ] == [(Op.NOT_IN, ("mid", "high")), (Op.IN, ("mid",)), (Op.IN, ("high",))]


def test_an_unseen_category_takes_the_heaviest_branch() -> None:
    tree = tree_of({"x": ["a", "b", "b", "c"], "y": ["n", "p", "p", "n"]})
    assert predict(tree, ("never seen",)) == "p"
    assert predict(tree, (None,)) == "p"
    # Where branches are equally heavy, the first.
    tree = tree_of({"x": ["a", "a", "b", "b"], "y": ["p", "p", "n", "n"]})
    assert predict(tree, ("never seen",)) == "p"


# --- missing values -------------------------------------------------------------------


def test_a_missing_value_counts_as_the_most_common_one() -> None:
    x = ["u", "u", "v", None, "v", "u", None]
    y = ["n", "n", "p", "p", "p", "n", "n"]
    tree = tree_of({"x": x, "y": y})
    filled = tree_of({"x": ["u" if value is None else value for value in x], "y": y})
    # The tests are the same, but the branches count only what is known.
    assert [branch.weight for branch in split_at(tree.nodes[0]).branches] == [3.0, 2.0]
    assert split_at(tree.nodes[0]).gain == split_at(filled.nodes[0]).gain
    assert child(tree, "u") == Leaf("n", ClassCounts((4.0, 1.0)), 5.0)
    assert tree.nodes[1:] == filled.nodes[1:]


def test_the_most_common_value_is_that_of_the_node() -> None:
    # Of all cases u is the most common, of those on the right v.
    tree = tree_of(
        {
            "side": ["left"] * 6 + ["right"] * 5,
            "x": ["u"] * 6 + ["v", "v", "v", "u", None],
            "y": ["n"] * 6 + ["p", "p", "p", "n", "p"],
        }
    )
    assert chosen(tree) == ["side", "x"]
    assert child(tree, "right", "v") == Leaf("p", ClassCounts((0.0, 4.0)), 4.0)
    assert child(tree, "right", "u") == Leaf("n", ClassCounts((1.0, 0.0)), 1.0)
    assert predict(tree, ("right", None)) == "p"


# --- the choice -----------------------------------------------------------------------


def test_the_first_column_wins_a_tie() -> None:
    same = ["0", "0", "1", "1"]
    other = ["1", "1", "0", "0"]
    y = ["n", "n", "p", "p"]
    assert chosen(tree_of({"a": same, "b": other, "y": y})) == ["a"]
    assert chosen(tree_of({"b": other, "a": same, "y": y})) == ["b"]


def test_a_later_column_with_more_gain_wins() -> None:
    columns: Columns = {
        "a": ["0", "0", "1", "1"],
        "b": ["0", "0", "0", "1"],
        "y": ["n", "n", "n", "p"],
    }
    assert chosen(tree_of(columns)) == ["b"]


@pytest.mark.parametrize("labels", [("n", "p"), ("p", "n")])
def test_the_first_label_wins_a_tie(labels: tuple[str, ...]) -> None:
    tree = tree_of({"x": ["a", "a"], "y": ["p", "n"]}, labels=labels)
    assert tree.labels == labels
    assert tree.nodes == (Leaf(labels[0], ClassCounts((1.0, 1.0)), 2.0),)


def test_used_up_features_leave_the_majority() -> None:
    columns: Columns = {"x": ["a", "a", "a", "b"], "y": ["p", "n", "p", "n"]}
    tree = tree_of(columns)
    assert child(tree, "a") == Leaf("p", ClassCounts((1.0, 2.0)), 3.0)


def test_a_split_without_gain_is_made_all_the_same() -> None:
    tree = tree_of(XOR)
    assert split_at(tree.nodes[0]).gain == pytest.approx(0, abs=1e-15)
    rows = zip(XOR["a"], XOR["b"], strict=True)
    assert [predict(tree, row) for row in rows] == XOR["y"]


def test_a_feature_that_is_constant_at_a_node_is_passed_over() -> None:
    columns: Columns = {"c": ["k"] * 4, "a": XOR["a"], "twin": XOR["a"], **XOR}
    tree = tree_of(columns)
    assert chosen(tree) == ["a", "b", "b"]


def test_no_feature_is_used_twice_on_a_path() -> None:
    # Two cases in each cell that differ in their label: nothing can tell them apart.
    columns = {name: values * 2 for name, values in XOR.items()}
    columns["y"] = ["n"] * 4 + ["p"] * 4
    tree = tree_of(columns)
    assert chosen(tree) == ["a", "b", "b"]
    leaves = [node for node in tree.nodes if isinstance(node, Leaf)]
    assert [leaf.stats for leaf in leaves] == [ClassCounts((1.0, 1.0))] * 4


# --- limits ---------------------------------------------------------------------------


def test_max_depth() -> None:
    assert tree_of(TENNIS, max_depth=0).nodes == (
        Leaf("p", ClassCounts((5.0, 9.0)), 14.0),
    )
    assert chosen(tree_of(TENNIS, max_depth=1)) == ["outlook"]
    assert tree_of(TENNIS, max_depth=2) == tree_of(TENNIS)


def test_min_split_is_the_number_of_cases_at_a_node() -> None:
    assert chosen(tree_of(TENNIS, min_split=5)) == ["outlook", "wind", "humidity"]
    assert chosen(tree_of(TENNIS, min_split=6)) == ["outlook"]
    assert chosen(tree_of(TENNIS, min_split=14)) == ["outlook"]
    assert chosen(tree_of(TENNIS, min_split=15)) == []


def test_min_leaf_bars_a_feature_with_a_small_branch() -> None:
    assert chosen(tree_of(TENNIS, min_leaf=4)) == ["outlook"]
    assert chosen(tree_of(TENNIS, min_leaf=5)) == ["humidity"]
    assert chosen(tree_of(TENNIS, min_leaf=7)) == ["humidity"]
    assert chosen(tree_of(TENNIS, min_leaf=8)) == []


def test_min_leaf_does_not_ask_for_cases_in_an_empty_branch() -> None:
    columns: Columns = {"s": ["low"] * 2 + ["high"] * 2, "y": ["n", "n", "p", "p"]}
    order = {"s": ["low", "mid", "high"]}
    assert chosen(tree_of(columns, ordinal=order, min_leaf=2)) == ["s"]
    assert chosen(tree_of(columns, ordinal=order, min_leaf=3)) == []


def test_min_gain_is_the_least_gain_that_is_enough() -> None:
    enough = split_at(tree_of(TENNIS).nodes[0]).gain
    assert tree_of(TENNIS, min_gain=enough) == tree_of(TENNIS)
    assert chosen(tree_of(TENNIS, min_gain=enough + 1e-9)) == []
    assert chosen(tree_of(XOR, min_gain=1e-9)) == []


def test_a_gain_short_by_rounding_is_enough() -> None:
    gain = split_at(tree_of(TENNIS).nodes[0]).gain
    assert tree_of(TENNIS, min_gain=nextafter(gain, 1)) == tree_of(TENNIS)


# --- refusals -------------------------------------------------------------------------


def test_a_numeric_column_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"'size' is numeric.*algorithm=cart"):
        tree_of({"x": ["a", "b"], "size": [1.5, 2.5], "y": ["n", "p"]})


def test_a_numeric_column_may_be_declared_categorical() -> None:
    tree = tree_of({"size": [1, 2], "y": ["n", "p"]}, categorical="size")
    assert predict(tree, (1,)) == "n"
    assert predict(tree, (2,)) == "p"


def test_regression_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'y' is a number.*algorithm=cart"):
        tree_of({"x": ["a", "b"], "y": [1.5, 2.5]})


def test_numbers_may_be_declared_labels() -> None:
    tree = tree_of({"x": ["a", "b"], "y": [1.5, 2.5]}, task="classify")
    assert [leaf_at(node).value for node in tree.nodes[1:]] == [1.5, 2.5]
