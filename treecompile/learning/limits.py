"""When growth stops, who hears of its progress, and which gains count as equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int], None]  # called with the number of rows that are settled

# Gains that differ by less, relative to the impurity at the node, are equal: which one
# is larger is an accident of rounding.
TIE = 1e-12


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """When to stop growing. Rows are counted regardless of their weight."""

    max_depth: int | None = None  # tests from the root to a leaf
    min_split: int = 2  # rows that a node needs to be split
    min_leaf: int = 1  # rows that each branch of a split needs
    min_gain: float = 0.0  # decrease of impurity at the node that a split needs
    max_leaves: int | None = None  # ID3, CART: then the best splits are made first
    chi2: float | None = None  # the greatest p-value of a split
    min_sse: float | None = None  # regression: squared error that a node needs
