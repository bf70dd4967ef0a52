"""The semantics over whole columns, for predicting many rows at once.

`semantics` is the definition; this says the same with arrays, and a property test holds
the two together. Columns come from `data.encode`: doubles with NaN for missing, or
codes into the categories with -1 for missing and the number of categories for unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    Condition,
    Feature,
    Kind,
    Leaf,
    Op,
    RuleSet,
    Split,
    Tree,
)
from treecompile.membership import truth_table
from treecompile.semantics import (
    certain,
    is_fractional,
    members,
    probabilities,
    threshold,
)

Columns = Sequence[NDArray[Any] | None]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]
Doubles = NDArray[np.float64]


def holds(condition: Condition, feature: Feature, column: NDArray[Any]) -> Mask:
    """Where a column satisfies a condition."""
    if feature.kind is Kind.NUMERIC:
        limit = threshold(condition)
        known: Mask = column <= limit if condition.op is Op.LE else column > limit
        return known | np.isnan(column) if condition.missing else known
    # The last entry is for missing, which code -1 reaches.
    answer: Mask = np.array(truth_table(condition, feature))[column]
    return answer


def unknown(feature: Feature, column: NDArray[Any]) -> Mask:
    """Where a value is missing or a category never seen."""
    if feature.kind is Kind.NUMERIC:
        mask: Mask = np.isnan(column)
    else:
        mask = (column < 0) | (column >= len(feature.categories))
    return mask


def answers(body: Body, columns: Columns, rows: int) -> NDArray[Any]:
    """The answer to each row: a position in the labels, or a number."""
    if isinstance(body, Tree) and is_fractional(body):
        mixed = distributions(body, columns, rows)
        # argmax finds the first of the greatest
        return mixed.argmax(axis=1) if body.labels else mixed[:, 0]
    decided = outcomes(body)
    table = np.zeros(max(decided) + 1, dtype=np.intp if body.labels else np.float64)
    for position, rule in decided.items():
        label = rule.value
        table[position] = body.labels.index(label) if body.labels else label
    found: NDArray[Any] = table[deciders(body, columns, rows)]
    return found


def shares(body: Body, columns: Columns, rows: int) -> Doubles:
    """The probability of each label, for each row."""
    if isinstance(body, Tree) and is_fractional(body):
        return distributions(body, columns, rows)
    decided = outcomes(body)
    table = np.zeros((max(decided) + 1, len(body.labels)))
    for position, rule in decided.items():
        table[position] = probabilities(rule.stats)
    found: Doubles = table[deciders(body, columns, rows)]
    return found


def distributions(tree: Tree, columns: Columns, rows: int) -> Doubles:
    """`semantics.distribution` for each row, under the fractional policy."""
    waiting: dict[int, Positions] = {0: np.arange(rows)}
    passed: dict[int, tuple[Mask, list[Mask]]] = {}  # unknown rows; those of branches
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Leaf):
            continue
        here = waiting[position]
        where = node.branches[0].when.feature
        column = columns[where]
        assert column is not None
        values = column[here]
        divided = unknown(tree.features[where], values)
        masks = []
        for branch in node.branches:
            mask = holds(branch.when, tree.features[where], values) | divided
            masks.append(mask)
            waiting[branch.then] = here[mask]
        passed[position] = divided, masks
    found: dict[int, Doubles] = {}
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            here = waiting.pop(position)
            found[position] = np.tile(certain(node), (len(here), 1))
        else:
            below = [found.pop(branch.then) for branch in node.branches]
            found[position] = _mixed(node, *passed.pop(position), below)
    return found[0]


def _mixed(
    split: Split, divided: Mask, masks: Sequence[Mask], below: Sequence[Doubles]
) -> Doubles:
    """What the rows of a split get from those of its branches."""
    result = np.empty((len(divided), below[0].shape[1]))
    sums = np.zeros((int(divided.sum()), result.shape[1]))
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for branch, mask, found in zip(split.branches, masks, below, strict=True):
            result[mask] = found
            sums += branch.weight * found[divided[mask]]
            total += branch.weight
        result[divided] = sums / total
    return result


def deciders(body: Body, columns: Columns, rows: int) -> Positions:
    """For each row, the position of the leaf or rule that decides it.

    For a tree a position in its nodes, for a rule set one in its rules, whose length
    stands for the default. Under the fractional policy, the leaf that the conditions
    lead to.
    """
    if isinstance(body, RuleSet):
        return _matching_rules(body, columns, rows)
    return _leaves(body, columns, rows)


def _leaves(tree: Tree, columns: Columns, rows: int) -> Positions:
    where = np.zeros(rows, dtype=np.intp)
    waiting: dict[int, Positions] = {0: np.arange(rows)}
    for position, node in enumerate(tree.nodes):
        here = waiting.pop(position, None)
        if here is None or len(here) == 0:
            continue
        if not isinstance(node, Split):
            where[here] = position
            continue
        feature = node.branches[0].when.feature
        column = columns[feature]
        assert column is not None
        values = column[here]
        if len(node.branches) > 2:
            _send(node, tree.features[feature], values, here, waiting)
            continue
        for branch in node.branches:
            mask = holds(branch.when, tree.features[feature], values)
            waiting[branch.then] = here[mask]
    return where


def _send(
    split: Split,
    feature: Feature,
    codes: NDArray[Any],
    here: Positions,
    waiting: dict[int, Positions],
) -> None:
    """Send rows to the branches of a split of categories, by one look at each row."""
    rest = [branch.when.op for branch in split.branches].index(Op.NOT_IN)
    missing = [branch.when.missing for branch in split.branches].index(True)
    # Of each category, of one never seen, and of a missing value: which branch.
    table = np.full(len(feature.categories) + 2, rest)
    table[-1] = missing
    index = {category: code for code, category in enumerate(feature.categories)}
    for place, branch in enumerate(split.branches):
        if branch.when.op is Op.IN:
            table[[index[c] for c in members(branch.when) if c in index]] = place
    places = table[codes]
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(split.branches) + 1))
    for place, branch in enumerate(split.branches):
        waiting[branch.then] = here[order[bounds[place] : bounds[place + 1]]]


def _matching_rules(rules: RuleSet, columns: Columns, rows: int) -> Positions:
    where = np.full(rows, len(rules.rules), dtype=np.intp)
    left = np.arange(rows)
    for position, rule in enumerate(rules.rules):
        matched = left
        for condition in rule.conditions:
            column = columns[condition.feature]
            assert column is not None
            feature = rules.features[condition.feature]
            matched = matched[holds(condition, feature, column[matched])]
        where[matched] = position
        left = left[where[left] == len(rules.rules)]
    return where
