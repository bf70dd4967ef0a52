"""Rows for cells and edges: each step of `Probing` by itself."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from random import Random

import pytest

from tests.support.samples import balanced, chain, every_type
from treecompile.model.ir import (
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
from treecompile.model.semantics import decider, is_unknown
from treecompile.verify.axes import Grid, doubles_beside
from treecompile.verify.cells import Probing
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
    assert 0 < len(walk.rows) <= budget
    assert walk.cells == 64
    entered = {decider(halves(), row) for row in walk.rows}
    assert len(entered) >= min(budget // 2, 64)


def test_every_cell_has_rows_for_the_constants_of_the_artefact() -> None:
    walk = probing(halves(), Constants(numbers=frozenset({1000.25})))
    walk.cover_cells(10_000)
    assert walk.cells == 64
    leaves = set(outcomes(halves()))
    for value in doubles_beside(1000.25):
        assert {
            decider(halves(), row) for row in walk.rows if row[1] == value
        } == leaves


def test_a_pinned_value_is_that_of_the_row() -> None:
    walk = probing(halves())
    for index in (0, 1):
        walk.rows.clear()
        walk.add(walk.grid.everything, index, 7.25)
        (row,) = walk.rows
        assert row[index] == 7.25
    walk.rows.clear()
    walk.add(walk.grid.everything, -1, 7.25)
    (row,) = walk.rows
    assert 7.25 not in row


# ---------------------------------------------------------------- the rest


def known_row() -> Row:
    return (1.0, "a", 1, True, "low")


def test_scattered_rows_have_unknown_values() -> None:
    tree = every_type().body
    assert isinstance(tree, Tree)
    walk = probing(tree)
    walk.scatter(9)
    assert not walk.rows  # there is nothing to change
    walk.rows[known_row()] = None
    walk.scatter(1)
    first = list(walk.rows)[1]
    unknown = [is_unknown(f, v) for f, v in zip(tree.features, first, strict=True)]
    assert all(unknown)  # the first of them has all values unknown
    walk.rows = {known_row(): None}
    walk.scatter(60)
    assert 10 < len(walk.rows) <= 61
    counts = set()
    for row in walk.rows:
        pairs = zip(tree.features, row, known_row(), strict=True)
        kinds = [is_unknown(f, v) or v == old for f, v, old in pairs]
        assert all(kinds)
        counts.add(
            sum(is_unknown(f, v) for f, v in zip(tree.features, row, strict=True))
        )
    assert {0, 5} < counts


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
