"""The one meaning of a condition, a tree and a rule set (see docs/guarantee.md).

Every artefact, on every engine, is judged by these functions. They work on one row of
converted values: None where a value is missing (a NaN counts as missing too), a float
for a numeric feature, a category otherwise. They are written to be read; `batch` does
the same for whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf

from treecompile.model import ir

NEGATED = {
    ir.Op.LE: ir.Op.GT,
    ir.Op.GT: ir.Op.LE,
    ir.Op.IN: ir.Op.NOT_IN,
    ir.Op.NOT_IN: ir.Op.IN,
}


def holds(condition: ir.Condition, feature: ir.Feature, value: ir.Value) -> bool:
    """Say whether a value of the feature satisfies the condition."""
    if value is None or value != value:
        return condition.missing
    match condition.op:
        case ir.Op.IN:
            return value in members(condition)
        case ir.Op.NOT_IN:
            return value not in members(condition)
    at_most: bool
    if feature.kind is ir.Kind.ORDINAL:
        if value not in feature.categories:
            return condition.missing
        at_most = rank(feature, value) <= rank(feature, condition.value)
    else:
        at_most = float(value) <= threshold(condition)
    return at_most == (condition.op is ir.Op.LE)


def negate(condition: ir.Condition) -> ir.Condition:
    """The condition that holds exactly where this one does not."""
    op = NEGATED[condition.op]
    return ir.Condition(
        condition.feature, op, condition.value, missing=not condition.missing
    )


def in_order(
    feature: ir.Feature, categories: Iterable[ir.Category]
) -> tuple[ir.Category, ...]:
    """Categories in the order of the feature."""
    chosen = set(categories)
    return tuple(c for c in feature.categories if c in chosen)


def is_missing(index: int, feature: ir.Feature) -> ir.Condition:
    """The condition "the value is missing"; its negation is "is present"."""
    if feature.kind is ir.Kind.NUMERIC:
        return ir.Condition(index, ir.Op.GT, inf, missing=True)
    return ir.Condition(index, ir.Op.IN, (), missing=True)


def asks_presence(condition: ir.Condition) -> bool:
    """Whether the condition only asks if the value is missing, or if it is present."""
    return condition.value in (inf, ()) and condition.missing == (
        condition.op in (ir.Op.GT, ir.Op.IN)
    )


def members(condition: ir.Condition) -> tuple[ir.Category, ...]:
    """The categories of an IN or NOT_IN condition."""
    assert isinstance(condition.value, tuple)
    return condition.value


def threshold(condition: ir.Condition) -> float:
    """The number that a numeric condition compares values with."""
    assert isinstance(condition.value, float)
    return condition.value


def rank(feature: ir.Feature, category: object) -> int:
    """The position of a category in the order of an ordinal feature."""
    if len(feature.categories) > FEW:
        return places(feature.categories)[category]
    return feature.categories.index(category)


FEW = 32  # categories that are searched as fast as looked up


def places(categories: tuple[ir.Category, ...]) -> Mapping[object, int]:
    """The position of each category, remembered for the latest tuples."""
    return _places(_Identity(categories))


class _Identity:
    """A tuple as a key that takes no time to hash and compare, however long it is."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[ir.Category, ...]) -> None:
        self.items = items

    def __hash__(self) -> int:
        return id(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.items is other.items


@lru_cache(maxsize=256)
def _places(key: _Identity) -> Mapping[object, int]:
    return {category: place for place, category in enumerate(key.items)}


def membership(
    test: ir.Condition, feature: ir.Feature
) -> tuple[bool, tuple[ir.Category, ...], bool]:
    """A categorical or ordinal test as a plain set, as targets write it.

    Whether it is "in" or "not in", the categories, and the truth for a missing value.
    """
    if feature.kind is ir.Kind.ORDINAL:
        place = rank(feature, test.value) + 1
        low, high = feature.categories[:place], feature.categories[place:]
        true, false = (low, high) if test.op is ir.Op.LE else (high, low)
        # Unseen values go with the missing one: name the side that has neither.
        return (False, false, True) if test.missing else (True, true, False)
    return test.op is ir.Op.IN, members(test), test.missing


def is_partition(split: ir.Split, features: Sequence[ir.Feature]) -> bool:
    """Whether exactly one branch holds for every value, missing and unseen included."""
    tests = [branch.when for branch in split.branches]
    if len(tests) < 2 or len({test.feature for test in tests}) > 1:
        return False
    if features[tests[0].feature].kind is not ir.Kind.CATEGORICAL:
        return len(tests) == 2 and tests[1] == negate(tests[0])
    rest = [test for test in tests if test.op is ir.Op.NOT_IN]
    named = [c for test in tests if test.op is ir.Op.IN for c in members(test)]
    return (
        len(rest) == 1
        and sum(test.missing for test in tests) == 1
        and len(named) == len(set(named))
        and set(named) == set(members(rest[0]))
    )


def taken(tree: ir.Tree, split: ir.Split, row: ir.Row) -> int:
    """The position of the child whose condition holds."""
    index = split.branches[0].when.feature
    feature, value = tree.features[index], row[index]
    return next(b.then for b in split.branches if holds(b.when, feature, value))


def is_unknown(feature: ir.Feature, value: ir.Value) -> bool:
    """Whether a value is missing, or a category that the feature does not have."""
    if value is None or value != value:
        return True
    return feature.kind is not ir.Kind.NUMERIC and value not in feature.categories


def leaf_positions(tree: ir.Tree) -> Iterator[int]:
    """The leaves in reading order: depth first, in the order of the branches."""
    nodes, stack = tree.nodes, [0]
    while stack:
        position = stack.pop()
        node = nodes[position]
        if isinstance(node, ir.Split):
            stack += [branch.then for branch in node.branches[::-1]]
        else:
            yield position


def decider(body: ir.Body, row: ir.Row) -> int:
    """The position of the leaf or rule that decides a row.

    The default has the position after the last rule.
    """
    if isinstance(body, ir.RuleSet):
        for position, rule in enumerate(body.rules):
            if all(
                holds(c, body.features[c.feature], row[c.feature])
                for c in rule.conditions
            ):
                return position
        return len(body.rules)
    position = 0
    while isinstance(node := body.nodes[position], ir.Split):
        position = taken(body, node, row)
    return position


def predict(body: ir.Body, row: ir.Row) -> ir.Label:
    """The answer to one row."""
    position = decider(body, row)
    if isinstance(body, ir.RuleSet):
        return (*body.rules, body.default)[position].value
    leaf = body.nodes[position]
    assert isinstance(leaf, ir.Leaf)
    return leaf.value


def answer(stats: ir.Stats, labels: Sequence[ir.Label]) -> ir.Label:
    """The heaviest label, the first one at a tie; for a regression, the mean."""
    if isinstance(stats, ir.ClassCounts):
        return labels[stats.weights.index(max(stats.weights))]
    return stats.mean


def probabilities(stats: ir.Stats) -> tuple[float, ...]:
    """The share of each label: count / total, in double."""
    assert isinstance(stats, ir.ClassCounts)
    total = stats.weight
    return tuple(weight / total for weight in stats.weights)


def conditions(body: ir.AnyBody) -> Iterator[ir.Condition]:
    """Every condition of a tree, a rule set or a forest."""
    if isinstance(body, ir.Forest):
        for member in body.members:
            yield from conditions(member.tree)
    elif isinstance(body, ir.Tree):
        for node in body.nodes:
            if isinstance(node, ir.Split):
                yield from (branch.when for branch in node.branches)
    else:
        for rule in body.rules:
            yield from rule.conditions


def required_features(body: ir.AnyBody) -> tuple[int, ...]:
    """The features that some condition tests, in column order."""
    if isinstance(body, ir.Tree):  # as below, in half the time
        splits = [node for node in body.nodes if isinstance(node, ir.Split)]
        found = {branch.when.feature for node in splits for branch in node.branches}
    else:
        found = {condition.feature for condition in conditions(body)}
    return tuple(sorted(found))


def type_of_labels(labels: Sequence[ir.Label]) -> ir.ValueType:
    """The type that all labels have; there is at least one."""
    return ir.ValueType(type(labels[0]).__name__)
