"""The tree of C4.5 while it is pruned, and the finished tree made of it.

To raise a branch into the place of its parent means that the parent takes over the
branch's test and branches; the branch itself is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learning.grow.build import TreeContents, build_tree, make, stand_ins
from treecompile.learning.grow.draft import Draft, DraftLevel
from treecompile.model.arrays import Floats, Positions
from treecompile.model.ir import ClassCounts, Feature, Label, MissingPolicy, Tree


@dataclass(slots=True, eq=False)
class CaseDraft(Draft):
    """A draft whose `stats` are the training weight of each class."""

    label: Positions  # the class that each node predicts as a leaf
    errors: Floats  # of all that is below, as last counted or estimated

    @classmethod
    def grown(cls, levels: Sequence[DraftLevel]) -> CaseDraft:
        """All levels; a node without cases has the class of its parent."""
        draft = Draft.of(levels)
        label = draft.stats.argmax(axis=1)
        is_empty = draft.weight == 0
        if is_empty.any():
            label[is_empty] = label[draft.parents()[is_empty]]
        errors = draft.weight - draft.stats[np.arange(len(label)), label]
        return cls(
            draft.splits,
            draft.stats,
            draft.weight,
            draft.first,
            draft.child,
            draft.known,
            label,
            errors,
        )

    def raise_branches(self, nodes: Positions, branches: Positions) -> None:
        """Put a node below each of these nodes into its place."""
        splits, groups = self.splits, self.splits.groups
        for values in (splits.feature, splits.gain, splits.threshold, splits.size):
            values[nodes] = values[branches]
        self.label[nodes] = self.label[branches]
        self.first[nodes] = self.first[branches]
        if groups:
            for node, branch in zip(nodes.tolist(), branches.tolist(), strict=True):
                groups.pop(node, None)
                if branch in groups:
                    groups[node] = groups[branch]


def finish_tree(
    draft: CaseDraft,
    features: tuple[Feature, ...],
    labels: tuple[Label, ...],
    policy: MissingPolicy,
) -> Tree:
    """The tree of a draft.

    Under the fractional policy a leaf predicts by its shares, even at a tie. A leaf
    without cases has the counts of its parent, or, where shares are added up, one case
    of its class.
    """
    is_fractional = policy is MissingPolicy.FRACTIONAL
    is_empty, stats = stand_ins(draft)
    weights = np.array(
        [ClassCounts(tuple(line)).weight for line in draft.stats.tolist()]
    )
    value = draft.label.copy()
    if is_fractional:
        stats[is_empty] = np.eye(len(labels))[draft.label[is_empty]]
        value = stats.argmax(axis=1)
    else:
        value[is_empty] = stats[is_empty].argmax(axis=1)
    order = draft.reading_order()
    contents = TreeContents(
        make(ClassCounts, len(order), map(tuple, stats[order].tolist())),
        list(map(labels.__getitem__, value[order].tolist())),
        weights[order].tolist(),
        # Logarithms differ in their last bits between processors: the file must not.
        [round(gain, 12) for gain in draft.splits.gain[order].tolist()],
        weights[draft.child],
    )
    return build_tree(draft, order, contents, features, labels, policy)
