"""The spine of a tree: as shallow as promised, and the same decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log2
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_row, random_rules, random_tree
from tests.support.steps import run
from treecompile.emit.steps import (
    SPARE,
    Step,
    agreeing,
    ranks,
    rule_steps,
    tree_steps,
)
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    Op,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import decider, holds, leaf_positions, negate

ONE = ClassCounts((1.0,))
X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def nesting(steps: Sequence[Step]) -> int:
    """How many decisions stand within one another."""
    return max((step.depth + 1 for step in steps if step.tests), default=0)


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


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([None, 1, 2, 3, 10]), st.booleans())
def test_steps_decide_as_the_tree_does(
    seed: int, budget: int | None, missing_last: bool
) -> None:
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    steps = list(tree_steps(tree, budget, missing_last))
    for _ in range(20):
        row = random_row(random, tree)
        assert run(steps, tree.features, row) == decider(tree, row)
    leaves = list(leaf_positions(tree))
    assert sorted(s.outcome for s in steps if s.outcome is not None) == sorted(leaves)
    rank = ranks(tree)[0]
    least = rank if budget is None else min(rank, budget)
    most = least if budget is None or not missing_last else min(rank + SPARE, budget)
    assert least <= nesting(steps) <= most
    assert rank <= log2(len(leaves))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_steps_decide_as_the_rules_do(seed: int) -> None:
    random = Random(seed)
    rules = random_rules(random)
    steps = list(rule_steps(rules))
    assert {step.depth for step in steps} == {0}
    assert [step.tests == () for step in steps].index(True) == len(steps) - 1
    for _ in range(20):
        row = random_row(random, rules)
        assert run(steps, rules.features, row) == decider(rules, row)


@pytest.mark.parametrize("budget", [None, 1, 10])
def test_a_chain_of_any_depth_nests_once(budget: int | None) -> None:
    tree = chain(5000)
    steps = list(tree_steps(tree, budget))
    assert ranks(tree)[0] == nesting(steps) == 1
    assert len(steps) == 5001
    assert all(len(step.tests) == 1 for step in steps[:-1])


@pytest.mark.parametrize("budget", [None, 1, 2, 5, 8, 12, 13])
def test_a_balanced_tree_keeps_within_the_budget(budget: int | None) -> None:
    tree = balanced(12)
    steps = list(tree_steps(tree, budget))
    assert nesting(steps) == min(budget or 12, 12)
    # Each test in front of another saves a level.
    assert max(len(step.tests) for step in steps) == 13 - min(budget or 12, 12)


def test_a_leaf_alone_is_one_step() -> None:
    assert list(tree_steps(binary([], 1), 3)) == [Step(0, (), 0)]


def test_the_shape_of_a_small_tree() -> None:
    """if a: {if b: 1, 2}, if c: 3, 4 - as the module's own picture has it."""
    tree = balanced(2)
    a, b, c = (node.branches[0].when for node in tree.nodes if isinstance(node, Split))
    # Of two children that nest alike the last goes on behind the guard.
    assert list(tree_steps(tree)) == [
        Step(0, (a,), None, (False,)),
        Step(1, (b,), 3, (False,)),
        Step(1, (), 4),
        Step(0, (c,), 5, (True,)),  # a missing value holds in a
        Step(0, (), 6),
    ]
    assert list(tree_steps(tree, 1)) == [
        Step(0, (a, b), 3, (False, False)),
        Step(0, (a,), 4, (False,)),
        Step(0, (c,), 5, (True,)),
        Step(0, (), 6),
    ]


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
    tree = colours(deep=deep)
    root = tree.nodes[0]
    assert isinstance(root, Split)
    steps = list(tree_steps(tree))
    assert nesting(steps) == ranks(tree)[0] == 1
    guards = [
        branch.when for place, branch in enumerate(root.branches) if place != last
    ]
    assert [step.tests for step in steps[:2]] == [(guard,) for guard in guards]


# ---------------------------------------------------------------- missing values last


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_a_known_value_is_never_missing(seed: int, missing_last: bool) -> None:
    """Whichever step asks for it, no row with a missing value comes to it."""
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    steps = list(tree_steps(tree, 10, missing_last=missing_last))
    for _ in range(20):
        row = random_row(random, tree)
        for test, known in met(steps, tree.features, row):
            assert not known or row[test.feature] is not None


def met(
    steps: list[Step], features: Sequence[Feature], row: Row
) -> Iterator[tuple[Condition, bool]]:
    """The tests that a row comes to, in their order."""
    depth = 0
    for step in steps:
        if step.depth != depth:
            continue
        for asked in step.asked:
            yield asked
            if not holds(asked[0], features[asked[0].feature], row[asked[0].feature]):
                break
        else:
            if step.outcome is not None:
                return
            depth += 1


def test_the_branch_of_missing_values_continues_if_the_others_can_nest() -> None:
    tree = of_many_features(chain(20))  # a missing value comes to the leaf beside
    steps = list(tree_steps(tree, 10, missing_last=True))
    assert nesting(steps) == 1 + SPARE
    accepts = [test.missing for step in steps for test in step.tests]
    assert accepts == [False] * SPARE + [True] * (19 - SPARE) + [False]
    assert nesting(list(tree_steps(tree, 1, missing_last=True))) == 1
    again = list(tree_steps(chain(20), 10, missing_last=True))  # one feature
    assert [step.known for step in again if step.tests] == [(False,), *[(True,)] * 19]


def of_many_features(tree: Tree) -> Tree:
    """The same tree, each split on a feature of its own."""
    nodes = tuple(
        (
            replace(
                node,
                branches=tuple(
                    replace(each, when=replace(each.when, feature=position))
                    for each in node.branches
                ),
            )
            if isinstance(node, Split)
            else node
        )
        for position, node in enumerate(tree.nodes)
    )
    return replace(tree, features=(X,) * len(nodes), nodes=nodes)


# ---------------------------------------------------------------- equal answers


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_without_agreeing_splits_the_answers_are_the_same(seed: int) -> None:
    random = Random(seed)
    tree = random_tree(random, splits=random.randint(0, 40))
    answers = {leaf: random.choice("ab") for leaf in leaf_positions(tree)}
    smaller, leaves = agreeing(tree, answers)
    assert isinstance(smaller, Tree)
    assert sorted(leaf for below in leaves.values() for leaf in below) == sorted(
        answers
    )
    for _ in range(20):
        row = random_row(random, tree)
        assert decider(tree, row) in leaves[decider(smaller, row)]
    for node in smaller.nodes:
        if isinstance(node, Split):
            below = [leaves.get(branch.then, [-1]) for branch in node.branches]
            found = {answers.get(leaf, "split") for each in below for leaf in each}
            assert found != {"a"}
            assert found != {"b"}


def test_a_tree_whose_leaves_all_agree_is_one_leaf() -> None:
    tree = balanced(3)
    smaller, leaves = agreeing(tree, dict.fromkeys(leaf_positions(tree), "a"))
    assert isinstance(smaller, Tree)
    assert len(smaller.nodes) == 1
    assert [*leaves] == [0]
    assert leaves[0] == [*leaf_positions(tree)]
