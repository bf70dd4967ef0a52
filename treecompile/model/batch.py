"""The semantics over whole columns, for predicting many rows at once.

`semantics` is the definition; this module does the same with arrays, and a property
test compares the two. Columns come from `tables.dataset.encode`: doubles with NaN for
missing, or category codes with -1 for missing and the number of categories for unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treecompile.model import ir
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.forests import ZERO, largest_power
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    members,
    membership,
    places,
    probabilities,
    threshold,
)

Columns = Sequence[Array | None]


def holds(condition: ir.Condition, feature: ir.Feature, column: Array) -> Mask:
    """Where a column satisfies a condition."""
    if feature.kind is ir.Kind.NUMERIC:
        limit = threshold(condition)
        known = column <= limit if condition.op is ir.Op.LE else column > limit
        return known | np.isnan(column) if condition.missing else known
    # The truth for each category, for unseen, and for missing: code -1 is its index.
    inside, chosen, missing = membership(condition, feature)
    truth = np.full(len(feature.categories) + 2, not inside)
    place_of = places(feature.categories)
    truth[[place_of[c] for c in chosen if c in place_of]] = inside
    truth[-1] = missing
    return truth[column]


def answers(
    body: ir.AnyBody, columns: Columns, rows: int, where: Positions | None = None
) -> Array:
    """The answer to each row: an index into the labels, or a number.

    `where` says what decides each row (see `deciders`), if that is known already.
    """
    if isinstance(body, ir.Forest):
        return forest_answers(body, margins(body, columns, rows))
    decided = outcomes(body)
    table = np.zeros(max(decided) + 1, dtype=np.intp if body.labels else np.float64)
    for position, rule in decided.items():
        label = rule.value
        table[position] = body.labels.index(label) if body.labels else label
    return table[deciders(body, columns, rows) if where is None else where]


def predictions(body: ir.AnyBody, columns: Columns, rows: int) -> Array:
    """`semantics.predict` for each row."""
    found = answers(body, columns, rows)
    if not body.labels:
        return found
    table = np.empty(len(body.labels), dtype=object)
    table[:] = body.labels
    return table[found]


def shares(body: ir.AnyBody, columns: Columns, rows: int) -> Floats:
    """The probability of each label, for each row."""
    if isinstance(body, ir.Forest):
        found = linked(body, margins(body, columns, rows))
        if found.shape[1] == 1:
            found = np.hstack([1 - found, found])
        return _rounded(body, found)
    decided = outcomes(body)
    table = np.zeros((max(decided) + 1, len(body.labels)))
    for position, rule in decided.items():
        table[position] = probabilities(rule.stats)
    return table[deciders(body, columns, rows)]


def deciders(body: ir.Body, columns: Columns, rows: int) -> Positions:
    """`semantics.decider` for each row."""
    if isinstance(body, ir.Tree):
        return _leaves(body, columns, rows)
    found = np.full(rows, len(body.rules), dtype=np.intp)
    left = np.arange(rows)
    for position, rule in enumerate(body.rules):
        found[matching(rule.conditions, body.features, columns, left)] = position
        left = left[found[left] == len(body.rules)]
    return found


def _leaves(tree: ir.Tree, columns: Columns, rows: int) -> Positions:
    found = np.zeros(rows, dtype=np.intp)
    waiting: dict[int, Positions] = {0: np.arange(rows)}
    for position, node in enumerate(tree.nodes):
        here = waiting.pop(position, None)
        if here is None or len(here) == 0:
            continue
        if isinstance(node, ir.Leaf):
            found[here] = position
            continue
        index = node.branches[0].when.feature
        feature, column = tree.features[index], columns[index]
        assert column is not None
        if len(node.branches) > 2:
            parts = _by_branch(node, feature, column[here], here)
        else:
            mask = holds(node.branches[0].when, feature, column[here])
            parts = [here[mask], here[~mask]]
        for branch, part in zip(node.branches, parts, strict=True):
            waiting[branch.then] = part
    return found


def _by_branch(
    split: ir.Split, feature: ir.Feature, codes: Array, here: Positions
) -> list[Positions]:
    """The rows of each branch of a split of categories, with one lookup per row."""
    rest = [branch.when.op for branch in split.branches].index(ir.Op.NOT_IN)
    missing = [branch.when.missing for branch in split.branches].index(True)
    # The branch of each category, of unseen values, and of a missing value.
    table = np.full(len(feature.categories) + 2, rest)
    table[-1] = missing
    index = {category: code for code, category in enumerate(feature.categories)}
    for place, branch in enumerate(split.branches):
        if branch.when.op is ir.Op.IN:
            table[[index[c] for c in members(branch.when) if c in index]] = place
    places = table[codes]
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(1, len(split.branches)))
    return np.split(here[order], bounds)


def matching(
    conditions: Sequence[ir.Condition],
    features: Sequence[ir.Feature],
    columns: Columns,
    rows: Positions,
) -> Positions:
    """Those of the rows that satisfy all conditions."""
    for condition in conditions:
        column = columns[condition.feature]
        assert column is not None
        feature = features[condition.feature]
        rows = rows[holds(condition, feature, column[rows])]
    return rows


# ---------------------------------------------------------------- forests

TOGETHER = 1 << 16  # rows that pass all trees before the next ones: they stay in cache


def margins(forest: ir.Forest, columns: Columns, rows: int) -> Floats:
    """`forests.margins` for each row: one column for each output."""
    found = np.empty((rows, len(forest.start)))
    kind = _kind(forest)
    tables = [_value_table(member, kind) for member in forest.members]
    for first in range(0, rows, TOGETHER):
        part = slice(first, min(first + TOGETHER, rows))
        some = [None if column is None else column[part] for column in columns]
        _make_zeros_missing(forest, some)
        count = part.stop - part.start
        sums = np.tile(np.array(forest.start, dtype=kind), (count, 1))
        for member, table in zip(forest.members, tables, strict=True):
            sums[:, member.outputs] += table[_leaves(member.tree, some, count)]
        if forest.divisor != 1:
            sums /= kind(forest.divisor)
        if forest.scale != 1:
            sums *= kind(forest.scale)
        if forest.offset:
            sums += np.array(forest.offset, dtype=kind)
        found[part] = sums
    return found + 0.0  # never -0.0


def leaves_of(forest: ir.Forest, columns: Columns, rows: int) -> Iterator[Positions]:
    """The leaf of each row, tree by tree."""
    some = list(columns)
    _make_zeros_missing(forest, some)
    for member in forest.members:
        yield _leaves(member.tree, some, rows)


def _kind(forest: ir.Forest) -> type[np.float32] | type[np.float64]:
    is_single = forest.arithmetic is ir.Arithmetic.SINGLE
    return np.float32 if is_single else np.float64


def _value_table(member: ir.Member, kind: type[np.float32] | type[np.float64]) -> Array:
    """What each node adds; only those of leaves are used."""
    table = np.zeros((len(member.tree.nodes), len(member.outputs)), dtype=kind)
    for position, node in enumerate(member.tree.nodes):
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            table[position] = member.values[node.value]
    return table


def _make_zeros_missing(forest: ir.Forest, columns: list[Array | None]) -> None:
    for index in forest.zero_is_missing:
        column = columns[index]
        if column is not None:
            columns[index] = np.where(np.abs(column) <= ZERO, np.nan, column)


def forest_answers(forest: ir.Forest, found: Floats) -> Array:
    """The answer that the margins of each row lead to (see `answers`)."""
    if not forest.labels:
        return _rounded(forest, linked(forest, found))[:, 0]
    if forest.cut is not None:
        return np.asarray(found[:, 0] > forest.cut, np.intp)
    places: Array = found.argmax(axis=1)  # the first at a tie
    return places


def linked(forest: ir.Forest, found: Floats) -> Floats:
    """`forests.linked` for the margins of each row."""
    most = largest_power(forest)

    def power(of: Floats) -> Floats:
        return _rounded(forest, np.exp(np.clip(of, -most, most)))

    made = found
    match forest.link:
        case ir.Link.LOGISTIC:
            made = 1 / _rounded(forest, 1 + power(-forest.slope * found))
        case ir.Link.SOFTMAX:
            parts = power(found - found.max(axis=1, keepdims=True))
            total = np.zeros(len(found))
            for place in range(parts.shape[1]):  # in order: np.sum adds in pairs
                total += parts[:, place]
            made = parts / _rounded(forest, total)[:, None]
        case ir.Link.EXP:
            made = power(found)
        case ir.Link.SIGNED_SQUARE:
            made = found * np.abs(found)
        case ir.Link.SOFTPLUS:
            made = np.log1p(power(found))
    return _rounded(forest, made)


def _rounded(forest: ir.Forest, found: Floats) -> Floats:
    """What a link computes in double, in the arithmetic of the forest."""
    with np.errstate(over="ignore"):
        return found.astype(_kind(forest)).astype(np.float64)
