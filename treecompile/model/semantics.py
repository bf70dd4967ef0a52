"""The one meaning of a condition, a tree and a rule set (see docs/guarantee.md).

Every artefact, on every engine, is judged by these functions. They work on one row of
converted values: None where a value is missing (a NaN counts as missing too), a float
for a numeric feature, a category otherwise. They are written to be read; `batch` does
the same for whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TypeGuard

from treecompile.model.ir import (
    Body,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Row,
    RuleSet,
    Split,
    Stats,
    Tree,
    Value,
    ValueType,
)

NEGATED = {Op.LE: Op.GT, Op.GT: Op.LE, Op.IN: Op.NOT_IN, Op.NOT_IN: Op.IN}


def holds(condition: Condition, feature: Feature, value: Value) -> bool:
    """Say whether a value of the feature satisfies the condition."""
    if value is None or value != value:
        return condition.missing
    match condition.op:
        case Op.IN:
            return value in members(condition)
        case Op.NOT_IN:
            return value not in members(condition)
    at_most: bool
    if feature.kind is Kind.ORDINAL:
        if value not in feature.categories:
            return condition.missing
        at_most = rank(feature, value) <= rank(feature, condition.value)
    else:
        at_most = float(value) <= threshold(condition)
    return at_most == (condition.op is Op.LE)


def negate(condition: Condition) -> Condition:
    """The condition that holds exactly where this one does not."""
    op = NEGATED[condition.op]
    return Condition(
        condition.feature, op, condition.value, missing=not condition.missing
    )


def in_order(feature: Feature, categories: Iterable[Category]) -> tuple[Category, ...]:
    """Categories in the order of the feature."""
    chosen = set(categories)
    return tuple(c for c in feature.categories if c in chosen)


def is_missing(index: int, feature: Feature) -> Condition:
    """The condition "the value is missing"; its negation is "is present"."""
    if feature.kind is Kind.NUMERIC:
        return Condition(index, Op.GT, inf, missing=True)
    return Condition(index, Op.IN, (), missing=True)


def asks_presence(condition: Condition) -> bool:
    """Whether the condition only asks if the value is missing, or if it is present."""
    return condition.value in (inf, ()) and condition.missing == (
        condition.op in (Op.GT, Op.IN)
    )


def members(condition: Condition) -> tuple[Category, ...]:
    """The categories of an IN or NOT_IN condition."""
    assert isinstance(condition.value, tuple)
    return condition.value


def threshold(condition: Condition) -> float:
    """The number that a numeric condition compares values with."""
    assert isinstance(condition.value, float)
    return condition.value


def rank(feature: Feature, category: object) -> int:
    """The position of a category in the order of an ordinal feature."""
    return feature.categories.index(category)


def membership(
    test: Condition, feature: Feature
) -> tuple[bool, tuple[Category, ...], bool]:
    """A categorical or ordinal test as a plain set, as targets write it.

    Whether it is "in" or "not in", the categories, and the truth for a missing value.
    """
    if feature.kind is Kind.ORDINAL:
        place = rank(feature, test.value) + 1
        low, high = feature.categories[:place], feature.categories[place:]
        true, false = (low, high) if test.op is Op.LE else (high, low)
        # Unseen values go with the missing one: name the side that has neither.
        return (False, false, True) if test.missing else (True, true, False)
    return test.op is Op.IN, members(test), test.missing


def truth_table(test: Condition, feature: Feature) -> list[bool]:
    """The truth for each category in order, then for unseen, then for missing."""
    inside, chosen, missing = membership(test, feature)
    named = set(chosen)
    truth = [(category in named) == inside for category in feature.categories]
    return [*truth, not inside, missing]


def is_partition(split: Split, features: Sequence[Feature]) -> bool:
    """Whether exactly one branch holds for every value, missing and unseen included."""
    tests = [branch.when for branch in split.branches]
    if len(tests) < 2 or len({test.feature for test in tests}) > 1:
        return False
    if features[tests[0].feature].kind is not Kind.CATEGORICAL:
        return len(tests) == 2 and tests[1] == negate(tests[0])
    rest = [test for test in tests if test.op is Op.NOT_IN]
    named = [c for test in tests if test.op is Op.IN for c in members(test)]
    return (
        len(rest) == 1
        and sum(test.missing for test in tests) == 1
        and len(named) == len(set(named))
        and set(named) == set(members(rest[0]))
    )


def leaf_position(tree: Tree, row: Row) -> int:
    """The position of the leaf that a row falls into by the conditions."""
    position = 0
    node = tree.nodes[0]
    while isinstance(node, Split):
        position = taken(tree, node, row)
        node = tree.nodes[position]
    return position


def taken(tree: Tree, split: Split, row: Row) -> int:
    """The position of the child whose condition holds."""
    index = split.branches[0].when.feature
    feature, value = tree.features[index], row[index]
    return next(b.then for b in split.branches if holds(b.when, feature, value))


def is_unknown(feature: Feature, value: Value) -> bool:
    """Whether a value is missing, or a category that the feature does not have."""
    if value is None or value != value:
        return True
    return feature.kind is not Kind.NUMERIC and value not in feature.categories


def is_fractional(body: Body) -> TypeGuard[Tree]:
    """Whether an unknown value is divided among the branches of a split."""
    return isinstance(body, Tree) and body.missing is MissingPolicy.FRACTIONAL


def distribution(tree: Tree, row: Row) -> tuple[float, ...]:
    """The share of each label for a row; for a regression, the estimate alone.

    Under the fractional policy, a split on an unknown value gives the weighted mean of
    its branches: the sum of weight x share, in branch order, over the sum of weights.
    """
    followed: dict[int, tuple[int, ...]] = {}  # the children that the row goes on to
    waiting = [0]
    while waiting:
        position = waiting.pop()
        node = tree.nodes[position]
        followed[position] = _followed(tree, node, row)
        waiting.extend(followed[position])
    shares: dict[int, tuple[float, ...]] = {}
    for position in sorted(followed, reverse=True):  # children come after parents
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            shares[position] = certain(node)
        elif len(followed[position]) > 1:
            shares[position] = _mixed(node, shares)
        else:
            shares[position] = shares[followed[position][0]]
    return shares[0]


def _followed(tree: Tree, node: Node, row: Row) -> tuple[int, ...]:
    if isinstance(node, Leaf):
        return ()
    index = node.branches[0].when.feature
    if is_fractional(tree) and is_unknown(tree.features[index], row[index]):
        return tuple(branch.then for branch in node.branches)
    return (taken(tree, node, row),)


def certain(leaf: Leaf) -> tuple[float, ...]:
    """The share of each label in a leaf, or its number."""
    if isinstance(leaf.stats, ClassCounts):
        return probabilities(leaf.stats)
    assert isinstance(leaf.value, float)
    return (leaf.value,)


def _mixed(split: Split, shares: dict[int, tuple[float, ...]]) -> tuple[float, ...]:
    sums, total = [0.0] * len(shares[split.branches[0].then]), 0.0
    for branch in split.branches:
        total += branch.weight
        for label, share in enumerate(shares[branch.then]):
            sums[label] += branch.weight * share
    return tuple(part / total for part in sums)


def leaf_positions(tree: Tree) -> Iterator[int]:
    """The leaves in reading order: depth first, in the order of the branches."""
    stack = [0]
    while stack:
        position = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, Split):
            stack.extend(branch.then for branch in reversed(node.branches))
        else:
            yield position


def rule_position(rules: RuleSet, row: Row) -> int:
    """The position of the first rule whose conditions all hold.

    The default has the position after the last rule.
    """
    for position, rule in enumerate(rules.rules):
        if all(
            holds(c, rules.features[c.feature], row[c.feature]) for c in rule.conditions
        ):
            return position
    return len(rules.rules)


def decider(body: Body, row: Row) -> int:
    """The position of the leaf or rule that decides a row.

    Under the fractional policy several leaves may share the decision; this is the one
    that the conditions lead to.
    """
    if isinstance(body, RuleSet):
        return rule_position(body, row)
    return leaf_position(body, row)


def predict(body: Body, row: Row) -> Label:
    """The answer to one row."""
    if is_fractional(body):
        shares = distribution(body, row)
        return body.labels[shares.index(max(shares))] if body.labels else shares[0]
    position = decider(body, row)
    if isinstance(body, RuleSet):
        return (*body.rules, body.default)[position].value
    leaf = body.nodes[position]
    assert isinstance(leaf, Leaf)
    return leaf.value


def answer(stats: Stats, labels: Sequence[Label]) -> Label:
    """The heaviest label, the first one at a tie; for a regression, the mean."""
    if isinstance(stats, ClassCounts):
        return labels[stats.weights.index(max(stats.weights))]
    return stats.mean


def probabilities(stats: Stats) -> tuple[float, ...]:
    """The share of each label: count / total, in double."""
    assert isinstance(stats, ClassCounts)
    total = stats.weight
    return tuple(weight / total for weight in stats.weights)


def conditions(body: Body) -> Iterator[Condition]:
    """Every condition of a tree or rule set."""
    if isinstance(body, Tree):
        for node in body.nodes:
            if isinstance(node, Split):
                yield from (branch.when for branch in node.branches)
    else:
        for rule in body.rules:
            yield from rule.conditions


def required_features(body: Body) -> tuple[int, ...]:
    """The features that some condition tests, in column order."""
    return tuple(sorted({condition.feature for condition in conditions(body)}))


def type_of_labels(labels: Sequence[Label]) -> ValueType:
    """The type that all labels have; there is at least one."""
    return ValueType(type(labels[0]).__name__)
