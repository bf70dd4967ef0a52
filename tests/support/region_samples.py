"""Features of every kind, and random conditions on them, for tests of regions."""

from __future__ import annotations

from math import inf, nextafter
from random import Random

from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType

BIG = 1.7976931348623157e308
CUTS = (-BIG, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 0.5, 1.0, 2.0**53, BIG, inf)
FEATURES = (
    Feature("number", Kind.NUMERIC, ValueType.FLOAT),
    Feature("text", Kind.CATEGORICAL, ValueType.STR, ("a", "b", "c")),
    Feature("many", Kind.CATEGORICAL, ValueType.INT, tuple(range(-40, 40))),
    Feature("one", Kind.CATEGORICAL, ValueType.STR, ("only",)),
    Feature("none", Kind.CATEGORICAL, ValueType.STR, ()),
    Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
    Feature("turned", Kind.CATEGORICAL, ValueType.BOOL, (True, False)),
    Feature("half", Kind.CATEGORICAL, ValueType.BOOL, (True,)),
    Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L", "XL")),
    Feature("single", Kind.ORDINAL, ValueType.INT, (7,)),
    Feature("order", Kind.ORDINAL, ValueType.BOOL, (True, False)),
)


def random_condition(random: Random, feature: Feature) -> Condition:
    missing = random.random() < 0.5
    if feature.kind is Kind.CATEGORICAL:
        share = random.choice((0.1, 0.5, 0.9))
        named = tuple(c for c in feature.categories if random.random() < share)
        return Condition(3, random.choice((Op.IN, Op.NOT_IN)), named, missing)
    op = random.choice((Op.LE, Op.GT))
    if feature.kind is Kind.ORDINAL:
        return Condition(3, op, random.choice(feature.categories), missing)
    cut = random.choice(CUTS)
    if abs(cut) < BIG and random.random() < 0.3:
        cut = nextafter(cut, random.choice((-inf, inf)))
    return Condition(3, op, cut, missing)
