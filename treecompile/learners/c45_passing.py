"""How cases pass the tests of a C4.5 tree, wherever they are: what pruning asks.

In memory they are rows; a table in a database answers too. What either calls cases is
its own affair.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from treecompile.learners.c45_draft import Draft, SplitTests
from treecompile.learners.stretches import Floats, Positions

Held = TypeVar("Held")
HeldOut = TypeVar("HeldOut", covariant=True)


class Passed(Protocol[HeldOut]):
    """Cases behind the tests of some nodes."""

    @property
    def cases(self) -> HeldOut: ...

    @property
    def branches(self) -> Positions:
        """Of each node of these cases: which of all branches it is."""

    @property
    def known(self) -> Floats:
        """Of each branch: the weight of the cases whose value is known."""


Leaves = tuple[Positions, Positions, Floats]


class Passing(Protocol[Held]):
    """How cases pass tests."""

    def everything(self) -> Held:
        """All cases, at one node."""

    def some(self, cases: Held, chosen: Positions) -> Held:
        """The cases of some of the nodes."""

    def counts(self, cases: Held) -> Floats:
        """The weight of each class at each node."""

    def divide(self, tests: SplitTests, cases: Held) -> Passed[Held]:
        """Send the cases of every node to its branches.

        Cases with a missing value go to the branches in proportion to the weights of
        those whose value is known, or all of them to the heaviest; none go where no
        known case goes.
        """

    def fall(self, draft: Draft, nodes: Positions, cases: Held) -> Leaves:
        """To which leaves the cases fall if they come to these nodes.

        Of each leaf that any reach: the position in `nodes` of the one that it is
        below, the leaf, and the weight of each class there.
        """


def fall_by_levels(
    passing: Passing[Held], draft: Draft, nodes: Positions, cases: Held
) -> Leaves:
    """`Passing.fall`, test after test."""
    roots = np.arange(len(nodes))
    found: list[Leaves] = []
    while True:
        is_split = draft.is_split[nodes]
        leaves = np.flatnonzero(~is_split)
        if len(leaves):
            counts = passing.counts(passing.some(cases, leaves))
            found.append((roots[leaves], nodes[leaves], counts))
        inner = np.flatnonzero(is_split)
        if not len(inner):
            break
        nodes, roots = nodes[inner], roots[inner]
        tests = draft.tests.some(nodes)
        divided = passing.divide(tests, passing.some(cases, inner))
        children = draft.child[draft.branches(nodes)]
        nodes = children[divided.branches]
        roots = np.repeat(roots, tests.size)[divided.branches]
        cases = divided.cases
    of_root, leaf, weights = (np.concatenate(each) for each in zip(*found, strict=True))
    return of_root, leaf, weights
