"""Rows for cells and edges: each step of `Probing` by itself."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from random import Random

import pytest

from tests.support.rule_lists import above, at_most, rule_set
from tests.support.samples import balanced, chain, every_type
from tests.support.small_models import every_row, small_body
from treecompile.model.ir import (
    Body,
    Category,
    Condition,
    Feature,
    Kind,
    Op,
    Row,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider
from treecompile.verify.axes import Grid, doubles_beside
from treecompile.verify.cells import Probing, probe_rows
from treecompile.verify.constants import Constants

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
Y = Feature("y", Kind.NUMERIC, ValueType.FLOAT)


def probing(tree: Tree, constants: Constants = Constants(), seed: int = 0) -> Probing:
    grid = Grid(tree, constants)
    return Probing(tree, grid, 500, Random(seed), lambda leaf: leaf)


def stump(feature: Feature, test: Condition) -> Tree:
    body = chain((feature,), (test,), ("low", "high")).body
    assert isinstance(body, Tree)
    return body


def around(feature: Feature, test: Condition) -> list[tuple[Value, Value]]:
    tree = stump(feature, test)
    root = tree.nodes[0]
    assert isinstance(root, Split)
    return list(probing(tree).around([branch.when for branch in root.branches]))


def colours(*categories: Category) -> Feature:
    return Feature("c", Kind.CATEGORICAL, ValueType.STR, categories)


# ---------------------------------------------------------------- edges


def test_values_around_a_threshold() -> None:
    *known, absent, not_a_number = around(X, Condition(0, Op.LE, 2.5, missing=False))
    values = [*doubles_beside(2.5), -inf, inf]
    assert known == [(value, None) for value in values]
    assert absent == (None, None)
    assert isinstance(not_a_number[0], float)
    assert isnan(not_a_number[0])
    presence = around(X, Condition(0, Op.GT, inf, missing=True))
    assert [value for value, _ in presence[:3]] == [-inf, inf, None]


def test_values_around_a_set() -> None:
    feature = colours("Red", "red", "b", "c", "d")
    found = around(feature, Condition(0, Op.IN, ("Red",), missing=False))
    twins = [("rED", "Red"), ("Red ", "Red"), (" Red", "Red")]
    # The category, two others, an unseen one, the missing value.
    assert found == [
        *twins,
        *((value, None) for value in ("Red", "red", "b", "unseen", None)),
    ]
    both = around(colours("Red", "rED"), Condition(0, Op.IN, ("Red", "rED"), False))
    assert ("rED", "Red") not in both  # a category itself
    assert ("rED", None) in both


def test_values_around_a_rank() -> None:
    size = Feature("s", Kind.ORDINAL, ValueType.INT, (3, 1, 2))
    found = around(size, Condition(0, Op.LE, 3, missing=False))
    assert found == [(value, None) for value in (3, 1, 2, 0, None)]


def test_an_edge_is_a_value_with_its_right_and_a_wrong_arm() -> None:
    tree = stump(colours("Red", "b"), Condition(0, Op.IN, ("Red",), missing=False))
    walk = probing(tree)
    edges = list(walk.edges(walk.graph.arms[0]))
    assert ("Red", 1, 2) in edges
    assert ("b", 2, 1) in edges
    assert ("rED", 2, 1) in edges  # taken for Red by mistake
    assert (None, 2, 1) in edges
    assert all(right != wrong for _, right, wrong in edges)
    assert walk.cover_edges(500) == (len(edges), len(edges))
    walk.draw()
    assert {row[0] for row in walk.rows} == {value for value, _, _ in edges}


def test_of_too_many_edges_a_share_is_covered() -> None:
    tree = balanced(6).body
    assert isinstance(tree, Tree)
    edges, covered = probing(tree).cover_edges(100)
    assert 20 < covered <= 100
    assert edges > 2 * covered
    assert probing(tree).cover_edges(10_000)[0] == probing(tree).cover_edges(10_000)[1]


# ---------------------------------------------------------------- cells


def halves() -> Tree:
    """64 leaves by `x`; `y` decides nothing but is asked once, at the root."""
    tree = balanced(6).body
    assert isinstance(tree, Tree)
    return replace(tree, features=(*tree.features, Y))


@pytest.mark.parametrize("budget", [1, 10, 64, 130])
def test_cells_keep_within_their_budget(budget: int) -> None:
    walk = probing(halves())
    walk.cover_cells(budget)
    walk.draw()
    assert 0 < len(walk.rows) <= budget
    assert walk.cells == 64
    entered = {decider(halves(), row) for row in walk.rows}
    assert len(entered) >= min(budget // 2, 64)


def test_every_cell_has_rows_for_the_constants_of_the_artefact() -> None:
    walk = probing(halves(), Constants(numbers=frozenset({1000.25})))
    walk.cover_cells(10_000)
    walk.draw()
    assert walk.cells == 64
    leaves = set(outcomes(halves()))
    for value in doubles_beside(1000.25):
        assert {
            decider(halves(), row) for row in walk.rows if row[1] == value
        } == leaves


def test_a_pinned_value_is_that_of_the_row() -> None:
    walk = probing(halves())
    anywhere = walk.grid.everything
    walk.places = [(anywhere, (0, 7.25)), (anywhere, (1, 7.25)), (anywhere, None)]
    walk.draw()
    first, second, free = walk.rows
    assert first[0] == second[1] == 7.25
    assert 7.25 not in free


# ---------------------------------------------------------------- the rest


def known_row() -> Row:
    return (1.0, "a", 1, True, "low")


def test_wandering_rows_differ_in_one_value() -> None:
    tree = every_type().body
    assert isinstance(tree, Tree)
    walk = probing(tree)
    walk.wander(20)
    assert not walk.rows
    walk.rows[known_row()] = None
    walk.wander(20)
    assert 5 < len(walk.rows) <= 20
    for row in walk.rows:
        pairs = zip(row, known_row(), strict=True)
        assert sum(value is not old and value != old for value, old in pairs) <= 1
    before = list(walk.rows)
    walk.wander(len(before))  # spent
    assert list(walk.rows) == before


# ---------------------------------------------------------------- counts and budgets


def out_of_steps(body: Body, constants: Constants = Constants()) -> Probing:
    """One whose searches all give up at once."""
    walk = Probing(body, Grid(body, constants), 500, Random(0), lambda leaf: leaf)
    walk.search.left = 0
    return walk


@pytest.mark.parametrize("seed", range(40))
def test_the_cells_that_a_row_reaches_are_counted_and_entered(seed: int) -> None:
    body = small_body(Random(seed))
    walk = Probing(body, Grid(body, Constants()), 500, Random(0), lambda cell: cell)
    walk.cover_cells(500)
    walk.draw()
    reached = {decider(body, row) for row in every_row()}
    assert walk.cells == len(reached)
    assert {decider(body, row) for row in walk.rows} == reached


def test_cells_that_nobody_looked_for_count_except_the_default() -> None:
    never = (above(0, 2.0), at_most(0, 1.0))
    rules = rule_set(
        ((above(0, 5.0),), "a"), ((above(1, 5.0),), "b"), ((at_most(1, 0.0),), "a")
    )
    walk = out_of_steps(rules)
    walk.cover_cells(100)
    assert (walk.cells, walk.places) == (3, [])
    last_is_empty = rule_set(((above(0, 5.0),), "a"), (never, "b"))
    walk = out_of_steps(last_is_empty)
    walk.cover_cells(100)
    assert walk.cells == 1
    walk = out_of_steps(halves())
    walk.cover_cells(100)
    assert walk.cells == 64  # a tree has no default


def test_edges_that_nobody_looked_for_are_not_covered() -> None:
    whole = probing(halves()).cover_edges(10_000)
    walk = out_of_steps(halves())
    assert walk.cover_edges(10_000) == (whole[0], 0)
    assert not walk.places


def test_with_a_small_budget_chance_chooses_the_cells() -> None:
    def entered(seed: int) -> frozenset[int]:
        walk = probing(halves(), seed=seed)
        walk.cover_cells(10)
        walk.draw()
        return frozenset(decider(halves(), row) for row in walk.rows)

    assert len({entered(seed) for seed in range(5)}) > 1


class Recorded(Probing):
    """Says what each step was allowed to add, and how many places there were before."""

    def note(self, step: str, budget: int) -> None:
        if not hasattr(self, "given"):
            self.given: dict[str, tuple[int, int]] = {}
        self.given[step] = budget, len(self.places)

    def cover_cells(self, budget: int) -> None:
        self.note("cells", budget)
        super().cover_cells(budget)

    def cover_edges(self, budget: int) -> tuple[int, int]:
        self.note("edges", budget)
        return super().cover_edges(budget)

    def wander(self, budget: int) -> None:
        self.note("wander", budget)
        super().wander(budget)


def test_the_budget_is_shared() -> None:
    tree = halves()
    walk = Recorded(tree, Grid(tree, Constants()), 100, Random(0), lambda leaf: leaf)
    found = walk.result()
    assert walk.given["cells"] == (50, 0)  # half
    budget, rows = walk.given["edges"]
    assert rows > 20
    assert budget == 100 - rows  # all the rest
    assert walk.given["wander"][0] == 50
    assert len(found.rows) <= 100


def test_rows_go_on_to_half_of_the_budget() -> None:
    """The edges of a small model leave room for other combinations."""
    body = every_type().body
    found = probe_rows(body, budget=1000)
    assert not found.complete
    assert 300 < len(found.rows) <= 500
