"""Which features need to be known exactly, for C4.5 to choose the one it would.

To find the best cut of a feature in a database, and to count its cuts, costs queries.
Bins bound the gain from both sides, and that often says enough: a feature whose gain is
surely below the average is not chosen, whatever its gain is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.learners.c45_choice import Choice
from treecompile.learners.c45_draft import EPSILON
from treecompile.learners.limits import TIE
from treecompile.learners.stretches import Floats, Mask

SAFE = 1e-9  # by which rounding may shift an average or a ratio, and more


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of the gains; nodes are on the first axis, features on the last."""

    low: Floats  # -inf where there may be no split
    high: Floats  # -inf where there surely is none
    splits: Floats  # split information, where the cut is known
    has_cut: Mask
    is_exact: Mask  # low and high are the same


def needed(choice: Choice, known: Known) -> tuple[Mask, Mask]:
    """Where to find cuts, and where to count them, before the choice is sure.

    To be asked again with what was found, until nothing is needed. What is chosen then
    is known exactly.
    """
    inexact = ~known.is_exact & (known.high > -np.inf)
    if choice.measure is None and choice.is_ratio:
        return _by_ratio(choice, known, inexact)
    if choice.measure is None:
        inexact &= known.high >= known.low.max(axis=1, keepdims=True) - SAFE
    return inexact & ~known.has_cut, inexact


def _by_ratio(choice: Choice, known: Known, inexact: Mask) -> tuple[Mask, Mask]:
    """As `Choice.worth` has it: a ratio, of those that gain the average or more."""
    low, high = known.low, known.high
    sure = (low > -EPSILON) & choice.counted
    maybe = ~sure & (high > -EPSILON) & choice.counted
    least, most = _average(low, high, sure, maybe)
    contends = (high > -EPSILON) & (high >= least[:, None] - EPSILON - SAFE)
    find = contends & inexact & ~known.has_cut
    # Where the cuts of all that contend are known, so are bounds of their ratios.
    can_win = contends & known.has_cut & (known.splits > EPSILON)
    can_win &= high >= choice.min_gain - TIE
    is_allowed = can_win & (low >= most[:, None] - EPSILON + SAFE)
    is_allowed &= low >= choice.min_gain - TIE
    surely, perhaps = (np.full(high.shape, -np.inf) for _ in range(2))
    np.divide(low, known.splits, out=surely, where=is_allowed)
    np.divide(high, known.splits, out=perhaps, where=can_win)
    rivals = can_win & (perhaps >= surely.max(axis=1, keepdims=True) - SAFE)
    count = rivals & inexact
    count[find.any(axis=1)] = False
    # One that is exact may be at the average itself: then that must be exact, too.
    is_doubtful = (rivals & ~is_allowed).any(axis=1)
    is_doubtful &= ~(find | count).any(axis=1)
    count[is_doubtful] = (inexact & choice.counted)[is_doubtful]
    return find | (count & ~known.has_cut), count


def _average(
    low: Floats, high: Floats, sure: Mask, maybe: Mask
) -> tuple[Floats, Floats]:
    """Between what the average gain of each node lies."""
    count = sure.sum(axis=1)
    more = maybe.sum(axis=1)
    total = np.where(sure, low, 0.0).sum(axis=1)
    # What may not be there counts as nothing gained at the least.
    least = np.full(len(count), -np.inf)
    fewest, most = np.maximum(count, 1), np.maximum(count + more, 1)
    np.copyto(least, np.minimum(total / fewest, total / most), where=count > 0)
    highest = np.where(sure, high, 0.0).sum(axis=1) / fewest
    highest[count == 0] = -np.inf
    return least, np.maximum(highest, np.where(maybe, high, -np.inf).max(axis=1))
