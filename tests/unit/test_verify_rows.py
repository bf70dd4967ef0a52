"""The rows that `verify` tries, and the answers it expects, against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_float
from decimal import Decimal
from itertools import product
from math import floor, inf, nan, nextafter, prod
from random import Random
from typing import Any

import pytest

from tests.support.differential import sample
from tests.support.forests import random_forest
from tests.support.random_models import random_rules, random_tree
from tests.support.rule_lists import above, at_most, rule_set
from tests.support.samples import balanced, every_type, numeric, stump
from tests.support.small_models import every_row, small_body
from treecompile.emit.sql.dialect import NumberTypes
from treecompile.emit.sql.outputs import Asked
from treecompile.model import batch, ir
from treecompile.model.forests import ZERO
from treecompile.model.semantics import conditions, decider, holds, predict
from treecompile.verify.axes import Grid, added, integers_beside, of_dialect
from treecompile.verify.reference import Reference, encoded
from treecompile.verify.rows import Probing, probe_rows
from treecompile.verify.search import Search
from treecompile.verify.verification import same

# ---------------------------------------------------------------- trees and rules


def arrival(search: Search, row: ir.Row, start: int, stop: int = -1) -> int:
    """Where a row that walks from a state decides, or whether it comes to another."""
    state = start
    while state != stop and search.arms[state]:
        (test, _), *_ = search.arms[state]
        state = search.taken(state, row[test.feature])
    return state


def covered_by_force(probing: Probing) -> int:
    """How many edges some row shows, by trying all rows."""
    search = probing.search
    rows = list(product(*(axis.values for axis in probing.grid.axes)))
    count = 0
    for question in search.questions():
        state = question[0]
        index = search.arms[state][0][0].feature
        here = [row for row in rows if arrival(search, row, 0, state) == state]
        for value, *both in probing.errors(question):
            count += any(
                len({search.answer(arrival(search, row, arm)) for arm in both}) > 1
                for row in here
                if row[index] is value or row[index] == value
            )
    return count


def small_model(seed: int) -> ir.Body | None:
    """A model whose rows are few enough to try all; None if the seed gives none."""
    dice = Random(seed)
    body = random_rules(dice) if seed % 3 == 0 else random_tree(dice, splits=4)
    size = prod(len(axis.values) for axis in Grid(body, frozenset()).axes)
    asks = isinstance(body, ir.Tree) or bool(body.rules and body.rules[0].conditions)
    return body if size <= 1500 and asks else None


SEEDS = [seed for seed in range(400) if small_model(seed)]
assert len(SEEDS) >= 40


@pytest.mark.parametrize("seed", SEEDS)
def test_every_edge_that_a_row_can_show_is_covered(seed: int) -> None:
    body = small_model(seed)
    assert body is not None
    grid = Grid(body, frozenset())
    odd = (1).__and__  # half of the positions have the same answer
    probing = Probing(body, frozenset(), grid, 5000, Random(0), odd)
    number, found = probing.edges(5000)
    assert number == len(found) == covered_by_force(probing)
    for row, (cell, pin) in zip(probing.drawn.inside(found), found, strict=True):
        assert pin is not None
        assert repr(row[pin[0]]) == repr(pin[1])
        for index, region in cell.items():
            assert region.overlaps(grid.axes[index].at(row[index]))


@pytest.mark.parametrize("seed", range(40))
def test_each_cell_that_a_row_reaches_is_entered(seed: int) -> None:
    body = small_body(Random(seed))
    reached = {decider(body, row) for row in every_row()}
    for budget in (10_000, 150):
        found = probe_rows(body, budget=budget)
        assert {decider(body, row) for row in found.rows} == reached
        assert found.complete or found.cells == len(reached)


@pytest.mark.parametrize("body", [balanced(6).body, every_type().body])
@pytest.mark.parametrize("budget", [1, 10, 63, 100])
def test_a_small_budget_is_kept_and_shared(body: ir.Body, budget: int) -> None:
    found, again, other = (
        probe_rows(body, budget=budget, seed=seed) for seed in (1, 1, 2)
    )
    assert not found.complete
    assert 0 < len(found.rows) <= budget
    assert found.covered <= found.edges
    entered = {decider(body, row) for row in found.rows}
    assert len(entered) >= min(budget // 3, found.cells // 3)
    assert repr(found) == repr(again)
    assert repr(found.rows) != repr(other.rows)


def test_all_combinations_are_tried_up_to_the_budget() -> None:
    rules = rule_set(
        ((at_most(0, 5.0), above(2, 1.0)), "yes"), ((above(2, 7.0),), "no")
    )
    grid = Grid(rules, frozenset())
    number = prod(len(grid.axes[index].values) for index in (0, 2))
    whole = probe_rows(rules, budget=number)
    assert whole.complete
    assert len({(repr(row[0]), repr(row[2])) for row in whole.rows}) == number
    # The feature that no rule tests has all kinds of values.
    assert len({repr(row[1]) for row in whole.rows}) > 3
    less = probe_rows(rules, budget=number - 1)
    assert not less.complete
    assert (less.cells, less.covered) == (3, less.edges)
    assert less.edges > 0


def test_the_rows_have_every_edge_of_every_type() -> None:
    body = every_type().body
    found = probe_rows(body, budget=200)
    edges: tuple[set[Any], ...] = (
        {2.5, nextafter(2.5, 0), nextafter(2.5, 9), inf, -inf, None},
        {"a", "b", "z", "A", "a ", " b", "unseen", None},
        {1, 2, 9, 0, None},
        {False, True, None},
        {"low", "mid", "high", "unseen", None},
    )
    for index, values in enumerate(edges):
        assert values <= {row[index] for row in found.rows}
    assert any(row[0] != row[0] for row in found.rows)  # NaN


def test_edges_between_equal_answers_do_not_count() -> None:
    body = every_type().body
    whole = probe_rows(body, budget=300)
    found = probe_rows(body, budget=300, answer=lambda leaf: "same")
    assert (found.edges, found.covered) == (0, 0)
    halves = probe_rows(body, budget=300, answer=lambda leaf: leaf == 1)
    assert 0 < halves.edges == halves.covered < whole.edges


def test_what_was_added_to_a_text_is_tried_in_every_cell() -> None:
    fresh = "CASE WHEN x <= 0.5 THEN 'it''s' END"
    text = fresh.replace("0.5", "0.5 AND x <> -9.25 OR t = 'o''clock' OR c = \"C\"")
    found = added(text, fresh)
    assert found == {9.25, -9.25, "o'clock", "C"}
    assert not added(fresh, fresh)
    body = numeric().body
    tried = probe_rows(body, found, budget=100)
    assert not tried.complete
    for value in (-9.25, nextafter(-9.25, inf), nextafter(-9.25, -inf)):
        met = [row for row in tried.rows if row[1] == value]
        assert {predict(body, row) for row in met} == {"low", "mid"}


# ---------------------------------------------------------------- forests


def paths(tree: ir.Tree) -> Iterator[tuple[ir.Node, tuple[ir.Condition, ...]]]:
    """The nodes of a tree, each with the conditions on the way to it."""
    known: dict[int, tuple[ir.Condition, ...]] = {0: ()}
    for place, node in enumerate(tree.nodes):
        yield node, known[place]
        for branch in getattr(node, "branches", ()):
            known[branch.then] = (*known[place], branch.when)


def candidates(forest: ir.Forest, index: int) -> list[ir.Value]:
    """Values between which no test of a forest tells more."""
    feature = forest.features[index]
    if feature.kind is not ir.Kind.NUMERIC:
        others: dict[ir.ValueType, list[ir.Value]] = {
            ir.ValueType.STR: ["never seen"],
            ir.ValueType.INT: [99],
        }
        return [*feature.categories, None, *others.get(feature.type, [])]
    cuts = [test.value for test in conditions(forest) if test.feature == index]
    near = [v for cut in (*cuts, ZERO, -ZERO) for v in beside(cut)]
    return [*near, -inf, inf, None]


def beside(cut: Any) -> tuple[float, float, float]:
    return nextafter(cut, -inf), cut, nextafter(cut, inf)


@pytest.mark.parametrize("seed", range(40))
def test_a_forest_has_a_row_in_every_leaf_and_at_every_edge(seed: int) -> None:
    dice = Random(seed)
    forest = random_forest(dice, trees=12)
    found = probe_rows(forest, budget=2_000, seed=seed)
    rows = [tuple(None if v != v else v for v in row) for row in found.rows]

    def meets(path: tuple[ir.Condition, ...], row: dict[int, ir.Value]) -> bool:
        """Whether the known values of a row lead along a path."""
        features = forest.features
        return all(
            holds(test, features[test.feature], row[test.feature])
            for test in path
            if test.feature in row
        )

    def is_reached(path: tuple[ir.Condition, ...], pins: dict[int, ir.Value]) -> bool:
        return any(
            all(row[index] == value for index, value in pins.items())
            and meets(path, dict(enumerate(row)))
            for row in rows
        )

    for member in forest.members:
        for node, path in paths(member.tree):
            possible = all(
                any(meets(path, {index: v}) for v in candidates(forest, index))
                for index in {test.feature for test in path}
            )
            if not possible:
                continue
            assert is_reached(path, {})
            test = node.branches[0].when if isinstance(node, ir.Split) else None
            if test is None or not isinstance(test.value, float):
                continue
            for value in (*beside(test.value), -inf, inf, None):
                pins: dict[int, ir.Value] = {test.feature: value}
                assert not meets(path, pins) or is_reached(path, pins)
    assert found.complete or found.covered == found.edges


@pytest.mark.parametrize("budget", [1, 10, 200, 1_500])
def test_the_rows_of_a_forest_stay_within_the_budget(budget: int) -> None:
    forest = random_forest(Random(29), trees=40)
    one, again = (probe_rows(forest, budget=budget, seed=5) for _ in range(2))
    assert not one.complete
    assert 0 < len(one.rows) <= budget
    assert len(set(map(repr, one.rows))) == len(one.rows)
    assert repr(one) == repr(again)


# ---------------------------------------------------------------- types of numbers

TYPES = of_dialect(NumberTypes("BIGINT", "DECIMAL(38, 10)", "REAL"))
BIG = 1.7976931348623157e308


@pytest.mark.parametrize(
    "cut", [0.0, -2.5, 1e15, 2.0**53, 2.0**60 + 512, -(2.0**60) - 512, 2.0**100, BIG]
)
def test_the_integers_that_are_rounded_across_a_threshold(cut: float) -> None:
    """The last integer whose double is not above the threshold, and the next."""
    last = floor(cut)
    step = 1 << 960 if cut > 1e300 else 1 << 60
    while step:
        if last + step <= 2**1023 and float(last + step) <= cut:
            last += step
        step >>= 1
    tried = integers_beside(cut)
    assert {floor(cut) - 1, floor(cut), floor(cut) + 1} <= set(tried)
    assert cut == BIG or {last, last + 1} <= set(tried)
    whole = list(TYPES["BIGINT"](cut))
    assert whole == [n for n in tried if -(2**63) <= n < 2**63]


@pytest.mark.parametrize("cut", [0.1, -0.1, 1 / 3, 123456.789, 9.9e24])
def test_decimals_and_singles_lie_on_both_sides(cut: float) -> None:
    low, high = map(Decimal, map(str, TYPES["DECIMAL(38, 10)"](cut)))
    assert low <= Decimal(cut) <= high
    assert high - low in (0, Decimal("1e-10"))
    singles = [v for v in TYPES["REAL"](cut) if isinstance(v, float)]
    assert all(c_float(value).value == value for value in singles)
    assert min(singles) <= cut <= max(singles)
    assert len(set(singles)) > 1
    assert not list(TYPES["DECIMAL(38, 10)"](1e25))
    assert not list(TYPES["REAL"](1e39))


# ---------------------------------------------------------------- expected answers


@pytest.mark.parametrize("seed", range(60))
def test_the_reference_says_what_the_semantics_say(seed: int) -> None:
    program, rows, answers = sample(seed)
    labels = program.body.labels
    wanted = [Asked("rule"), Asked("label")]
    if labels:
        wanted += [Asked("probability"), Asked("probability", 0)]
    reference = Reference(program.body, wanted)
    for said, known in zip(reference.judge(rows), answers, strict=True):
        expected: list[object] = [known.rule, known.value]
        if labels:
            expected += [known.shares[labels.index(known.value)], known.shares[0]]
        assert repr(said) == repr(tuple(expected))
    assert reference.entered == {decider(program.body, row) for row in rows}


def test_a_wrong_decision_over_columns_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = stump(0.5).body
    reference, rows = Reference(body), probe_rows(body).rows
    right = batch.deciders(body, encoded(body, rows), len(rows))
    wrong = right.copy()
    wrong[-1] = next(place for place in set(right.tolist()) if place != right[-1])
    monkeypatch.setattr(batch, "deciders", lambda *_: wrong)
    with pytest.raises(AssertionError, match="batch and semantics differ"):
        list(reference.judge(rows))


def test_numbers_of_every_type_are_compared_as_doubles() -> None:
    values: list[Any] = [2**53 + 1, 10**400, -(10**400), Decimal("0.1"), None, nan]
    (column,) = encoded(stump(0.5).body, [(value,) for value in values])
    assert column is not None
    assert repr(column.tolist()) == repr([2.0**53, inf, -inf, 0.1, nan, nan])


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        *(("a", "a", True), ("a", "A", False), ("a", None, False)),
        *((1, 1, True), (1, 1.0, False), (1.0, 1, False), (1, True, False)),
        *((True, True, True), (True, 1, True), (True, 0, False), (True, 2, False)),
        *((True, 1.0, False), (True, "true", False)),
        *((0.1, 0.1, True), (0.1, nextafter(0.1, 1.0), False)),
        *((nan, nan, True), (nan, None, False), (nan, 0.0, False), (0.0, nan, False)),
    ],
)
def test_answers_are_compared_with_their_types(
    expected: ir.Label, actual: object, is_same: bool
) -> None:
    assert same(expected, actual) is is_same
