"""Put chosen rules in order, find the default, and drop rules that do harm.

Labels come one after the other: next is the one whose rules wrongly take fewest of the
cases that are left. Last, each rule is compared with what would decide without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecompile.bits import Bits, unpacked
from treecompile.cases import Cases
from treecompile.ir import Condition

Mask = NDArray[np.bool_]

BUDGET = 5_000_000_000  # cells of rules x cases that the last step looks at


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pruned rule for a label."""

    number: int
    label: int  # place in the labels
    conditions: tuple[Condition, ...]
    error: float  # pessimistic
    takes: Bits  # the cases that meet its conditions
    cases: int

    @property
    def mask(self) -> Mask:
        return unpacked(self.takes, self.cases).view(np.bool_)


def in_order(chosen: Sequence[Candidate], cases: Cases, labels: int) -> list[Candidate]:
    """Label by label, within a label by the error; ties to what came first."""
    y = cases.y
    groups = {label: [r for r in chosen if r.label == label] for label in range(labels)}
    groups = {label: group for label, group in groups.items() if group}
    left = np.ones(len(y), np.bool_)
    result: list[Candidate] = []
    taken = {label: _taken(group) for label, group in groups.items()}
    while groups:
        wrong = {
            label: cases.amount(taken[label] & left & (y != label)) for label in groups
        }
        label = min(groups, key=lambda place: (wrong[place], place))
        result += sorted(groups.pop(label), key=lambda rule: (rule.error, rule.number))
        left &= ~taken[label]
    return result


def _taken(rules: Sequence[Candidate]) -> Mask:
    """The cases that meet the conditions of any of some rules."""
    bits = np.bitwise_or.reduce([rule.takes for rule in rules])
    return unpacked(bits, rules[0].cases).view(np.bool_)


def default_label(rules: Sequence[Candidate], cases: Cases, labels: int) -> int:
    """The label with most cases that no rule takes; ties to the more frequent."""
    every = np.ones(cases.rows, np.bool_)
    left = every.copy()
    for rule in rules:
        left &= ~rule.mask
    free = cases.by_label(left, labels)
    frequency = cases.by_label(every, labels)
    return max(range(labels), key=lambda place: (free[place], frequency[place], -place))


def without_harm(
    rules: Sequence[Candidate], default: int, cases: Cases
) -> list[Candidate]:
    """Drop the first rule that harms more cases than it helps, and look again.

    After BUDGET cells the rest stays as it is.
    """
    kept = list(rules)
    budget = BUDGET
    while kept and budget > 0:
        budget -= len(kept) * cases.total
        harmful = _first_harmful(kept, default, cases)
        if harmful is None:
            break
        del kept[harmful]
    return kept


def _first_harmful(
    rules: Sequence[Candidate], default: int, cases: Cases
) -> int | None:
    y = cases.y
    decided = np.full(len(y), len(rules))
    for place in reversed(range(len(rules))):
        decided[rules[place].mask] = place
    otherwise = np.full(len(y), default)  # what the rules behind would answer
    found = None
    for place in reversed(range(len(rules))):
        rule = rules[place]
        own = np.flatnonzero(decided == place)
        right = y[own] == rule.label
        right_without = y[own] == otherwise[own]
        harmed, helped = own[right_without & ~right], own[right & ~right_without]
        if cases.amount_at(harmed) > cases.amount_at(helped):
            found = place
        otherwise[rule.mask] = rule.label
    return found
