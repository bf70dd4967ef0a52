"""How often each rule applies, how often it is right, and how sure that is.

Counting is one thing, done once over whole columns (`tallies`), and what is said about
the counts another (`figures`), so that a model file keeps the counts alone.

- Coverage: the share of all rows that meet the conditions of the rule.
- Support: the share of all rows that meet them and have the rule's answer.
- Confidence: of the rows that meet them, the share that has the rule's answer, with
  its 95 % interval after Wilson, which is sound for few rows and for shares near 1.
- Lift: confidence over the share of that answer among all rows.
- Left: rows that no rule before it took. In an ordered list the rule decides those of
  them that meet its conditions; its errors are counted there.

For a regression there are coverage and the root mean squared error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecompile.cases import Cases
from treecompile.extract import outcomes
from treecompile.ir import Body, Rule, RuleSet, RuleTally

Doubles = NDArray[np.float64]

DEVIATE = 1.959963984540054  # of the normal distribution, for 95 %


def tallies(
    body: Body,
    rules: Mapping[int, Rule],
    cases: Cases,
    where: NDArray[np.intp],
    errors: Doubles,
) -> tuple[RuleTally, ...]:
    """Count what each of the rules did, which are the outcomes of the body.

    `where` has what decides each row (see `batch.deciders`), `errors` what the answer
    of the model costs there. The rules of a tree have no row in common, so they decide
    what they match.
    """
    decided = np.bincount(where, minlength=max(rules) + 1)
    costs = np.bincount(where, errors, minlength=max(rules) + 1)
    found = []
    bits = cases.bits(body)
    for place, rule in rules.items():
        count, cost = int(decided[place]), float(costs[place])
        matched, matched_errors = count, cost
        if isinstance(body, RuleSet) and rule is not body.default:
            mask = bits.mask(rule.conditions)
            matched = int(mask.sum())
            met = Cases((), cases.y[mask])
            matched_errors = float(met.errors(rule.value, body).sum())
        found.append(RuleTally(matched, matched_errors, count, cost))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the counts of one rule come to; None where that is not defined."""

    rule: Rule
    matched: int
    coverage: float | None
    support: float | None
    confidence: float | None
    low: float | None  # the ends of the interval of the confidence
    high: float | None
    lift: float | None
    left: int
    decided: int
    errors: float  # wrong answers among the decided rows
    deviation: float | None  # root mean squared error over the matched rows
    own_deviation: float | None  # and over the decided ones


def figures(
    body: Body, counted: Sequence[RuleTally], actual: Sequence[float] | None
) -> list[Figures]:
    """Say what tallies come to; `actual` has the rows of each label, if known."""
    rules = list(outcomes(body).values())
    total = left = sum(tally.decided for tally in counted)
    found = []
    for rule, tally in zip(rules, counted, strict=True):
        found.append(_figures(body, rule, tally, actual, total, left))
        left -= tally.decided
    return found


def _figures(
    body: Body,
    rule: Rule,
    tally: RuleTally,
    actual: Sequence[float] | None,
    total: int,
    left: int,
) -> Figures:
    rows = tally.matched
    support = confidence = low = high = lift = deviation = own = None
    if body.labels:
        right = rows - tally.matched_errors
        support = right / total if total else None
        if rows:
            confidence = right / rows
            low, high = wilson(right, rows)
        usual = actual[body.labels.index(rule.value)] if actual else 0
        if confidence is not None and usual:
            lift = confidence * total / usual
    else:
        deviation = _deviation(tally.matched_errors, rows)
        own = _deviation(tally.errors, tally.decided)
    coverage = rows / total if total else None
    return Figures(
        *(rule, rows, coverage, support, confidence, low, high, lift, left),
        *(tally.decided, tally.errors, deviation, own),
    )


def _deviation(errors: float, rows: int) -> float | None:
    return float((errors / rows) ** 0.5) if rows else None


def wilson(right: float, rows: float, deviate: float = DEVIATE) -> tuple[float, float]:
    """The interval for a share: those of which such a count would not be a surprise."""
    share, z2 = right / rows, deviate**2
    middle = share + z2 / (2 * rows)
    spread = deviate * (share * (1 - share) / rows + z2 / (4 * rows**2)) ** 0.5
    whole = 1 + z2 / rows
    low, high = (middle - spread) / whole, (middle + spread) / whole
    # At no or all rows the ends are 0 and 1, which rounding would miss.
    return (0.0 if right == 0 else low), (1.0 if right == rows else high)
