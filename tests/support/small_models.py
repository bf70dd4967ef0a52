"""Random models over so few values that every row can be tried.

Thresholds come from a handful, so one number between each two of them, the categories,
an unseen one and the missing value are all the rows that a model can tell apart.
"""

from __future__ import annotations

from itertools import product
from math import inf
from random import Random

from treecompile.model.ir import (
    Body,
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Node,
    Op,
    Row,
    Rule,
    RuleSet,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.semantics import negate

LABELS = ("no", "yes")
STATS = ClassCounts((1.0, 2.0))
SIZE = Feature("size", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "green", "blue"))
GRADE = Feature("grade", Kind.ORDINAL, ValueType.STR, ("low", "mid", "high"))
IS_NEW = Feature("is new", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
FEATURES = (SIZE, COLOUR, GRADE, IS_NEW)
VALUES: dict[str, tuple[Value, ...]] = {
    "size": (1.0, 2.0, 3.0, inf, None),
    "colour": ("red", "green", "blue", "pink", "other", None),
    "grade": ("low", "mid", "high", "top", "other", None),
    "is new": (False, True, None),
}


def every_row(features: tuple[Feature, ...] = FEATURES) -> list[Row]:
    """One row for each combination that a model of these features can distinguish."""
    return list(product(*(VALUES[feature.name] for feature in features)))


def small_test(random: Random, features: tuple[Feature, ...]) -> Condition:
    """Any condition, including those that hold for every value or for none."""
    position = random.randrange(len(features))
    feature, flag = features[position], random.random() < 0.4
    if feature.kind is Kind.NUMERIC:
        edge = random.choice((1.0, 2.0, 3.0, 3.0, inf))
        return Condition(position, random.choice((Op.LE, Op.GT)), edge, flag)
    if feature.kind is Kind.ORDINAL:
        category = random.choice(feature.categories)
        return Condition(position, random.choice((Op.LE, Op.GT)), category, flag)
    chosen = tuple(c for c in feature.categories if random.random() < 0.5)
    return Condition(position, random.choice((Op.IN, Op.NOT_IN)), chosen, flag)


def small_rules(
    random: Random,
    features: tuple[Feature, ...] = FEATURES,
    labels: tuple[Label, ...] = LABELS,
) -> RuleSet:
    rules = tuple(
        Rule(
            f"R{number}",
            tuple(small_test(random, features) for _ in range(random.randint(0, 4))),
            random.choice(labels),
            STATS,
            3.0,
        )
        for number in range(1, random.randint(1, 9))
    )
    if random.random() < 0.8:  # one without conditions hides all behind it
        rules = tuple(rule for rule in rules if rule.conditions)
    default = Rule("default", (), random.choice(labels), STATS, 0.0)
    return RuleSet(features, labels, rules, default)


def small_tree(
    random: Random,
    features: tuple[Feature, ...] = FEATURES,
    labels: tuple[Label, ...] = LABELS,
) -> Tree:
    nodes: list[Node] = [Leaf(random.choice(labels), STATS, 3.0)]
    for _ in range(random.randint(0, 8)):
        leaves = [p for p, node in enumerate(nodes) if isinstance(node, Leaf)]
        test = small_test(random, features)
        branches = []
        for when in (test, negate(test)):
            branches.append(Branch(when, len(nodes), 1.0))
            nodes.append(Leaf(random.choice(labels), STATS, 3.0))
        nodes[random.choice(leaves)] = Split(tuple(branches), STATS, 0.1)
    return Tree(features, labels, tuple(nodes))


def small_body(
    random: Random,
    features: tuple[Feature, ...] = FEATURES,
    labels: tuple[Label, ...] = LABELS,
) -> Body:
    if random.random() < 0.5:
        return small_rules(random, features, labels)
    return small_tree(random, features, labels)
