"""The semantics, by property: partitions, negation, merging, trees against rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from math import inf, nan, nextafter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import (
    random_category,
    random_double,
    random_features,
    random_program,
    random_row,
    random_tests,
    random_tree,
)
from tests.support.rule_lists import flatten
from treecompile.model.ir import (
    Branch,
    Condition,
    Feature,
    Kind,
    Op,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    conditions,
    decider,
    holds,
    is_partition,
    members,
    negate,
    predict,
    threshold,
)
from treecompile.regions.region import intersect
from treecompile.rules.extract import extract

seeds = st.integers(0, 2**32)
thorough = settings(max_examples=200, deadline=None)


def unseen_values(feature: Feature) -> list[Value]:
    """A value that is no category, where there is one."""
    candidates: dict[ValueType, Iterable[Value]] = {
        ValueType.STR: ("x" * n for n in count()),
        ValueType.INT: count(),
        ValueType.BOOL: (False, True),
    }
    unseen = (v for v in candidates[feature.type] if v not in feature.categories)
    return list(islice(unseen, 1))


def every_cell(tests: Iterable[Condition], feature: Feature) -> list[Value]:
    """A value of every class that the tests can tell apart, and those at the edges."""
    if feature.kind is not Kind.NUMERIC:
        return [None, nan, *unseen_values(feature), *feature.categories]
    values: list[Value] = [None, nan, -inf, inf, 0.0, -0.0, 5e-324]
    for test in tests:
        cut = threshold(test)
        values += [nextafter(cut, -inf), cut, nextafter(cut, inf)]
    return values


def splits_of(tree: Tree) -> list[Split]:
    return [node for node in tree.nodes if isinstance(node, Split)]


def branch_tests(split: Split) -> list[Condition]:
    return [branch.when for branch in split.branches]


def holding(split: Split, feature: Feature, value: Value) -> int:
    return sum(holds(test, feature, value) for test in branch_tests(split))


@thorough
@given(seeds)
def test_exactly_one_branch_holds_for_every_value(seed: int) -> None:
    tree = random_tree(Random(seed))
    for split in splits_of(tree):
        assert is_partition(split, tree.features)
        feature = tree.features[branch_tests(split)[0].feature]
        for value in every_cell(branch_tests(split), feature):
            assert holding(split, feature, value) == 1, value


@thorough
@given(seeds)
def test_a_condition_and_its_negation_never_agree(seed: int) -> None:
    random = Random(seed)
    for position, feature in enumerate(random_features(random)):
        for test in random_conditions(random, position, feature):
            denied = negate(test)
            assert negate(denied) == test
            for value in every_cell([test], feature):
                assert holds(test, feature, value) != holds(denied, feature, value)


def random_conditions(
    random: Random, position: int, feature: Feature
) -> list[Condition]:
    """Any legal conditions, not only those that stand together in a split."""
    result: list[Condition] = []
    for _ in range(random.randint(1, 5)):
        test = random.choice(random_tests(random, position, feature))
        if result and feature.kind is Kind.NUMERIC and random.random() < 0.4:
            cut = threshold(random.choice(result))
            near = random.choice((cut, nextafter(cut, -inf), nextafter(cut, inf)))
            test = replace(test, value=near)
        result.append(replace(test, missing=random.random() < 0.6))
    return result


def single_bounds(tests: Sequence[Condition], feature: Feature) -> Iterator[Condition]:
    """Every condition that could stand alone for all the tests."""
    ordinal = feature.kind is Kind.ORDINAL
    limits = feature.categories if ordinal else (*(t.value for t in tests), inf)
    for limit in limits:
        for op in (Op.LE, Op.GT):
            yield Condition(tests[0].feature, op, limit, missing=True)
            yield Condition(tests[0].feature, op, limit, missing=False)


@settings(max_examples=500, deadline=None)
@given(seeds)
def test_merged_conditions_say_the_same(seed: int) -> None:
    random = Random(seed)
    for position, feature in enumerate(random_features(random)):
        tests = random_conditions(random, position, feature)
        values = every_cell(tests, feature)
        values += [random_double(random)] if feature.kind is Kind.NUMERIC else []
        expected = [all(holds(t, feature, v) for t in tests) for v in values]
        merged = intersect(tests, feature)
        if merged is None:
            assert not any(expected)
            continue
        assert any(expected)
        assert expected == [all(holds(t, feature, v) for t in merged) for v in values]
        assert bool(merged) != all(expected)
        if len(merged) > 1:
            for single in single_bounds(tests, feature):
                assert expected != [holds(single, feature, v) for v in values]
        assert len({test.missing for test in merged}) <= 1
        assert len({test.op for test in merged}) == len(merged)
        assert intersect(merged, feature) == merged


@thorough
@given(seeds)
def test_a_tree_and_its_rules_decide_every_row_alike(seed: int) -> None:
    random = Random(seed)
    tree = random_tree(random)
    rules = extract(tree)
    leaves = outcomes(tree)
    for _ in range(20):
        row = random_row(random, tree)
        matching = [
            rule
            for rule in rules.rules
            if all(
                holds(c, rules.features[c.feature], row[c.feature])
                for c in rule.conditions
            )
        ]
        leaf = leaves[decider(tree, row)]
        assert [replace(rule, conditions=()) for rule in matching] == [leaf]
        assert predict(tree, row) == predict(rules, row) == leaf.value
        assert rules.rules[decider(rules, row)].id == leaf.id


@thorough
@given(seeds)
def test_flattening_keeps_every_decision(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    flat = flatten(program).body
    before, after = outcomes(program.body), outcomes(flat)
    for _ in range(20):
        row = random_row(random, program.body)
        old, new = before[decider(program.body, row)], after[decider(flat, row)]
        assert replace(new, conditions=()) == replace(old, conditions=())
    for rule in outcomes(flat).values():
        tested = [(c.feature, c.op) for c in rule.conditions]
        assert len(set(tested)) == len(tested)


def broken(random: Random, split: Split, feature: Feature) -> list[Split]:
    """The split with one thing wrong, in every way that comes to mind."""
    branches = split.branches
    result = []
    for place, branch in enumerate(branches):
        before, behind = branches[:place], branches[place + 1 :]

        def put(
            *new: Branch,
            before: tuple[Branch, ...] = before,
            behind: tuple[Branch, ...] = behind,
        ) -> None:
            result.append(replace(split, branches=(*before, *new, *behind)))

        def changed(branch: Branch = branch, **fields: object) -> Branch:
            return replace(branch, when=replace(branch.when, **fields))  # type: ignore[arg-type]

        put()
        put(branch, branch)
        put(changed(missing=not branch.when.missing))
        put(changed(op=negate(branch.when).op))
        if feature.kind is Kind.NUMERIC:
            cut = threshold(branch.when)
            put(changed(value=nextafter(cut, -inf)))
            put(changed(value=nextafter(cut, inf) if cut < inf else 0.0))
        elif feature.kind is Kind.ORDINAL:
            others = [c for c in feature.categories if c != branch.when.value]
            if others:
                put(changed(value=random.choice(others)))
        else:
            named = members(branch.when)
            if named:
                put(changed(value=named[1:]))
            others = [c for c in feature.categories if c not in named]
            if others:
                put(changed(value=(*named, others[0])))
    return result


@thorough
@given(seeds)
def test_what_is_no_partition_is_refused(seed: int) -> None:
    random = Random(seed)
    tree = random_tree(random, splits=4)
    for split in splits_of(tree):
        feature = tree.features[branch_tests(split)[0].feature]
        refused = 0
        for wrong in broken(random, split, feature):
            values = every_cell([*branch_tests(split), *branch_tests(wrong)], feature)
            # A test that never holds can come twice, or go, without any harm.
            if any(holding(wrong, feature, value) != 1 for value in values):
                assert not is_partition(wrong, tree.features), wrong
                refused += 1
        assert refused >= 2 * len(split.branches)  # flipped flags and operators


def test_branches_on_two_features_are_no_partition() -> None:
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    first = Condition(0, Op.LE, 1.0, missing=True)
    leaf = next(n for n in random_tree(Random(1), splits=0).nodes)
    branches = (Branch(first, 1, 1.0), Branch(replace(negate(first), feature=1), 2, 1))
    assert not is_partition(Split(branches, leaf.stats, 0.0), (x, x))
    assert not is_partition(Split(branches[:1], leaf.stats, 0.0), (x, x))


@thorough
@given(seeds)
def test_conditions_are_those_of_the_branches(seed: int) -> None:
    tree = random_tree(Random(seed))
    per_split = sum(len(split.branches) for split in splits_of(tree))
    assert len(list(conditions(tree))) == per_split


def test_the_generator_reaches_every_kind_of_value() -> None:
    random = Random(0)
    types = {f.type for _ in range(50) for f in random_features(random)}
    assert types == set(ValueType)
    texts = {type(random_category(random, t)) for t in types - {ValueType.FLOAT}}
    assert texts == {str, int, bool}
