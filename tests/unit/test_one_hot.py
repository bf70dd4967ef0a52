"""One-hot features: the tree that a learner makes of indicator columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from treecompile.model.errors import TreecompileError
from treecompile.model.ir import Condition, Leaf, Op, Split, Tree
from treecompile.model.semantics import is_partition, predict

COLOURS = ("blue", "green", "red", "yellow")


def frame_of(seed: int, *, has_numbers: bool = True) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    colour = random.choice(COLOURS, 120).astype(object)
    colour[random.random(120) < 0.1] = None
    size = random.choice(list("SML"), 120)
    signal = (colour == "red") + (size == "M") + random.normal(size=120) / 2
    columns: dict[str, Any] = {"colour": colour, "size": size}
    if has_numbers:
        columns["x"] = random.normal(size=120)
    columns["y"] = np.where(signal > 0.7, "p", "n")
    return pd.DataFrame(columns)


def tree_of(frame: pd.DataFrame, **options: Any) -> Tree:
    body = treecompile.learn(frame, target="y", **options).program.body
    assert isinstance(body, Tree)
    return body


def splits(tree: Tree) -> list[Split]:
    return [node for node in tree.nodes if isinstance(node, Split)]


@pytest.mark.parametrize("algorithm", ["id3", "c45", "cart"])
@pytest.mark.parametrize("seed", range(3))
def test_the_tree_is_that_of_indicator_columns(seed: int, algorithm: str) -> None:
    frame = frame_of(seed, has_numbers=algorithm != "id3")
    options: dict[str, Any] = {"algorithm": algorithm, "prune": "none"}
    tree = tree_of(frame, one_hot=["colour", "size"], **options)
    # The same by hand: a column for each value, in their order.
    wide = {}
    for name in frame.columns[:-1]:
        column = frame[name]
        if name == "x":
            wide[name] = column
            continue
        for value in sorted(column.dropna().unique()):
            named = np.where(column == value, "0 this", "1 other").astype(object)
            named[column.isna()] = None
            wide[f"{name}={value}"] = pd.Series(named)
    other = tree_of(pd.DataFrame(wide).assign(y=frame["y"]), **options)
    assert len(tree.nodes) == len(other.nodes) > 5
    for mine, yours in zip(tree.nodes, other.nodes, strict=True):
        assert mine.stats == yours.stats
        if not isinstance(mine, Split) or not isinstance(yours, Split):
            assert isinstance(mine, Leaf)
            assert isinstance(yours, Leaf)
            continue
        assert mine.gain == yours.gain
        for one, two in zip(mine.branches, yours.branches, strict=True):
            assert (one.then, one.weight) == (two.then, two.weight)
            assert one.when.missing == two.when.missing
            assert shown(tree, one.when) == shown_of_indicator(other, two.when)


def shown(tree: Tree, when: Condition) -> tuple[Any, ...]:
    name = tree.features[when.feature].name
    if isinstance(when.value, tuple):
        (value,) = when.value
        return f"{name}={value}", when.op is Op.IN
    return name, when.op, when.value


def shown_of_indicator(tree: Tree, when: Condition) -> tuple[Any, ...]:
    name = tree.features[when.feature].name
    if isinstance(when.value, tuple):
        return name, ("0 this" in when.value) == (when.op is Op.IN)
    return name, when.op, when.value


def test_a_category_never_seen_is_another_one() -> None:
    frame = pd.DataFrame({"c": list("rrrrgb"), "y": list("ppppnn")})
    (split,) = splits(tree := tree_of(frame, algorithm="cart", one_hot="c"))
    assert [branch.when for branch in split.branches] == [
        Condition(0, Op.IN, ("r",), missing=True),
        Condition(0, Op.NOT_IN, ("r",), missing=False),
    ]
    assert is_partition(split, tree.features)
    assert [predict(tree, (value,)) for value in ("r", "g", "violet", None)] == [
        *("p", "n", "n", "p"),
    ]


def test_only_the_named_columns() -> None:
    frame = frame_of(1)
    tree = tree_of(frame, algorithm="c45", one_hot="colour", prune="none")
    for split in splits(tree):
        name = tree.features[split.branches[0].when.feature].name
        assert len(split.branches) == (3 if name == "size" else 2)
    assert [feature.name for feature in tree.features] == ["colour", "size", "x"]
    assert tree.features[0].categories == COLOURS


@pytest.mark.parametrize("to", ["python", "sql"])
@pytest.mark.parametrize("algorithm", ["c45", "cart"])
def test_artefacts_give_the_same_answers(algorithm: str, to: str) -> None:
    model = treecompile.learn(
        frame_of(2), target="y", algorithm=algorithm, one_hot="colour", max_depth=4
    )
    assert model.verify(model.emit(to)).passed


def test_a_costly_column_costs_in_each_of_its_values() -> None:
    frame = pd.DataFrame(
        {
            "c": list("rrggbbyy") * 5,
            "d": list("ssssssst") * 5,
            "y": list("ppnnnnnp") * 5,
        }
    )
    dear = treecompile.learn(
        frame, target="y", algorithm="c45", one_hot=["c", "d"], costs={"c": 1000.0}
    )
    cheap = treecompile.learn(frame, target="y", algorithm="c45", one_hot=["c", "d"])
    assert "c = " in cheap.show().splitlines()[0]
    assert "d = " in dear.show().splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"one_hot": "none"}, "one_hot: there is no column 'none'"),
        ({"one_hot": "y"}, "one_hot: there is no column 'y'"),
        ({"one_hot": "x"}, "one_hot: column 'x' is numeric"),
        (
            {"one_hot": "size", "ordinal": {"size": "SML"}},
            "one_hot: column 'size' is ordinal",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TreecompileError, match=message):
        treecompile.learn(frame_of(0), target="y", **options)


def test_too_many_categories_are_refused() -> None:
    frame = pd.DataFrame(
        {"c": [f"c{n}" for n in range(201)] * 2, "y": list("np") * 201}
    )
    with pytest.raises(TreecompileError, match="'c' has 201 categories, more than 200"):
        treecompile.learn(frame, target="y", one_hot="c", categorical="c")
