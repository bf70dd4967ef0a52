"""Makes the final `ir.Tree` from a draft: nodes in reading order, with conditions.

A large tree is a million small objects, and calling their class for each takes longer
than finding the splits. So leaves, and splits at a threshold, are made in bulk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import repeat
from operator import ge, not_
from typing import Any, TypeVar

import numpy as np

from treecompile.learning.grow.draft import Draft, is_categorical
from treecompile.model import ir
from treecompile.model.arrays import Floats, Mask, Positions

T = TypeVar("T")


def stand_ins(draft: Draft) -> tuple[Mask, Floats]:
    """Return which nodes have no cases, and statistics for all nodes.

    A node without cases gets the statistics of its parent.
    """
    is_empty = draft.weight == 0
    stats = draft.stats.copy()
    if is_empty.any():
        stats[is_empty] = stats[draft.parents()[is_empty]]
    return is_empty, stats


@dataclass(frozen=True, eq=False)
class TreeBuilder:
    """Builds a tree; sequences have an entry for each node, in reading order."""

    draft: Draft
    order: Positions  # the reading order of the draft
    features: tuple[ir.Feature, ...]
    stats: Sequence[ir.Stats]
    values: Sequence[ir.Label]  # what each node predicts if it is a leaf
    weights: Sequence[float]
    gains: Sequence[float]
    branch_weights: Floats  # for each branch of the draft

    @cached_property
    def place(self) -> Positions:
        """For each node of the draft, its position in the tree."""
        place = np.zeros(len(self.draft.weight), np.intp)
        place[self.order] = np.arange(len(self.order))
        return place

    def build(self, labels: tuple[ir.Label, ...]) -> ir.Tree:
        feature = self.draft.splits.feature[self.order]
        by_category = is_categorical(self.features)[feature]
        form = np.where(feature < 0, 0, np.where(by_category, 2, 1))
        leaves, cuts, categories = (np.flatnonzero(form == each) for each in range(3))
        makers: tuple[Iterator[ir.Node], ...] = (
            iter(self.leaves(leaves)),
            iter(self.cuts(cuts)),
            self.categories(categories),
        )
        nodes = tuple(map(next, map(makers.__getitem__, form.tolist())))
        return ir.Tree(self.features, labels, nodes)

    def leaves(self, places: Positions) -> list[ir.Leaf]:
        columns = (self.values, self.stats, self.weights)
        return make(ir.Leaf, len(places), *(_taken(each, places) for each in columns))

    def cuts(self, places: Positions) -> list[ir.Split]:
        """Make the splits at a threshold."""
        draft, nodes, count = self.draft, self.order[places], len(places)
        feature = draft.splits.feature[nodes].tolist()
        first = draft.first[nodes]
        value = self._values(nodes)
        known = [draft.known[first + side].tolist() for side in range(2)]
        is_left = list(map(ge, *known))  # the heavier branch takes missing values
        sides = []
        for side, op in enumerate((ir.Op.LE, ir.Op.GT)):
            takes_missing = map(not_, is_left) if side else is_left
            tests = make(ir.Condition, count, feature, repeat(op), value, takes_missing)
            children = self.place[draft.child[first + side]].tolist()
            weights = self.branch_weights[first + side].tolist()
            sides.append(make(ir.Branch, count, tests, children, weights))
        stats = _taken(self.stats, places)
        gains = _taken(self.gains, places)
        return make(ir.Split, count, zip(*sides, strict=True), stats, gains)

    def _values(self, nodes: Positions) -> list[Any]:
        """Return the thresholds; for ordinal features, the categories."""
        splits = self.draft.splits
        values: list[Any] = splits.threshold[nodes].tolist()
        for index, feature in enumerate(self.features):
            if feature.kind is ir.Kind.ORDINAL:
                for place in np.flatnonzero(splits.feature[nodes] == index).tolist():
                    values[place] = feature.categories[int(values[place])]
        return values

    def categories(self, places: Positions) -> Iterator[ir.Split]:
        """Make the splits by categories, with two or more branches."""
        draft = self.draft
        for place in places.tolist():
            node = int(self.order[place])
            first = int(draft.first[node])
            slots = slice(first, first + int(draft.splits.size[node]))
            tests = self._tests(node, draft.known[slots].tolist())
            children = self.place[draft.child[slots]].tolist()
            weights = self.branch_weights[slots].tolist()
            branches = tuple(map(ir.Branch, tests, children, weights))
            yield ir.Split(branches, self.stats[place], self.gains[place])

    def _tests(self, node: int, known: list[float]) -> list[ir.Condition]:
        """Make the tests of a categorical split.

        The heaviest branch also takes missing and unseen values.
        """
        index = int(self.draft.splits.feature[node])
        names = self.features[index].categories
        groups = self.draft.splits.groups.get(node) or [(c,) for c in range(len(names))]
        heaviest = known.index(max(known))
        tests = []
        for place, group in enumerate(groups):
            op, codes = ir.Op.IN, list(group)
            if place == heaviest:
                others = (codes for i, codes in enumerate(groups) if i != heaviest)
                op, codes = ir.Op.NOT_IN, sorted(
                    code for each in others for code in each
                )
            value = tuple(names[code] for code in codes)
            tests.append(ir.Condition(index, op, value, missing=place == heaviest))
        return tests


def _taken(values: Sequence[T], places: Positions) -> Iterator[T]:
    return map(values.__getitem__, places.tolist())


def make(kind: type[T], count: int, *values: Iterable[Any]) -> list[T]:
    """Make `count` objects of a dataclass with slots, from the values of each field.

    All objects are made empty and then filled field by field, in loops that run in C.
    This is safe even for frozen classes: nothing else refers to the new objects yet.
    """
    made = list(map(object.__new__, repeat(kind, count)))
    for field, each in zip(fields(kind), values, strict=True):  # type: ignore[arg-type]
        fill = kind.__dict__[field.name].__set__  # the setter of the slot
        deque(map(fill, made, each), maxlen=0)
    return made
