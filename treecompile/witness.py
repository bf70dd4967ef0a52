"""Rows that show something: a value inside a condition, a row inside a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from math import inf, isfinite, nextafter

from treecompile.extract import path
from treecompile.ir import (
    Body,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Op,
    Row,
    RuleSet,
    Value,
    ValueType,
)
from treecompile.semantics import holds, intersect, leaf_positions, threshold


def unseen(feature: Feature) -> Value:
    """A category that training never saw; None where every value is known."""
    match feature.type:
        case ValueType.STR:
            text = "unseen"
            while text in feature.categories:
                text += "_"
            return text
        case ValueType.INT:
            return next(n for n in count() if n not in feature.categories)
        case ValueType.BOOL:
            return next((b for b in (False, True) if b not in feature.categories), None)
    return None


NUMBER = Feature("", Kind.NUMERIC, ValueType.FLOAT)
Range = tuple[float, float]


def value_inside(
    conditions: Sequence[Condition], feature: Feature, usual: Range = (0.0, 0.0)
) -> Value:
    """A value that satisfies all the conditions, which must be satisfiable.

    A number comes from the usual range of the feature where it can.
    """
    candidates: Iterable[Value]
    if feature.kind is Kind.NUMERIC:
        candidates = _numbers_inside(conditions, usual)
    else:
        candidates = (*feature.categories, unseen(feature), None)
    for value in candidates:
        if all(holds(condition, feature, value) for condition in conditions):
            return value
    raise ValueError("no value satisfies the conditions")


def _numbers_inside(conditions: Sequence[Condition], usual: Range) -> Iterable[Value]:
    bounds = intersect(conditions, NUMBER) or ()
    low = next((threshold(c) for c in bounds if c.op is Op.GT), -inf)
    high = next((threshold(c) for c in bounds if c.op is Op.LE), inf)
    start, end = max(low, usual[0]), min(high, usual[1])
    middle = start + (end - start) / 2
    if isfinite(middle):
        yield from (round(middle, digits) for digits in range(6))
        yield middle
    yield from (high, low + 1.0, nextafter(low, inf), None)


def row_inside(
    conditions: Sequence[Condition],
    features: Sequence[Feature],
    columns: Sequence[ColumnSummary] = (),
) -> Row:
    """A row that satisfies all conditions; what they do not test is ordinary."""
    by_feature: dict[int, list[Condition]] = {}
    for condition in conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    values = []
    for position, feature in enumerate(features):
        usual = (0.0, 0.0)
        if columns:
            usual = columns[position].low or 0.0, columns[position].high or 0.0
        tests = by_feature.get(position, ())
        values.append(value_inside(tests, feature, usual))
    return tuple(values)


def example(body: Body, columns: Sequence[ColumnSummary] = ()) -> Row:
    """A row inside the first leaf or rule that a row can reach."""
    for tests in _paths(body):
        try:
            return row_inside(tests, body.features, columns)
        except ValueError:
            continue
    return row_inside((), body.features, columns)


def _paths(body: Body) -> Iterator[tuple[Condition, ...]]:
    if isinstance(body, RuleSet):
        yield from (rule.conditions for rule in body.rules)
    else:
        yield from (path(body, position) for position in leaf_positions(body))
