"""Rows that show something: a value inside a condition, a row inside a rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, nextafter

from treecompile.ir import (
    Condition,
    Feature,
    Kind,
    Op,
    Row,
    Rule,
    RuleSet,
    Value,
    ValueType,
)
from treecompile.semantics import holds, intersect


def unseen(feature: Feature) -> Value:
    """A category that training never saw; None where every value is known."""
    match feature.type:
        case ValueType.STR:
            text = "unseen"
            while text in feature.categories:
                text += "_"
            return text
        case ValueType.INT:
            return max((int(c) for c in feature.categories), default=0) + 1
        case ValueType.BOOL:
            return next((b for b in (False, True) if b not in feature.categories), None)
    return None


def value_inside(conditions: Sequence[Condition], feature: Feature) -> Value:
    """A value that satisfies all the conditions, which must be satisfiable."""
    candidates: Iterable[Value]
    if feature.kind is Kind.NUMERIC:
        candidates = _numbers_inside(conditions)
    else:
        candidates = (*feature.categories, unseen(feature), None)
    for value in candidates:
        if all(holds(condition, feature, value) for condition in conditions):
            return value
    raise ValueError("no value satisfies the conditions")


def _numbers_inside(conditions: Sequence[Condition]) -> Iterable[Value]:
    bounds = intersect(conditions, Feature("", Kind.NUMERIC, ValueType.FLOAT)) or ()
    low = next((float(c.value) for c in bounds if c.op is Op.GT), -inf)  # type: ignore[arg-type]
    high = next((float(c.value) for c in bounds if c.op is Op.LE), inf)  # type: ignore[arg-type]
    if low > -inf and high < inf:
        middle = low + (high - low) / 2
        yield round(middle, 1)
        yield middle
    yield from (0.0, high, low + 1.0, nextafter(low, inf), None)


def row_inside(rule: Rule, features: Sequence[Feature]) -> Row:
    """A row that satisfies a rule; features it does not test get an ordinary value."""
    by_feature: dict[int, list[Condition]] = {}
    for condition in rule.conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    return tuple(
        value_inside(by_feature.get(position, ()), feature)
        for position, feature in enumerate(features)
    )


def example(rules: RuleSet) -> Row:
    """A row for the first rule that has conditions, or any row at all."""
    return row_inside(rules.rules[0] if rules.rules else rules.default, rules.features)
