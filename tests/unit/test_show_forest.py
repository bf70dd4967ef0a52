"""Forests in the terminal, and what they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.support.commands import good, run
from tests.support.forests import random_forest
from treecompile.inspect.importance import importances
from treecompile.inspect.show import show_forest, show_tree
from treecompile.model import ir
from treecompile.model.file import dumps
from treecompile.model.forests import LeafNode, SplitNode, member

X = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
COLOUR = ir.Feature("colour", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("red", "blue"))
FEATURES = (X, COLOUR, replace(X, name="spare"))
FIRST = member(
    FEATURES,
    (0,),
    [
        SplitNode(ir.Condition(0, ir.Op.LE, 1.5, missing=True), 1, 2, 8.0, 3.0),
        LeafNode((0.5,), 5.0),
        SplitNode(ir.Condition(1, ir.Op.IN, ("red",), missing=False), 3, 4, 3.0, 1.0),
        LeafNode((-0.25,), 1.0),
        LeafNode((2.0,), 2.0),
    ],
)
SECOND = member(FEATURES, (0,), [LeafNode((0.125,), 8.0)])
PROGRAM = ir.ForestProgram(
    "play",
    "XGBoost binary:logistic",
    ir.Forest(
        FEATURES,
        ("no", "yes"),
        (FIRST, SECOND),
        (0.5,),
        ir.Arithmetic.SINGLE,
        link=ir.Link.LOGISTIC,
        cut=0.0,
    ),
)
SHOWN = """\
play, by XGBoost binary:logistic: 2 trees, 4 leaves, depth 2
  1. The sum starts at 0.5.
  2. Each of the 2 trees asks at most 2 questions about the row, comes to one of its\
 leaves, and adds the number of that leaf to the sum. The trees are added in their\
 order. Each result is rounded to 32 bits (about 7 digits). The result is the margin.
  3. The probability of yes is 1 / (1 + exp(-margin)). That of no is the rest up to 1.
  4. The answer is yes if the margin is above 0, and no otherwise.

importance of the features, which sum to 1:
  x       0.7500
  colour  0.2500
not used: spare
"""
TREE = """\
tree 1 of 2, 3 leaves, depth 2: what it adds to the sum
├─ x <= 1.5 (or missing) -> +0.5  (leaf 1)
└─ x > 1.5
   ├─ colour = red -> -0.25  (leaf 2)
   └─ colour = blue (or any other, or missing) -> +2  (leaf 3)
"""
STATS = """\
tree 1 of 2, 3 leaves, depth 2: what it adds to the sum
all  [weight 8; gain 3]
├─ x <= 1.5 (or missing) -> +0.5  (leaf 1)  [weight 5]
└─ x > 1.5  [weight 3; gain 1]
   ├─ colour = red -> -0.25  (leaf 2)  [weight 1]
   └─ colour = blue (or any other, or missing) -> +2  (leaf 3)  [weight 2]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "forest.json"
    found.write_text(dumps(PROGRAM))
    return found


def test_a_forest_and_its_trees(path: Path) -> None:
    assert good("show", path).stdout == SHOWN
    assert good("show", path, "--importance").stdout == SHOWN
    assert good("show", path, "--tree", "1").stdout == TREE
    assert good("show", path, "--tree", "1", "--stats").stdout == STATS
    last = "tree 2 of 2, 1 leaf, depth 0: what it adds to the sum\n+0.125  (leaf 1)\n"
    assert good("show", path, "--tree", "2").stdout == last
    both = good("show", path, "--tree", "2", "--importance").stdout
    assert both == last + SHOWN[SHOWN.index("\nimportance") :]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--stats",), "--stats is about the nodes of one tree: add --tree N"),
        (("--alphas",), "--alphas needs one tree or rules, and the model is a forest"),
        (("--tree", "3"), "tree=3: the forest has trees 1 to 2"),
        (("--tree", "0"), "tree=0: the forest has trees 1 to 2"),
        (("--tree", "-1", "--json"), "tree=-1: the forest has trees 1 to 2"),
    ],
)
def test_what_does_not_apply(path: Path, flags: tuple[str, ...], message: str) -> None:
    result = run("show", path, *flags)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("name", "command"), [("draw", ("show", "--svg", "-")), ("check", ("check",))]
)
def test_commands_that_need_one_tree(
    path: Path, name: str, command: tuple[str, ...]
) -> None:
    result = run(*command, path)
    assert result.exit_code == 2
    assert f"{name} needs one tree or rules, and the model is a forest of 2 trees" in (
        result.stderr
    )
    assert "learn one tree from its answers" in result.stderr


def test_the_report(tmp_path: Path) -> None:
    for seed in range(20):
        body = random_forest(Random(seed))
        program = ir.ForestProgram("target", "library", body)
        path = tmp_path / "any.json"
        path.write_text(dumps(program))
        found = json.loads(good("show", path, "--json").stdout)
        assert found["model"]["kind"] == "forest"
        assert found["trees"] == len(body.members)
        assert "nodes" not in found
        assert found["importance"] == importances(program)
        found = json.loads(good("show", path, "--json", "--tree", "1").stdout)
        nodes = body.members[0].tree.nodes
        assert len(found["nodes"]) == len(nodes)
        for node, shown in zip(nodes, found["nodes"], strict=True):
            assert ("adds" in shown) == isinstance(node, ir.Leaf)


def test_a_hostile_name_cannot_change_the_terminal() -> None:
    feature = replace(X, name="\x1b[31m\nred " + "x" * 100)
    tree = member(
        (feature,),
        (0,),
        [
            SplitNode(ir.Condition(0, ir.Op.LE, 1.0, missing=False), 1, 2),
            LeafNode((0.0,)),
            LeafNode((1.0,)),
        ],
    )
    program = ir.ForestProgram("\n", "mean", ir.Forest((feature,), (), (tree,), (0.0,)))
    for text in (show_forest(program), show_tree(program, 1)):
        assert "\x1b" not in text
        assert all(len(line) < 400 for line in text.splitlines())
    assert len(show_tree(program, 1).splitlines()) == 3
