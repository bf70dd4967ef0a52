"""Queries that count the rows at open nodes: one for each feature, or one for all.

Where a database reads its rows quickly, there is a query for each feature. Where each
query is expensive, the features are stacked in one: `p` says which feature a line is
of, `c` is its code and `x` its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treecompile.database.grow.bins import BinCounts, BinRanges, in_order
from treecompile.database.grow.work import WorkTable
from treecompile.model.arrays import Array

FINER = 64  # finer bins into which a bin is cut that may have the best cut inside
OPEN = "WHERE node >= 0"


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """The names of a feature's columns in a query."""

    code: str
    number: str


STACKED = FeatureColumns("w.c", "w.x")


def named(index: int) -> FeatureColumns:
    return FeatureColumns(f"w.c{index}", f"w.x{index}")


# ---------------------------------------------------------------- all open nodes


def counts(
    work: WorkTable, indices: Sequence[int], nodes: range | None = None
) -> list[BinCounts]:
    """Count the values or bins of features at all open nodes, or at some of them."""
    which = OPEN
    if nodes is not None:
        which = f"WHERE node >= {nodes.start} AND node < {nodes.stop}"
    if not _is_stacked(work, indices):
        return [_counts_of(work, index, which) for index in indices]
    width = 1 + max(work.sizes[index] for index in indices)
    is_bounded = any(map(work.is_binned, indices))
    found = work.store.arrays(
        f"SELECT p, {_select(work, STACKED, width, is_bounded=is_bounded)}"
        f" FROM {_stack(work, indices, which)} AS w GROUP BY p, k"
    )
    return [
        _bin_counts(work, index, width, answer, is_bounded=is_bounded)
        for index, answer in zip(indices, _by_feature(found, len(indices)), strict=True)
    ]


def _counts_of(work: WorkTable, index: int, which: str) -> BinCounts:
    width, is_bounded = work.sizes[index] + 1, work.is_binned(index)
    selected = _select(work, named(index), width, is_bounded=is_bounded)
    query = f"SELECT {selected} FROM {work.rows()} AS w {which} GROUP BY k"
    answer = work.store.arrays(query)
    return _bin_counts(work, index, width, answer, is_bounded=is_bounded)


def _select(
    work: WorkTable, feature: FeatureColumns, width: int, *, is_bounded: bool
) -> str:
    """The key to group by, and what is asked of the rows of each group."""
    # Grouping by one number takes two thirds of the time of several columns.
    groups = work.target.groups
    long = work.store.dialect.learning.long
    key = f"CAST(w.node AS {long}) * {width} + {feature.code}"
    if groups > 1:
        key = f"({key}) * {groups} + w.y"
    asked = work.target.asked(is_bounded=is_bounded)
    if is_bounded:
        asked = [f"min({feature.number})", f"max({feature.number})", *asked]
    return ", ".join((f"{key} AS k", *asked))


def _bin_counts(
    work: WorkTable,
    index: int,
    width: int,
    answer: Sequence[Array],
    *,
    is_bounded: bool,  # whether the ends of bins were asked for
) -> BinCounts:
    keys, *found = answer
    key, group = np.divmod(keys.astype(np.int64), work.target.groups)
    node, code = np.divmod(key, width)
    is_binned = work.is_binned(index)
    ends: Sequence[Array] = []
    if is_bounded:
        ends, found = found[:2], found[2:]
    if not is_binned:
        values = work.schema.values[index]
        numbers = np.array([*values, np.nan])[code] if values else code
        ends = [numbers, numbers]
        found = found[: len(work.target.asked(is_bounded=False))]
    return _gathered(work, [node, code], group, ends, found)


# ---------------------------------------------------------------- ranges of numbers


def finer(work: WorkTable, ranges: Mapping[int, BinRanges]) -> dict[int, BinCounts]:
    """Count the rows in some ranges of features with many numbers, in finer bins."""

    def keys_of(number: str) -> list[str]:
        even = f"({number} - a.low) * a.scale"
        inner = work.writer.within("1e0", "a.most - 1e0", even)
        return [
            "a.low",
            f"CASE WHEN {number} <= a.low THEN 0 WHEN {number} >= a.high THEN a.most"
            # A range whose width overflows is not cut.
            f" WHEN a.scale = 0 THEN 1 ELSE {inner} END",
        ]

    def ends(number: str) -> list[str]:
        return [f"min({number})", f"max({number})"]

    return {
        index: _gathered(work, keys, group, found[:2], found[2:])
        for index, (keys, group, found) in _within(work, ranges, keys_of, ends).items()
    }


def values(work: WorkTable, ranges: Mapping[int, BinRanges]) -> dict[int, BinCounts]:
    """Count every value in some ranges."""
    found = _within(work, ranges, lambda number: [number], lambda number: [])
    return {
        index: _gathered(work, keys, group, [keys[2], keys[2]], sums)
        for index, (keys, group, sums) in found.items()
    }


def first_values(
    work: WorkTable, index: int, ranges: BinRanges, lines: int
) -> BinCounts:
    """Count the first values in one range, from at most so many lines."""
    keys, group, sums = _within(
        work,
        {index: ranges},
        lambda number: [number],
        lambda number: [],
        f" ORDER BY k2 LIMIT {lines}",
    )[index]
    return _gathered(work, keys, group, [keys[2], keys[2]], sums)


Lines = tuple[list[Array], Array, list[Array]]  # keys, labels and what was asked for
ByNumber = Callable[[str], list[str]]  # SQL expressions of a number


def _within(
    work: WorkTable,
    ranges: Mapping[int, BinRanges],
    keys_of: ByNumber,
    asked: ByNumber,
    first: str = "",  # ORDER BY and LIMIT
) -> dict[int, Lines]:
    """Ask for the rows of some ranges, grouped by node, code and further keys."""
    indices, join = list(ranges), work.store.dialect.learning.join

    def ask(
        feature: FeatureColumns, rows: str, some: Sequence[BinRanges], *which: str
    ) -> list[Array]:
        keys = [*which, "w.node", "a.code", *keys_of(feature.number)]
        if work.target.groups > 1:
            keys.append("w.y")
        names = [f"k{place}" for place in range(len(keys))]
        wanted = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        wanted += [*asked(feature.number), *work.target.asked(is_bounded=True)]
        same = "".join(f"{key} = a.p AND " for key in which)
        return work.store.arrays(
            f"SELECT {', '.join(wanted)} FROM {rows} AS w {join} {_table(work, some)}"
            f" ON {same}w.node = a.node AND {feature.code} = a.code"
            f" AND {feature.number} >= a.low AND {feature.number} <= a.high"
            f" GROUP BY {', '.join(names)}{first}"
        )

    if _is_stacked(work, indices):
        found = ask(STACKED, _stack(work, indices), [*ranges.values()], "w.p")
        answers = _by_feature(found, len(indices))
    else:
        answers = [ask(named(p), work.rows(), [ranges[p]]) for p in indices]
    size = 2 + len(keys_of(""))
    return {
        index: _lines(work, answer, size)
        for index, answer in zip(indices, answers, strict=True)
    }


def _lines(work: WorkTable, answer: list[Array], size: int) -> Lines:
    keys, found = answer[:size], answer[size:]
    keys[:2] = (each.astype(np.intp) for each in keys[:2])
    if work.target.groups == 1:
        return keys, np.zeros(len(keys[0]), np.intp), found
    return keys, found[0].astype(np.intp), found[1:]


def _table(work: WorkTable, ranges: Sequence[BinRanges]) -> str:
    """Some ranges as a table to join with the rows."""
    rows = []
    for place, some in enumerate(ranges):
        for node, code, low, high, bins in zip(
            some.node.tolist(),
            some.code.tolist(),
            some.low.tolist(),
            some.high.tolist(),
            some.bins.tolist(),
            strict=True,
        ):
            parts = bins * FINER
            numbers = (low, high, _scale(parts, low, high), parts - 1.0)
            texts = map(work.writer.number, numbers)
            rows.append((str(place), str(node), str(code), *texts))
    columns = ("p", "node", "code", "low", "high", "scale", "most")
    return work.writer.table("a", columns, rows)


def _scale(parts: int, low: float, high: float) -> float:
    """Finer bins per unit within a range; 0 where its ends are too far apart."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = float(np.divide(parts, high - low))
    return scale if np.isfinite(scale) else 0.0


# ---------------------------------------------------------------- answers


def _gathered(
    work: WorkTable,
    keys: Sequence[Array],
    group: Array,
    ends: Sequence[Array],
    found: Sequence[Array],
) -> BinCounts:
    """A bin for all lines with equal keys; the first keys are node and code."""
    order, line, starts = in_order(keys)
    low, high = (each[order].astype(np.float64) for each in ends)
    sums, spread = work.target.gather(
        line, group[order], [each[order] for each in found]
    )
    firsts = order[starts]
    return BinCounts(
        keys[0][firsts],
        keys[1][firsts],
        sums,
        spread,
        np.minimum.reduceat(low, starts) if len(starts) else low,
        np.maximum.reduceat(high, starts) if len(starts) else high,
    )


# ---------------------------------------------------------------- stacked features


def _is_stacked(work: WorkTable, indices: Sequence[int]) -> bool:
    return bool(work.store.dialect.learning.stack) and len(indices) > 1


def _stack(work: WorkTable, indices: Sequence[int], which: str = OPEN) -> str:
    """A FROM clause for the rows of several features, one feature after the other."""
    none = f"CAST(NULL AS {work.store.dialect.types.number})"
    pairs = [
        (f"c{index}", f"x{index}" if work.is_binned(index) else none)
        for index in indices
    ]
    return work.writer.stack(f"{work.rows()} AS w {which}", work.kept, pairs)


def _by_feature(found: Sequence[Array], features: int) -> list[list[Array]]:
    """The lines of each feature, from a result whose first column is the feature."""
    which = found[0].astype(np.intp)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(features + 1)).tolist()
    return [
        [column[order[first:last]] for column in found[1:]]
        for first, last in pairwise(bounds)
    ]
