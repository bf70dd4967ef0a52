"""The search finds a row that exposes an error exactly where there is one."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest

from tests.support.random_models import random_rules, random_tree
from treecompile.model.ir import Row, RuleSet, Tree
from treecompile.model.semantics import holds
from treecompile.verify.axes import Grid
from treecompile.verify.cells import Probing, probe_rows
from treecompile.verify.constants import Constants
from treecompile.verify.search import EdgeSearch, QuestionGraph


def arrival(
    graph: QuestionGraph, around: Grid, row: Row, start: int, stop: int = -1
) -> int:
    """Where a row that walks from a state decides, or whether it comes to another."""
    state = start
    while state != stop and graph.arms[state]:
        for test, child in graph.arms[state]:
            feature = around.features[test.feature]
            if holds(test, feature, row[test.feature]):
                state = child
                break
    return state


def covered_by_force(body: Tree | RuleSet, answer: dict[int, object]) -> int:
    """how many edges some row shows, by trying all rows."""
    around = Grid(body, Constants())
    walk = Probing(body, around, 1000, Random(0), answer.get)
    asked = QuestionGraph(body)
    rows = list(product(*(axis.values for axis in around.axes)))
    first = 0
    if isinstance(body, RuleSet) and not body.rules[0].conditions:
        return 0  # it decides every row
    count = 0
    for place in asked.questions(around):
        arms = asked.arms[place.state]
        position = arms[0][0].feature
        here = [
            row
            for row in rows
            if arrival(asked, around, row, first, place.state) == place.state
        ]
        for value, right, wrong in walk.edges(arms):
            count += any(
                answer[asked.decider[arrival(asked, around, row, right)]]
                != answer[asked.decider[arrival(asked, around, row, wrong)]]
                for row in here
                if row[position] is value or row[position] == value
            )
    return count


def small(body: Tree | RuleSet) -> bool:
    around = Grid(body, Constants())
    size = prod(len(axis.values) for axis in around.axes)
    return size <= 1500 and (isinstance(body, Tree) or bool(body.rules))


def small_model(seed: int) -> Tree | RuleSet | None:
    dice = Random(seed)
    body = random_rules(dice) if seed % 3 == 0 else random_tree(dice, splits=4)
    return body if small(body) else None


SEEDS = [seed for seed in range(400) if small_model(seed)]


def test_enough_models_are_small() -> None:
    assert len(SEEDS) >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_every_edge_that_a_row_can_show_is_covered(seed: int) -> None:
    body = small_model(seed)
    assert body is not None
    places = len(body.rules) + 1 if isinstance(body, RuleSet) else len(body.nodes)
    answer: dict[int, object] = {place: place % 2 for place in range(places)}
    walk = Probing(body, Grid(body, Constants()), 5000, Random(0), answer.get)
    assert walk.cover_edges(5000) == (covered_by_force(body, answer),) * 2


def test_a_small_budget_is_shared_and_the_share_is_said() -> None:
    tree = next(
        tree
        for tree in (random_tree(Random(seed), splits=60) for seed in range(99))
        if sum(hasattr(node, "value") for node in tree.nodes) > 80
        and not probe_rows(tree, budget=5_000).complete
    )
    some, all_of_it = (probe_rows(tree, budget=budget) for budget in (60, 5_000))
    assert len(some.rows) <= 60
    assert 0 < some.covered < some.edges
    assert all_of_it.covered == all_of_it.edges > 0
    assert repr(some) == repr(probe_rows(tree, budget=60))


def test_a_search_that_runs_out_of_steps_is_given_up() -> None:
    """Otherwise a cell or an edge that nobody looked for would not be counted."""
    tree = random_tree(Random(0), splits=4)
    around, graph = Grid(tree, Constants()), QuestionGraph(tree)
    search = EdgeSearch(graph, around, lambda decider: decider, steps=1)
    place = next(graph.cells(around))
    assert search.find(place) is not None
    assert not search.gave_up
    assert search.find(place) is None
    assert search.gave_up
