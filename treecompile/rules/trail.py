"""Follows one row through a model: what it passes, which rule decides, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treecompile.model import ir, values, words
from treecompile.model.errors import DataError
from treecompile.model.paths import outcomes, paths
from treecompile.model.semantics import (
    decider,
    predict,
    probabilities,
    required_features,
    taken,
)
from treecompile.model.suggestions import similar
from treecompile.regions.region import intersect

CONVERTERS: Mapping[ir.ValueType, Callable[[str, Any], ir.Value]] = {
    ir.ValueType.FLOAT: values.as_number,
    ir.ValueType.INT: values.as_integer,
    ir.ValueType.BOOL: values.as_boolean,
    ir.ValueType.STR: values.as_text,
}


@dataclass(frozen=True, slots=True)
class Trail:
    """What a model does with a row."""

    answer: ir.Label
    shares: tuple[float, ...]  # the probability of each label; empty for a number
    rule: str  # the id of the rule that decides
    passed: frozenset[int]  # the nodes of a tree that the row reaches
    sentence: str  # R3: if wind = strong then no [2 of 2]


def trail(program: ir.Program, values_by_name: Mapping[str, Any]) -> Trail:
    """Follow a row, given by the names of its columns; None is a missing value."""
    body, row = program.body, converted(program, values_by_name)
    if isinstance(body, ir.RuleSet):
        place = decider(body, row)
        rule, passed = outcomes(body)[place], frozenset[int]()
    else:
        way = _way(body, row)
        rule, passed = _with_path(body, way[-1]), frozenset(way)
    said = words.counts_by_id(program)[rule.id]
    sentence = words.sentence(rule, body.features, said)
    shares = probabilities(rule.stats) if body.labels else ()
    return Trail(predict(body, row), shares, rule.id, passed, sentence)


def _way(tree: ir.Tree, row: ir.Row) -> list[int]:
    """Return the nodes that a row passes, from the root to its leaf."""
    way = [0]
    while isinstance(node := tree.nodes[way[-1]], ir.Split):
        way.append(taken(tree, node, row))
    return way


def _with_path(tree: ir.Tree, position: int) -> ir.Rule:
    """Return the rule of a leaf, with merged conditions."""
    found = outcomes(tree)[position]
    tests: list[ir.Condition] = []
    for group in words.by_feature(paths(tree)[position]):
        tests += intersect(group, tree.features[group[0].feature]) or ()
    return ir.Rule(found.id, tuple(tests), found.value, found.stats, found.weight)


# ---------------------------------------------------------------- values


def converted(program: ir.Program, values_by_name: Mapping[str, Any]) -> ir.Row:
    """Return a row as the model reads it; columns that no test reads may be absent."""
    row: list[ir.Value] = [None] * len(program.body.features)
    for index in required_features(program.body):
        row[index] = _converted(program.body.features[index], values_by_name)
    return tuple(row)


def _converted(feature: ir.Feature, values_by_name: Mapping[str, Any]) -> ir.Value:
    name = feature.name
    if name not in values_by_name:
        near = similar(name, map(str, values_by_name))
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise DataError(
            f"the row has no column {name!r}{hint}: add it, as null if it is missing"
        )
    try:
        return CONVERTERS[feature.type](name, values_by_name[name])
    except (TypeError, ValueError) as error:
        raise DataError(f"the row: {error}") from None
