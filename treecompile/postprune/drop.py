"""Drop conditions from one rule, again and again the one whose loss does least harm.

Without a condition, a rule also takes the rows that failed that one and no other. So
it is enough to know how many conditions each row fails: those that fail none are the
rule's, those that fail exactly one are what its removal would add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A rule as it is, and without each of its conditions in turn."""

    rows: float
    errors: float  # wrong answers, or the sum of the squared differences
    rows_without: Doubles
    errors_without: Doubles


# Which condition to drop, by its place among those left; None to stop.
Choice = Callable[[Trial], int | None]


@dataclass(frozen=True, slots=True)
class Dropped:
    kept: tuple[int, ...]  # places of the conditions that stay
    rows: float
    errors: float


def drop_conditions(
    truth: NDArray[np.uint8], errors: Doubles, choose: Choice
) -> Dropped:
    """Drop conditions as long as there is one to choose.

    `truth` says of each condition (a line) for which rows it holds, `errors` what
    the answer of the rule costs on each row.
    """
    fails = truth ^ 1
    kept = list(range(len(fails)))
    failed = fails.sum(axis=0, dtype=np.uint8 if len(fails) < 256 else np.uint32)
    own = np.flatnonzero(failed == 0)
    rows, cost = float(len(own)), float(errors[own].sum())
    while kept:
        near = np.flatnonzero(failed == 1)
        which = fails[:, near][kept].argmax(axis=0)
        more = np.bincount(which, minlength=len(kept)).astype(np.float64)
        dearer = np.bincount(which, errors[near], minlength=len(kept)).astype(
            np.float64
        )
        trial = Trial(rows, cost, rows + more, cost + dearer)
        chosen = choose(trial)
        if chosen is None:
            break
        rows = float(trial.rows_without[chosen])
        cost = float(trial.errors_without[chosen])
        failed -= fails[kept.pop(chosen)]
    return Dropped(tuple(kept), rows, cost)
