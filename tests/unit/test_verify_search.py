"""The search finds a row that exposes an error exactly where there is one."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest

from tests.support.random_models import random_rules, random_tree
from tests.support.rule_lists import above, rule_set
from tests.support.samples import chain
from tests.support.small_models import every_row, small_body, small_rules
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Op,
    Row,
    RuleSet,
    Tree,
    ValueType,
)
from treecompile.model.semantics import decider, holds
from treecompile.verify.axes import Grid
from treecompile.verify.cells import Probing, probe_rows
from treecompile.verify.constants import Constants
from treecompile.verify.random_rows import RandomRows
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
                answer[asked.decider(arrival(asked, around, row, right))]
                != answer[asked.decider(arrival(asked, around, row, wrong))]
                for row in here
                if row[position] is value or row[position] == value
            )
    return count


def shows_an_error(walk: Probing, row: Row) -> bool:
    """Whether a wrong arm of some question changes the answer to a row."""
    graph, around = walk.graph, walk.grid

    def answer(start: int) -> object:
        return walk.search.answer(graph.decider(arrival(graph, around, row, start)))

    for state, arms in enumerate(graph.arms):
        if not arms or arrival(graph, around, row, 0, state) != state:
            continue
        index = arms[0][0].feature
        for value, right, wrong in walk.edges(arms):
            if repr(value) == repr(row[index]) and answer(right) != answer(wrong):
                return True
    return False


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
    walk.draw()
    assert all(shows_an_error(walk, row) for row in walk.rows)


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
    assert not search.gave_up
    place = next(graph.cells(around))
    assert search.find(place) is not None
    assert not search.gave_up
    assert search.left == 0
    assert search.find(place) is None
    assert search.gave_up


# ---------------------------------------------------------------- against all rows


def start_of(graph: QuestionGraph) -> int:
    return 0 if isinstance(graph.body, Tree) else graph.starts[0]


@pytest.mark.parametrize("seed", range(30))
def test_a_graph_leads_each_row_to_what_decides_it(seed: int) -> None:
    body = small_body(Random(seed))
    graph, around = QuestionGraph(body), Grid(body, Constants())
    for row in every_row():
        end = arrival(graph, around, row, start_of(graph))
        assert graph.decider(end) == decider(body, row)
    for state, arms in enumerate(graph.arms):
        assert all(child > state for _, child in arms)


@pytest.mark.parametrize("seed", range(30))
def test_the_way_to_the_nearest_decision(seed: int) -> None:
    graph = QuestionGraph(small_body(Random(seed)))
    for state in range(len(graph.arms)):
        here, steps = {state}, 0
        while all(graph.arms[each] for each in here):
            here = {child for each in here for _, child in graph.arms[each]}
            steps += 1
        assert graph.near[state] == steps


@pytest.mark.parametrize("seed", range(40))
def test_a_cell_is_found_exactly_if_a_row_decides_there(seed: int) -> None:
    body = small_body(Random(seed))
    graph, around = QuestionGraph(body), Grid(body, Constants())
    search = EdgeSearch(graph, around, lambda decider: decider, steps=10_000)
    reached = {decider(body, row) for row in every_row()}
    found = set()
    for place in graph.cells(around):
        box = search.find(place)
        assert not search.gave_up
        if box is None:
            continue
        found.add(graph.decider(place.state))
        for row in RandomRows(around, Random(seed)).in_boxes([(box, None)] * 5):
            assert decider(body, row) == graph.decider(place.state)
    assert found == reached


@pytest.mark.parametrize("seed", range(40))
def test_a_question_of_a_rule_matters_if_all_others_can_hold(seed: int) -> None:
    rules = small_rules(Random(seed))
    graph, around = QuestionGraph(rules), Grid(rules, Constants())
    found = [place.state for place in graph.questions(around)]
    asked = [
        (rule, place) for rule in rules.rules for place in range(len(rule.conditions))
    ]
    assert found == [
        state
        for state, (rule, place) in enumerate(asked)
        if any(
            all(
                holds(test, rules.features[test.feature], row[test.feature])
                for number, test in enumerate(rule.conditions)
                if number != place
            )
            for row in every_row()
        )
    ]


def test_the_search_goes_the_short_way() -> None:
    """To a state by the arm that leads farthest, then to the nearest decision."""
    features = tuple(Feature(f"x{n}", Kind.NUMERIC, ValueType.FLOAT) for n in range(40))
    tests = tuple(Condition(n, Op.LE, 0.0, missing=False) for n in range(40))
    body = chain(features, tests, ("a", "b", "c")).body
    graph, around = QuestionGraph(body), Grid(body, Constants())
    search = EdgeSearch(graph, around, lambda decider: decider, steps=1000)
    root = next(graph.questions(around))
    assert search.find(root, (1, 2)) is not None
    # The question, its two arms, and one more question behind the second arm.
    assert search.left == 1000 - 3
    rules = rule_set(*(((above(n, 0.0),), "yes") for n in range(40)), features=40)
    graph, around = QuestionGraph(rules), Grid(rules, Constants())
    search = EdgeSearch(graph, around, lambda decider: decider, steps=1000)
    *_, last = graph.questions(around)
    assert search.find(last) is not None
    assert search.left == 1000 - 40  # each question once
