"""Random models with tables of rows and answers, to be measured in a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from tests.support.random_models import SEVERAL, random_body, random_row
from tests.support.tables import Typed
from treecompile.model.ir import (
    Body,
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    RuleSet,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate

# SQLite renames a column called `true` in the result of a query.
NAMES = tuple(
    name
    for name in SEVERAL
    if name.isprintable() and len(name.encode()) < 60 and name != "true"
)


TARGET = "the answer"


TYPES = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}


def texts(body: Body) -> Iterator[object]:
    yield from body.labels
    for feature in body.features:
        yield from feature.categories


def random_model(random: Random) -> Body:
    """A model that every database can hold: no NUL in texts, no huge answers."""
    body = random_body(random, NAMES)
    while any("\0" in text for text in texts(body) if isinstance(text, str)):
        body = random_body(random, NAMES)
    if body.labels:
        return body

    def small(node: Any) -> Any:
        value = random.uniform(-9, 9)
        stats = Moments(1.0, value, 0.0)
        if isinstance(node, Split):
            return replace(node, stats=stats)
        return replace(node, value=value, stats=stats)

    if isinstance(body, RuleSet):
        rules = tuple(map(small, body.rules))
        return replace(body, rules=rules, default=small(body.default))
    return replace(body, nodes=tuple(map(small, body.nodes)))


def random_answer(random: Random, labels: tuple[Label, ...]) -> Any:
    if random.random() < 0.1:
        return None
    if not labels:
        return random.uniform(-9, 9)
    if random.random() < 0.15 and not isinstance(labels[0], bool):
        return {str: "unseen", int: 77, float: 0.75}[type(labels[0])]
    return random.choice(labels)


def type_of(labels: tuple[Label, ...]) -> ValueType:
    if not labels:
        return ValueType.FLOAT
    return TYPES.get(type(labels[0]), ValueType.STR)


def random_table(random: Random, body: Body, rows: int) -> Typed:
    """A column for each feature, then the column of known answers."""
    values = [random_row(random, body) for _ in range(rows)]
    columns = zip(body.features, zip(*values, strict=True), strict=True)
    answers = [random_answer(random, body.labels) for _ in range(rows)]
    table = {feature.name: (feature.type, [*column]) for feature, column in columns}
    table = {
        name: (kind, [v.replace("\0", "") if isinstance(v, str) else v for v in column])
        for name, (kind, column) in table.items()
    }
    return {**table, TARGET: (type_of(body.labels), answers)}


def one_split(feature: Feature, test: Condition, labels: tuple[Label, ...]) -> Tree:
    """The first label where the test holds, the last where it does not."""
    one = ClassCounts((1.0,) * len(labels))
    other = negate(test)
    branches = (Branch(test, 1, 1.0), Branch(other, 2, 1.0))
    nodes: tuple[Node, ...] = (
        Split(branches, one, 0.0),
        Leaf(labels[0], one, 1.0),
        Leaf(labels[-1], one, 1.0),
    )
    return Tree((feature,), labels, nodes)


BIG = 2**53  # the next larger double is BIG + 2


MODELS = {
    "number": one_split(
        Feature("f", Kind.NUMERIC, ValueType.FLOAT),
        Condition(0, Op.LE, 0.5, False),
        (0.5, 1.0),
    ),
    "integer": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.INT, (0, 1, BIG + 1)),
        Condition(0, Op.IN, (0, BIG + 1), False),
        (0, 1),
    ),
    "boolean": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
        Condition(0, Op.IN, (True,), False),
        (False, True),
    ),
    "text": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.STR, ("0", "1")),
        Condition(0, Op.IN, ("0",), False),
        ("0", "1"),
    ),
}
