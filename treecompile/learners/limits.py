"""When growth stops, to whom it reports, and which gains count as equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int], None]  # called with a number of rows that are settled

# Gains that differ by less, relative to the impurity at the node, are equal: which one
# is larger is an accident of rounding.
TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop growing; what is counted are rows, whatever they weigh."""

    max_depth: int | None = None  # tests from the root to a leaf
    min_split: int = 2  # cases that a node needs to be split
    min_leaf: int = 1  # cases that each branch of a split needs
    min_gain: float = 0.0  # decrease of impurity at the node that a split needs
    max_leaves: int | None = None  # for growth by levels: then the best splits first
    chi2: float | None = None  # the most that chance may have to do with a split
    min_sse: float | None = None  # of numbers: squared error that a node needs
