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

from treecompile.ir import Body, Condition, Feature, Kind, Op, RuleSet, Split, Tree
from treecompile.membership import truth_table
from treecompile.semantics import threshold

Columns = Sequence[NDArray[Any] | None]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


def holds(condition: Condition, feature: Feature, column: NDArray[Any]) -> Mask:
    """Where a column satisfies a condition."""
    if feature.kind is Kind.NUMERIC:
        limit = threshold(condition)
        known: Mask = column <= limit if condition.op is Op.LE else column > limit
        return known | np.isnan(column) if condition.missing else known
    # The last entry is for missing, which code -1 reaches.
    answer: Mask = np.array(truth_table(condition, feature))[column]
    return answer


def deciders(body: Body, columns: Columns, rows: int) -> Positions:
    """For each row, the position of the leaf or rule that decides it.

    For a tree a position in its nodes, for a rule set one in its rules, whose length
    stands for the default.
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
        for branch in node.branches:
            mask = holds(branch.when, tree.features[feature], values)
            waiting[branch.then] = here[mask]
    return where


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
