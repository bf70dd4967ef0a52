"""The rows that prove an artefact: every cell of the model and every edge of a cell.

A model cuts the space of inputs into finitely many cells, and within a cell neither the
model nor an artefact with the same constants can change its answer. Where the values at
the edges of all features can be combined within the budget, all combinations are tried
and the proof is complete. Otherwise each cell is entered, and left across each of its
edges, as far as the budget goes, and the coverage says how far it went.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite, nan, nextafter, prod

from treecompile.extract import extract
from treecompile.ir import (
    Body,
    Condition,
    Feature,
    Kind,
    Row,
    Rule,
    RuleSet,
    Value,
    ValueType,
)
from treecompile.semantics import (
    conditions,
    holds,
    members,
    required_features,
    threshold,
)
from treecompile.witness import row_inside, unseen

BUDGET = 100_000


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers and strings found in the text of an artefact."""

    numbers: frozenset[float] = frozenset()
    strings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Trial:
    rows: tuple[Row, ...]
    complete: bool  # every combination of edge values is there
    cells: int  # leaves or rules
    entered: int  # those of them that the rows were built to enter


def trial(
    body: Body,
    constants: Constants = Constants(),
    budget: int = BUDGET,
    seed: int = 0,
) -> Trial:
    """The rows to try on a model and its artefact."""
    rules = body if isinstance(body, RuleSet) else extract(body)
    required = set(required_features(body))
    edges = {
        position: edge_values(feature, position, body, constants)
        for position, feature in enumerate(body.features)
    }
    combinations = prod(len(edges[position]) for position in required)
    dice = random.Random(seed)
    if combinations <= budget:
        ranges = [
            edges[position] if position in required else edges[position][:1]
            for position in range(len(body.features))
        ]
        rows = [vary(row, required, edges, dice) for row in product(*ranges)]
        return Trial(tuple(rows), True, len(rules.rules), len(rules.rules))
    return _walk(rules, required, edges, constants, budget, dice)


def _walk(
    rules: RuleSet,
    required: set[int],
    edges: dict[int, tuple[Value, ...]],
    constants: Constants,
    budget: int,
    dice: random.Random,
) -> Trial:
    order = list(rules.rules)
    dice.shuffle(order)
    rows: dict[Row, None] = {}
    entered = 0
    for rule in order:
        if len(rows) >= budget:
            break
        rows.update(dict.fromkeys(cell_rows(rule, rules, required, edges, dice)))
        entered += 1
    while len(rows) < budget // 2:  # what is left goes to combinations at random
        before = len(rows)
        for _ in range(1000):
            row = tuple(dice.choice(edges[p]) for p in range(len(rules.features)))
            rows[row] = None
        if len(rows) - before < 100:
            break
    return Trial(tuple(rows)[:budget], False, len(rules.rules), entered)


def cell_rows(
    rule: Rule,
    rules: RuleSet,
    required: set[int],
    edges: dict[int, tuple[Value, ...]],
    dice: random.Random,
) -> Iterator[Row]:
    """Rows inside a rule and across each of its edges, from two places within it."""
    try:
        inside = row_inside(rule.conditions, rules.features)
    except ValueError:  # no row can match this rule
        return
    inside = vary(inside, required, edges, dice)
    for start in (inside, _elsewhere(inside, rule, rules.features, edges, dice)):
        yield start
        for condition in rule.conditions:
            position = condition.feature
            for value in around(condition, rules.features[position]):
                yield (*start[:position], value, *start[position + 1 :])


def _elsewhere(
    row: Row,
    rule: Rule,
    features: Sequence[Feature],
    edges: dict[int, tuple[Value, ...]],
    dice: random.Random,
) -> Row:
    """Another row of the same cell, its values drawn from the edges where they may."""
    values = list(row)
    for position, feature in enumerate(features):
        drawn = dice.choice(edges[position])
        tests = [c for c in rule.conditions if c.feature == position]
        if all(holds(test, feature, drawn) for test in tests):
            values[position] = drawn
    return tuple(values)


def vary(
    row: Row,
    required: set[int],
    edges: dict[int, tuple[Value, ...]],
    dice: random.Random,
) -> Row:
    """Give the features that do not matter any value, to see that they do not."""
    return tuple(
        value if position in required else dice.choice(edges[position])
        for position, value in enumerate(row)
    )


def edge_values(
    feature: Feature, position: int, body: Body, constants: Constants
) -> tuple[Value, ...]:
    """The values of a feature at which an answer may change, and one of each kind."""
    values: dict[Value, None] = {}
    if feature.kind is Kind.NUMERIC:
        cuts = {threshold(c) for c in conditions(body) if c.feature == position}
        cuts = {cut for cut in cuts | constants.numbers if isfinite(cut)}
        for cut in sorted(cuts):
            values.update(
                dict.fromkeys((nextafter(cut, -inf), cut, nextafter(cut, inf)))
            )
        return (*(values or {0.0: None}), -inf, inf, None, nan)
    values.update(dict.fromkeys(feature.categories))
    if feature.type is ValueType.STR:
        texts = [c for c in feature.categories if isinstance(c, str)]
        values.update(dict.fromkeys(twin for text in texts for twin in twins(text)))
        values.update(dict.fromkeys(sorted(constants.strings)))
    elif feature.type is ValueType.INT:
        whole = (
            int(n) for n in sorted(constants.numbers) if n == n // 1 and abs(n) < 2**53
        )
        values.update(dict.fromkeys(whole))
    values[unseen(feature)] = None
    values[None] = None
    return tuple(values)


def twins(text: str) -> Iterator[str]:
    """Texts that a sloppy comparison takes for this one."""
    for twin in (text.swapcase(), f"{text} ", f" {text}", text.rstrip()):
        if twin != text:
            yield twin


def around(condition: Condition, feature: Feature) -> Iterable[Value]:
    """The values on both sides of the edges of one condition."""
    if feature.kind is Kind.NUMERIC:
        cut = threshold(condition)
        near = (nextafter(cut, -inf), cut, nextafter(cut, inf)) if isfinite(cut) else ()
        return (*near, -inf, inf, None, nan)
    if feature.kind is Kind.ORDINAL:
        return (*feature.categories, unseen(feature), None)
    named = members(condition)
    others = [c for c in feature.categories if c not in named][:2]
    sloppy = [t for c in named if isinstance(c, str) for t in twins(c)]
    return (*named, *others, *sloppy, unseen(feature), None)
