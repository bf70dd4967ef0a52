"""Draft -> Tree: conditions, statistics, and which branch takes missing values."""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.ir import (
    Branch,
    Category,
    ClassCounts,
    Kind,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Split,
    Tree,
)
from treecompile.learners.branches import Candidate, make_branches
from treecompile.learners.c45_draft import Draft, SplitTest
from treecompile.semantics import answer


def build(root: Draft, data: Dataset, policy: MissingPolicy) -> Tree:
    """The tree of a finished draft."""
    nodes: list[Node | None] = []
    splits: list[tuple[int, Draft, list[int]]] = []
    stack: list[tuple[Draft, Draft, list[int]]] = [(root, root, [])]
    while stack:
        draft, parent, siblings = stack.pop()
        position = len(nodes)
        siblings.append(position)
        if draft.test is None:
            nodes.append(_leaf(draft, parent, data, policy))
            continue
        nodes.append(None)  # until the positions of its children are known
        children: list[int] = []
        splits.append((position, draft, children))
        stack.extend((child, draft, children) for child in reversed(draft.branches))
    for position, draft, children in splits:
        nodes[position] = _split(draft, children, data)
    done = tuple(node for node in nodes if node is not None)
    return Tree(data.features, data.labels, done, policy)


def _counts(draft: Draft) -> ClassCounts:
    return ClassCounts(tuple(map(float, draft.counts)))


def _leaf(draft: Draft, parent: Draft, data: Dataset, policy: MissingPolicy) -> Leaf:
    """A leaf; one that no case reached rests on its class, or on its parent's cases.

    Where shares are added up, a leaf answers by its shares even at a tie.
    """
    counts = _counts(draft)
    if draft.weight:
        tied = policy is MissingPolicy.FRACTIONAL
        value = answer(counts, data.labels) if tied else data.labels[draft.label]
        return Leaf(value, counts, counts.weight)
    if policy is MissingPolicy.BRANCH:
        stand_in = _counts(parent)
        return Leaf(answer(stand_in, data.labels), stand_in, 0.0)
    one = (float(place == draft.label) for place in range(len(data.labels)))
    return Leaf(data.labels[draft.label], ClassCounts(tuple(one)), 0.0)


def _split(draft: Draft, children: list[int], data: Dataset) -> Split:
    assert draft.test is not None
    candidate = Candidate(
        draft.test.feature,
        draft.test.gain,
        _tests(draft.test, data),
        tuple(map(float, draft.known)),
    )
    branches = (
        Branch(branch.when, then, _counts(child).weight)
        for branch, then, child in zip(
            make_branches(data, candidate), children, draft.branches, strict=True
        )
    )
    # Logarithms differ in their last bits between processors: the file must not.
    return Split(tuple(branches), _counts(draft), round(draft.test.gain, 12))


def _tests(
    test: SplitTest, data: Dataset
) -> tuple[tuple[Op, Category | float | tuple[Category, ...]], ...]:
    feature = data.features[test.feature]
    if test.groups:
        return tuple(
            (Op.IN, tuple(feature.categories[code] for code in group))
            for group in test.groups
        )
    value: Category | float = test.cut
    if feature.kind is Kind.ORDINAL:
        value = feature.categories[int(test.cut)]
    return (Op.LE, value), (Op.GT, value)
