"""Computes which features the splits of a forest rely on.

The importance of a feature is its share of the gain of all splits, in all trees. If a
library records no gains, it is the feature's share of the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from treecompile.model.ir import Forest, Split


@dataclass(frozen=True, slots=True)
class SplitShares:
    shares: tuple[float, ...]  # of each feature; they sum to 1, or are all 0
    are_gains: bool  # False: of the number of splits, since no gain is known

    @property
    def ranked(self) -> list[int]:
        """The features that some tree tests, the most important first."""
        order = sorted(range(len(self.shares)), key=lambda index: -self.shares[index])
        return [index for index in order if self.shares[index]]

    @property
    def unused(self) -> list[int]:
        """The other features, in their order."""
        return [index for index, share in enumerate(self.shares) if not share]


def split_shares(forest: Forest) -> SplitShares:
    """Return the importance of each feature of a forest."""
    gains: list[list[float]] = [[] for _ in forest.features]
    for member in forest.members:
        for node in member.tree.nodes:
            if isinstance(node, Split):
                gains[node.branches[0].when.feature].append(max(node.gain, 0.0))
    sums = [fsum(own) for own in gains]
    are_gains = any(sums)
    if not are_gains:
        sums = [float(len(own)) for own in gains]
    total = fsum(sums) or 1.0
    return SplitShares(tuple(own / total for own in sums), are_gains)
