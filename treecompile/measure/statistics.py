"""Computes how often each rule applies and is right, with intervals for the shares.

`tallies` counts once, over whole columns; `figures` computes all else from the counts,
so that a model file stores only the counts.

- Coverage: the share of all rows that satisfy the conditions of the rule.
- Support: the share of all rows that satisfy them and have the rule's answer.
- Confidence: of the rows that satisfy them, the share with the rule's answer, and its
  95 % interval (Wilson), which is valid for few rows and for shares near 1.
- Lift: confidence divided by the share of that answer among all rows.
- Left: the rows that no earlier rule of an ordered list matched. Of these, the rule
  decides those that satisfy its conditions; its errors are counted there.

For a regression there are coverage and the root mean squared error.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.measure.cases import Cases
from treecompile.model import ir
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.paths import outcomes

DEVIATE = 1.959963984540054  # of the normal distribution, for 95 %


def tallies(
    body: ir.Body, cases: Cases, where: Positions, errors: Floats
) -> tuple[ir.RuleTally, ...]:
    """Count the rows and errors of each leaf or rule.

    `where` says what decides each row (see `batch.deciders`), `errors` has the
    error of the model's answer. The rules of a tree do not overlap: they decide what
    they match.
    """
    rules = outcomes(body)
    actual = _class_counts if body.labels else _moments
    known = actual(body, cases.y, where)
    decided = np.bincount(where, minlength=max(rules) + 1)
    costs = np.bincount(where, errors, minlength=max(rules) + 1)
    found = []
    bits = cases.bits(body)
    for place, rule in rules.items():
        count, cost = int(decided[place]), float(costs[place])
        matched, matched_errors = count, cost
        if isinstance(body, ir.RuleSet) and rule is not body.default:
            mask = bits.mask(rule.conditions)
            matched = int(mask.sum())
            met = Cases((), cases.y[mask])
            matched_errors = float(met.errors(rule.value, body).sum())
        own = known.get(place)
        found.append(ir.RuleTally(matched, matched_errors, count, cost, own))
    return tuple(found)


def _class_counts(body: ir.Body, y: Array, where: Positions) -> dict[int, ir.Stats]:
    """Count the rows of each label that each place decides."""
    size = len(body.labels)
    places, rows = _used(where)
    counts = np.bincount(rows * size + y, minlength=len(places) * size)
    lines = counts.reshape(len(places), size).astype(np.float64).tolist()
    return {
        place: ir.ClassCounts(tuple(line))
        for place, line in zip(places.tolist(), lines, strict=True)
    }


def _used(where: Positions) -> tuple[Positions, Positions]:
    """Return the places that occur, and which of them each row has, without sorting."""
    is_used = np.bincount(where) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[where]


def _moments(body: ir.Body, y: Array, where: Positions) -> dict[int, ir.Stats]:
    """Return the moments of rows that each place decides, by distances from answers."""
    places, rows = _used(where)
    rules = outcomes(body)
    answers = np.array([float(rules[place].value) for place in places.tolist()])
    off = y - answers[rows]
    counts = np.bincount(rows, minlength=len(places))
    middle = np.bincount(rows, off, minlength=len(places)) / counts
    squares = np.bincount(rows, (off - middle[rows]) ** 2, minlength=len(places))
    columns = (places, counts, answers + middle, squares)
    lines = zip(*(column.tolist() for column in columns), strict=True)
    return {
        place: ir.Moments(float(count), mean, square)
        for place, count, mean, square in lines
    }


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one rule; None where one is not defined."""

    rule: ir.Rule
    matched: int
    coverage: float | None
    left: int
    decided: int
    errors: float  # wrong answers among the decided rows
    support: float | None = None
    confidence: float | None = None
    low: float | None = None  # the interval of the confidence
    high: float | None = None
    lift: float | None = None
    deviation: float | None = None  # root mean squared error over the matched rows
    own_deviation: float | None = None  # and over the decided ones


def figures(
    body: ir.AnyBody, counted: Sequence[ir.RuleTally], actual: Sequence[float] | None
) -> list[Figures]:
    """Return the figures of all rules; `actual` has the rows per label, if known."""
    if isinstance(body, ir.Forest):
        return []  # it has no rules
    total = left = sum(tally.decided for tally in counted)
    found = []
    for rule, tally in zip(outcomes(body).values(), counted, strict=True):
        rows, coverage = tally.matched, _ratio(tally.matched, total)
        made = Figures(rule, rows, coverage, left, tally.decided, tally.errors)
        left -= tally.decided
        if not body.labels:
            deviation = _deviation(tally.matched_errors, rows)
            own = _deviation(tally.errors, tally.decided)
            found.append(replace(made, deviation=deviation, own_deviation=own))
            continue
        right = rows - tally.matched_errors
        made = replace(made, support=_ratio(right, total))
        if rows:
            low, high = wilson(right, rows)
            usual = actual[body.labels.index(rule.value)] if actual else 0.0
            lift = _ratio(right / rows * total, usual)
            made = replace(made, confidence=right / rows, low=low, high=high, lift=lift)
        found.append(made)
    return found


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _deviation(errors: float, rows: int) -> float | None:
    return float((errors / rows) ** 0.5) if rows else None


def wilson(right: float, rows: float) -> tuple[float, float]:
    """Return the Wilson interval of a share."""
    share, z2 = right / rows, DEVIATE**2
    middle = share + z2 / (2 * rows)
    spread = DEVIATE * (share * (1 - share) / rows + z2 / (4 * rows**2)) ** 0.5
    whole = 1 + z2 / rows
    low, high = (middle - spread) / whole, (middle + spread) / whole
    # If no row is right, or all rows are, that end is exactly 0 or 1.
    return (0.0 if right == 0 else low), (1.0 if right == rows else high)


# ---------------------------------------------------------------- pessimistic errors
# C4.5 judges a leaf by the upper end of a confidence interval of its training errors.

LEVELS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0)


def deviate(cf: float) -> float:
    """Return the standard deviations for a confidence level, interpolated."""
    place = max(1, bisect_left(LEVELS, cf))
    low, high = LEVELS[place - 1], LEVELS[place]
    share = (cf - low) / (high - low)
    return DEVIATES[place - 1] + share * (DEVIATES[place] - DEVIATES[place - 1])


def added_errors(cases: Floats, errors: Floats, cf: float) -> Floats:
    """Return the errors to expect in addition to those seen; cases are above 0."""
    none = cases * (1 - cf ** (1 / cases))
    share = np.where(errors < 1e-6, 0.0, errors)
    result = np.where(share == 0.0, none, none + share * (_some(cases, 1.0, cf) - none))
    return np.where(errors < 0.9999, result, _some(cases, errors, cf))


def _some(cases: Floats, errors: Floats | float, cf: float) -> Floats:
    """Return the additional errors to expect after at least one error."""
    z2 = deviate(cf) ** 2
    seen = errors + 0.5
    inside = np.maximum(z2 * (seen * (1 - seen / cases) + z2 / 4), 0.0)
    usual = cases * (seen + z2 / 2 + np.sqrt(inside)) / (cases + z2) - errors
    return np.where(seen >= cases, 0.67 * (cases - errors), usual)


def best_labels(counts: Floats, current: Positions) -> Positions:
    """Return the most common label of each node; in a tie the current one."""
    nodes = np.arange(len(counts))
    heaviest = counts.argmax(axis=1)
    return np.where(counts[nodes, heaviest] > counts[nodes, current], heaviest, current)


def leaf_errors(counts: Floats, label: Positions, cf: float) -> Floats:
    """Return the errors to expect in leaves; 0 without cases."""
    cases = counts.sum(axis=1)
    errors = cases - counts[np.arange(len(counts)), label]
    expected = errors + added_errors(np.where(cases > 0, cases, 1.0), errors, cf)
    return np.where(cases > 0, expected, 0.0)
