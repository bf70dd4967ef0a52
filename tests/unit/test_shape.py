"""The arms of a model: as shallow as promised, and the same decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.arms import run, run_tracing
from tests.support.random_models import random_row, random_rules, random_tree
from treecompile.emit.lower import SPARE, Arm, ArmTest, lower, ranks
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    Op,
    Rule,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider, negate

ONE = ClassCounts((1.0,))
X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def nesting(arms: Sequence[Arm]) -> int:
    """How many decisions stand within one another."""
    return max((arm.depth + 1 for arm in arms if arm.tests), default=0)


def binary(tests: Sequence[tuple[int, int, int]], nodes: int) -> Tree:
    """A tree of splits given as position, left child, right child."""
    splits = {}
    for place, (position, left, right) in enumerate(tests):
        below = Condition(0, Op.LE, float(place), missing=True)
        branches = (Branch(below, left, 1.0), Branch(negate(below), right, 1.0))
        splits[position] = Split(branches, ONE, 0.0)
    leaf = Leaf("a", ONE, 1.0)
    return Tree((X,), ("a",), tuple(splits.get(p, leaf) for p in range(nodes)))


def chain(depth: int) -> Tree:
    tests = [(2 * d, 2 * d + 1, 2 * d + 2) for d in range(depth)]
    return binary(tests, 2 * depth + 1)


def balanced(depth: int) -> Tree:
    tests = [(p, 2 * p + 1, 2 * p + 2) for p in range(2**depth - 1)]
    return binary(tests, 2 ** (depth + 1) - 1)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([None, 1, 2, 3, 10]), st.booleans())
def test_arms_decide_as_the_tree_does(
    seed: int, levels: int | None, missing_last: bool
) -> None:
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    arms, rules = list(lower(tree, levels, missing_last)), outcomes(tree)
    for _ in range(20):
        row = random_row(random, tree)
        assert run(arms, row) == (rules[decider(tree, row)],)
    written = [rule for arm in arms for rule in arm.rules]
    assert sorted(rule.id for rule in written) == sorted(r.id for r in rules.values())
    rank = ranks(tree, {})[0]
    least = rank if levels is None else min(rank, levels)
    most = least if levels is None or not missing_last else min(rank + SPARE, levels)
    assert least <= nesting(arms) <= most
    assert rank <= log2(len(rules))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_arms_decide_as_the_rules_do(seed: int) -> None:
    random = Random(seed)
    rules = random_rules(random)
    arms = list(lower(rules))
    assert {arm.depth for arm in arms} == {0}
    assert [arm.tests == () for arm in arms].index(True) == len(arms) - 1
    for _ in range(20):
        row = random_row(random, rules)
        assert run(arms, row) == (outcomes(rules)[decider(rules, row)],)


@pytest.mark.parametrize("levels", [None, 1, 10])
def test_a_chain_of_any_depth_nests_once(levels: int | None) -> None:
    arms = list(lower(chain(5000), levels))
    assert nesting(arms) == 1
    assert len(arms) == 5001
    assert all(len(arm.tests) == 1 for arm in arms[:-1])


@pytest.mark.parametrize("levels", [None, 1, 2, 5, 8, 12, 13])
def test_a_balanced_tree_keeps_within_its_levels(levels: int | None) -> None:
    arms = list(lower(balanced(12), levels))
    assert nesting(arms) == min(levels or 12, 12)
    # Each test in front of another saves a level.
    assert max(len(arm.tests) for arm in arms) == 13 - min(levels or 12, 12)


def test_the_shape_of_a_small_tree() -> None:
    """if a: {if b: 1, 2}, if c: 3, 4 - as the module's own picture has it."""
    a, b = (ArmTest(0, "at_most_or_missing", (float(n),)) for n in range(2))
    c = ArmTest(0, "at_most", (2.0,), known=True)  # a missing value holds in a
    r1, r2, r3, r4 = ((rule,) for rule in outcomes(balanced(2)).values())
    # Of two children that nest alike the last goes on behind the guard.
    assert list(lower(balanced(2))) == [
        *(Arm(0, (a,), ()), Arm(1, (b,), r1), Arm(1, (), r2)),
        *(Arm(0, (c,), r3), Arm(0, (), r4)),
    ]
    assert list(lower(balanced(2), 1)) == [
        *(Arm(0, (a, b), r1), Arm(0, (a,), r2)),
        *(Arm(0, (c,), r3), Arm(0, (), r4)),
    ]
    (alone,) = lower(binary([], 1), 3)
    assert (alone.depth, alone.tests) == (0, ())


COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "blue", "green"))


def colours(*, deep: int) -> Tree:
    """Three branches, the catch-all first; below the branch `deep` is another test."""
    tests = (
        Condition(1, Op.NOT_IN, ("red", "blue"), missing=True),
        Condition(1, Op.IN, ("red",), missing=False),
        Condition(1, Op.IN, ("blue",), missing=False),
    )
    below = Condition(0, Op.LE, 0.0, missing=True)
    inner = Split((Branch(below, 4, 1.0), Branch(negate(below), 5, 1.0)), ONE, 0.0)
    leaf = Leaf("a", ONE, 1.0)
    branches = tuple(Branch(test, place + 1, 1.0) for place, test in enumerate(tests))
    children = tuple(inner if place == deep else leaf for place in range(3))
    root = Split(branches, ONE, 0.0)
    nodes = (root, *children, leaf, leaf) if deep >= 0 else (root, *children)
    return Tree((X, COLOUR), ("a",), nodes)


@pytest.mark.parametrize(("deep", "last"), [(-1, 0), (0, 0), (1, 1), (2, 2)])
def test_the_deepest_branch_goes_on_or_the_catch_all(deep: int, last: int) -> None:
    arms = list(lower(colours(deep=deep)))
    assert nesting(arms) == 1
    tests = [
        ArmTest(1, "without_or_missing", ("red", "blue")),
        *(ArmTest(1, "within", ("red",)), ArmTest(1, "within", ("blue",))),
    ]
    del tests[last]
    assert [arm.tests for arm in arms[:2]] == [(test,) for test in tests]


# ---------------------------------------------------------------- missing values last


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_known_value_is_never_missing(seed: int, missing_last: bool) -> None:
    """Whichever arm asks for it, no row with a missing value comes to it."""
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    arms = list(lower(tree, 10, missing_last=missing_last))
    for _ in range(20):
        row = random_row(random, tree)
        for test in run_tracing(arms, row)[0]:
            value = row[test.feature]
            assert not test.known or (value is not None and value == value)


def test_the_branch_of_missing_values_goes_on_if_the_others_can_nest() -> None:
    tree = of_many_features(chain(20))  # a missing value comes to the leaf beside
    arms = list(lower(tree, 10, missing_last=True))
    assert nesting(arms) == 1 + SPARE
    forms = [test.form for arm in arms for test in arm.tests]
    last = ["at_most_or_missing"] * (19 - SPARE)
    assert forms == [*["above"] * SPARE, *last, "above"]
    assert nesting(list(lower(tree, 1, missing_last=True))) == 1
    again = list(lower(chain(20), 10, missing_last=True))  # one feature
    assert [test.known for arm in again for test in arm.tests] == [False, *[True] * 19]


def of_many_features(tree: Tree) -> Tree:
    """The same tree, each split on a feature of its own."""

    def moved(position: int, node: Split) -> Split:
        branches = (
            replace(each, when=replace(each.when, feature=position))
            for each in node.branches
        )
        return replace(node, branches=tuple(branches))

    nodes = tuple(
        moved(position, node) if isinstance(node, Split) else node
        for position, node in enumerate(tree.nodes)
    )
    return replace(tree, features=(X,) * len(nodes), nodes=nodes)


# ---------------------------------------------------------------- equal answers


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_without_agreeing_splits_the_answers_are_the_same(seed: int) -> None:
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    rules = outcomes(tree)
    answers = {rule.id: random.choice("ab") for rule in rules.values()}

    def answer(rule: Rule) -> str:
        return answers[rule.id]

    arms = list(lower(tree, answer=answer))
    written = [rule.id for arm in arms for rule in arm.rules]
    assert sorted(written) == sorted(answers)
    assert all(len(set(map(answer, arm.rules))) == 1 for arm in arms if arm.rules)
    for _ in range(20):
        row = random_row(random, tree)
        assert rules[decider(tree, row)] in run(arms, row)
    (alone,) = lower(tree, answer=lambda rule: "a")
    assert alone == Arm(0, (), tuple(rules.values()))
