"""The rows that prove the artefact of a forest: every leaf and edge, in any budget."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan, nextafter
from random import Random

import pytest

from tests.support.forests import random_forest
from treecompile.model import ir
from treecompile.model.forests import ZERO
from treecompile.model.semantics import conditions, holds
from treecompile.verify.forests import forest_rows

SEEDS = range(40)
ENOUGH = 2_000  # rows for such a forest
Path = tuple[ir.Condition, ...]
UNSEEN: dict[ir.ValueType, tuple[ir.Category, ...]] = {
    ir.ValueType.STR: ("never seen",),
    ir.ValueType.INT: (99,),
    ir.ValueType.BOOL: (),
}


def large_forest(seed: int) -> ir.Forest:
    """A forest of which not all combinations are tried."""
    dice = Random(seed)
    while True:
        forest = random_forest(dice, trees=12)
        if not forest_rows(forest, budget=ENOUGH).complete:
            return forest


def nodes(tree: ir.Tree) -> Iterator[tuple[ir.Node, Path]]:
    """The nodes of a tree, each with the conditions on the way to it."""
    known: dict[int, Path] = {0: ()}
    for place, node in enumerate(tree.nodes):
        yield node, known[place]
        if isinstance(node, ir.Split):
            for branch in node.branches:
                known[branch.then] = (*known[place], branch.when)


def meets(forest: ir.Forest, path: Path, index: int, value: ir.Value) -> bool:
    feature = forest.features[index]
    known = None if value is None or value != value else value
    return all(holds(test, feature, known) for test in path if test.feature == index)


def candidates(forest: ir.Forest, index: int) -> list[ir.Value]:
    """Values between which no test of a forest tells more."""
    feature = forest.features[index]
    if feature.kind is not ir.Kind.NUMERIC:
        return [*feature.categories, None, *UNSEEN[feature.type]]
    cuts = {test.value for test in conditions(forest) if test.feature == index}
    cuts |= {ZERO, -ZERO}
    beside = [b for cut in cuts if isinstance(cut, float) for b in around(cut)]
    return [*beside, -inf, inf, None]


def around(cut: float) -> tuple[float, float, float]:
    return nextafter(cut, -inf), cut, nextafter(cut, inf)


def is_possible(forest: ir.Forest, path: Path) -> bool:
    return all(
        any(meets(forest, path, index, value) for value in candidates(forest, index))
        for index in {test.feature for test in path}
    )


def edges(forest: ir.Forest) -> Iterator[tuple[Path, int, ir.Value]]:
    """The values at which each test of a number may err, on the way to it."""
    for member in forest.members:
        for node, path in nodes(member.tree):
            if not isinstance(node, ir.Split) or not is_possible(forest, path):
                continue
            test = node.branches[0].when
            if isinstance(test.value, float):
                for value in (*around(test.value), -inf, inf, None, nan):
                    if meets(forest, path, test.feature, value):
                        yield path, test.feature, value


def has_row(
    forest: ir.Forest, rows: list[ir.Row], path: Path, index: int, value: ir.Value
) -> bool:
    """Whether some row comes to a node with a value."""
    wanted = repr(value)
    features = {test.feature for test in path}
    return any(
        repr(row[index]) == wanted
        and all(meets(forest, path, each, row[each]) for each in features)
        for row in rows
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_a_row_for_every_leaf_and_edge(seed: int) -> None:
    forest = large_forest(seed)
    found = forest_rows(forest, budget=ENOUGH, seed=seed)
    rows = list(found.rows)
    assert found.covered == found.edges
    for member in forest.members:
        for node, path in nodes(member.tree):
            if isinstance(node, ir.Leaf) and is_possible(forest, path):
                on_way = {test.feature for test in path}
                assert any(
                    all(meets(forest, path, each, row[each]) for each in on_way)
                    for row in rows
                )
    for edge in edges(forest):
        assert has_row(forest, rows, *edge)


def numeric_forest(seed: int) -> ir.Forest:
    dice = Random(seed)
    while True:
        forest = random_forest(dice, trees=12)
        if (
            {feature.kind for feature in forest.features} == {ir.Kind.NUMERIC}
            and not forest.zero_is_missing
            and not forest_rows(forest, budget=50).complete
        ):
            return forest


@pytest.mark.parametrize("seed", SEEDS)
def test_cells_and_edges_are_counted(seed: int) -> None:
    forest = numeric_forest(seed)
    found = forest_rows(forest, budget=50)
    assert found.edges == len(list(edges(forest)))
    reached = [
        path
        for member in forest.members
        for node, path in nodes(member.tree)
        if isinstance(node, ir.Leaf) and is_possible(forest, path)
    ]
    assert found.cells == len(reached)


@pytest.mark.parametrize("budget", [0, 1, 10, 11, 200, 1_500])
def test_rows_stay_within_the_budget_and_are_the_same_again(budget: int) -> None:
    forest = large_forest(3)
    one, again, other = (
        forest_rows(forest, budget=budget, seed=seed) for seed in (5, 5, 6)
    )
    assert not one.complete
    assert len(one.rows) <= budget
    assert len(set(map(repr, one.rows))) == len(one.rows)
    assert repr(one) == repr(again)
    assert (one.cells, one.edges) == (other.cells, other.edges)
    assert budget < 2 or one.rows != other.rows


def test_a_small_budget_is_spent_on_all_trees() -> None:
    """The edges are drawn from all of them, not from the first ones."""
    forest = large_forest(3)
    half = len(forest.members) // 2
    found = forest_rows(forest, budget=150, seed=1)
    assert 0 < found.covered < found.edges
    cuts = [
        {
            test.value
            for member in members
            for test in conditions(member.tree)
            if isinstance(test.value, float)
        }
        for members in (forest.members[:half], forest.members[half:])
    ]
    first, last = cuts[0] - cuts[1], cuts[1] - cuts[0]
    values = {value for row in found.rows for value in row if isinstance(value, float)}
    assert len(values & first) >= len(first) / 2
    assert len(values & last) >= len(last) / 2
