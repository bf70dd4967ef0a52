"""Statistics of rules against counting row by row."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import encoded, random_row, random_rules, random_tree
from treecompile.measure.quality import evaluate
from treecompile.measure.statistics import figures, wilson
from treecompile.model.errors import DataError
from treecompile.model.ir import Body, ClassQuality, RuleSet
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider, holds


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_counts_are_those_of_the_rows(seed: int, as_rules: bool) -> None:
    random = Random(seed)
    body: Body = random_rules(random) if as_rules else random_tree(random)
    rows = [random_row(random, body) for _ in range(40)]
    y: list[Any]
    if body.labels:
        y = [random.randrange(-1, len(body.labels) + 1) for _ in rows]
        kept = [
            place for place, answer in enumerate(y) if answer in range(len(body.labels))
        ]
    else:
        y = [random.choice((0.0, 1.0, float("nan"))) for _ in rows]
        kept = [place for place, answer in enumerate(y) if answer == answer]
    answers = np.array(y, dtype=np.int32 if body.labels else np.float64)
    try:
        counted = evaluate(body, encoded(body, rows), answers)
    except DataError:  # the squares of its answers are too large
        assert max(abs(float(rule.value)) for rule in outcomes(body).values()) > 1e148
        return
    assert counted.unknown == len(rows) - len(kept)
    rules = outcomes(body)
    assert len(counted.tallies) == len(rules)

    def errors(value: Any, places: list[int]) -> float:
        if body.labels:
            return float(sum(body.labels[y[place]] != value for place in places))
        with np.errstate(over="ignore"):
            return float(sum(np.float64(y[place] - value) ** 2 for place in places))

    for (position, rule), tally in zip(rules.items(), counted.tallies, strict=True):
        decided = [place for place in kept if decider(body, rows[place]) == position]
        matched = decided
        if isinstance(body, RuleSet) and rule is not body.default:
            matched = [
                place
                for place in kept
                if all(
                    holds(c, body.features[c.feature], rows[place][c.feature])
                    for c in rule.conditions
                )
            ]
        assert (tally.matched, tally.decided) == (len(matched), len(decided))
        assert tally.errors == pytest.approx(errors(rule.value, decided))
        assert tally.matched_errors == pytest.approx(errors(rule.value, matched))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_figures_fit_together(seed: int, as_rules: bool) -> None:
    random = Random(seed)
    body: Body = random_rules(random) if as_rules else random_tree(random)
    if not body.labels:
        return
    rows = [random_row(random, body) for _ in range(30)]
    y = np.array([random.randrange(len(body.labels)) for _ in rows], dtype=np.int32)
    counted = evaluate(body, encoded(body, rows), y)
    assert isinstance(counted.quality, ClassQuality)
    actual = [sum(row) for row in counted.quality.confusion]
    found = figures(body, counted.tallies, actual)
    left = 30
    for entry in found:
        assert entry.left == left
        left -= entry.decided
        assert entry.coverage == entry.matched / 30
        if entry.confidence is None:
            assert entry.matched == 0
            assert entry.lift is None
            continue
        assert entry.low is not None
        assert entry.high is not None
        assert 0 <= entry.low <= entry.confidence <= entry.high <= 1
        assert entry.support is not None
        assert entry.support == pytest.approx(entry.confidence * entry.coverage)
        usual = actual[body.labels.index(entry.rule.value)] / 30
        if usual:
            assert entry.lift == pytest.approx(entry.confidence / usual)
    assert left == 0
    right = sum(row[i] for i, row in enumerate(counted.quality.confusion))
    assert sum(entry.errors for entry in found) == 30 - right


@pytest.mark.parametrize(
    ("right", "rows", "low", "high"),
    # Newcombe (1998), table I: the score method without continuity correction.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 1 - 0.1170, 1.0),
    ],
)
def test_the_interval_is_wilsons(
    right: int, rows: int, low: float, high: float
) -> None:
    assert wilson(right, rows) == pytest.approx((low, high), abs=5e-5)
