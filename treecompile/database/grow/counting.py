"""Counts the rows at open nodes by SQL, with one query per feature or one for all.

Where a database reads its rows quickly, each feature has its own query. Where every
query is expensive, the features are stacked in one query, and its column `p` says to
which feature a line belongs. In either case `c` is the code of the feature's bin or
value, and `x` its number. The answers become a `BinHistogram` for each feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from treecompile.database.grow.bins import BinHistogram, BinRanges
from treecompile.database.grow.work import WorkTable
from treecompile.model.arrays import Array

FINER = 64  # a bin that may hold the best cut is cut into so many finer bins
OPEN = "node >= 0"
ENDS = ["min(x)", "max(x)"]


# ---------------------------------------------------------------- all open nodes


def counts(work: WorkTable, nodes: range | None = None) -> list[BinHistogram]:
    """Count the values or bins of each feature at all open nodes, or at some of them.

    A bin with the last code of a feature holds the missing values.
    """
    which = OPEN
    if nodes is not None:
        which = f"node >= {nodes.start} AND node < {nodes.stop}"
    found = []
    for some in together(work, range(len(work.sizes))):
        width = 1 + max(work.sizes[index] for index in some)
        is_bounded = any(map(work.is_binned, some))
        # Grouping by one number takes two thirds of the time of several columns.
        key = f"CAST(node AS {work.store.dialect.long}) * {width} + c"
        if work.target.groups > 1:
            key = f"({key}) * {work.target.groups} + y"
        asked = ENDS if is_bounded else []
        asked = [*asked, *work.target.asked(is_bounded=is_bounded)]
        keys = ["p", "k"] if len(some) > 1 else ["k"]
        answer = work.store.arrays(
            f"SELECT {', '.join([*keys[:-1], f'{key} AS k', *asked])}"
            f" FROM {_stack(work, some, which)} AS w GROUP BY {', '.join(keys)}"
        )
        for index, lines in zip(some, _by_feature(answer, len(some)), strict=True):
            found.append(_counted(work, index, width, lines, is_bounded=is_bounded))
    return found


def _counted(
    work: WorkTable,
    index: int,
    width: int,
    answer: Sequence[Array],
    *,
    is_bounded: bool,  # whether the ends of bins were asked for
) -> BinHistogram:
    keys, *found = answer
    key, group = np.divmod(keys.astype(np.int64), work.target.groups)
    node, code = np.divmod(key, width)
    ends: Sequence[Array] = []
    if is_bounded:
        ends, found = found[:2], found[2:]
    if not work.is_binned(index):
        values = work.schema.values[index]
        numbers = np.array([*values, np.nan])[code] if values else code
        ends = [numbers, numbers]
        found = found[: len(work.target.asked(is_bounded=False))]
    return _gathered(work, [node, code], group, ends, found)


# ---------------------------------------------------------------- ranges of numbers


def finer(work: WorkTable, ranges: Mapping[int, BinRanges]) -> dict[int, BinHistogram]:
    """Count the rows in some ranges of features with many numbers, in finer bins."""
    inner = work.writer.within("1e0", "a.most - 1e0", "(x - a.low) * a.scale")
    part = (
        "CASE WHEN x <= a.low THEN 0 WHEN x >= a.high THEN a.most"
        # A range whose width overflows is not cut.
        f" WHEN a.scale = 0 THEN 1 ELSE {inner} END"
    )
    return _within(work, ranges, ["a.low", part], ENDS)


def values(
    work: WorkTable, ranges: Mapping[int, BinRanges], most: int | None = None
) -> dict[int, BinHistogram]:
    """Count every value in some ranges; with `most`, the first lines of one range."""
    first = "" if most is None else f" ORDER BY k2 LIMIT {most}"
    return _within(work, ranges, ["x"], [], first)


def _within(
    work: WorkTable,
    ranges: Mapping[int, BinRanges],
    more_keys: Sequence[str],
    ends: Sequence[str],  # aggregates of a bin; none: both ends are the last key
    first: str = "",  # ORDER BY and LIMIT
) -> dict[int, BinHistogram]:
    """Count the rows in some ranges, in a bin per node, code and further keys."""
    target, result = work.target, {}
    size = 2 + len(more_keys)
    for some in together(work, [*ranges]):
        is_one = len(some) == 1
        keys = ["w.node", "a.code", *more_keys]
        keys += ["y"] if target.groups > 1 else []
        selected = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        names = [f"k{place}" for place in range(len(keys))]
        if not is_one:
            selected, names = ["w.p AS which", *selected], ["which", *names]
        answer = work.store.arrays(
            f"SELECT {', '.join([*selected, *ends, *target.asked(is_bounded=True)])}"
            f" FROM {_stack(work, some)} AS w JOIN"
            f" {_table(work, [ranges[index] for index in some])}"
            f" ON {'' if is_one else 'w.p = a.p AND '}w.node = a.node AND c = a.code"
            f" AND x >= a.low AND x <= a.high GROUP BY {', '.join(names)}{first}"
        )
        for index, lines in zip(some, _by_feature(answer, len(some)), strict=True):
            lines[:2] = (each.astype(np.intp) for each in lines[:2])
            of_bins, found = lines[:size], lines[size:]
            group = np.zeros(len(lines[0]), np.intp)
            if target.groups > 1:
                group = found.pop(0).astype(np.intp)
            bounds = [found.pop(0) for _ in ends] or [of_bins[-1]] * 2
            result[index] = _gathered(work, of_bins, group, bounds, found)
    return result


def _table(work: WorkTable, ranges: Sequence[BinRanges]) -> str:
    """Return some ranges as a SQL table, to join with the rows."""
    rows = []
    for place, some in enumerate(ranges):
        lines = zip(*(column.tolist() for column in some), strict=True)
        for node, code, low, high, bins in lines:
            parts = bins * FINER
            numbers = (low, high, _scale(parts, low, high), parts - 1.0)
            texts = map(work.writer.number, numbers)
            rows.append((str(place), str(node), str(code), *texts))
    columns = ("p", "node", "code", "low", "high", "scale", "most")
    return work.writer.table("a", columns, rows)


def _scale(parts: int, low: float, high: float) -> float:
    """Return the finer bins per unit of a range; 0 where its ends are too far apart."""
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
) -> BinHistogram:
    """Make one bin of all lines with equal keys; the first keys are node and code."""
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), np.bool_)
    ordered = [key[order] for key in keys]
    is_new[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
    starts = np.flatnonzero(is_new)
    low, high = (each[order].astype(np.float64) for each in ends)
    sums, spread = work.target.gather(
        len(starts), np.cumsum(is_new) - 1, group[order], [f[order] for f in found]
    )
    return BinHistogram(
        ordered[0][starts],
        ordered[1][starts],
        sums,
        spread,
        np.minimum.reduceat(low, starts) if len(starts) else low,
        np.maximum.reduceat(high, starts) if len(starts) else high,
        np.full(len(starts), np.inf),
        np.zeros(len(starts), np.intp),
    )


# ---------------------------------------------------------------- stacked features


def together(work: WorkTable, indices: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield groups of features; each group is counted in one query."""
    if work.store.dialect.learning.stack and indices:
        yield indices
    else:
        yield from ([index] for index in indices)


def _stack(work: WorkTable, indices: Sequence[int], which: str = OPEN) -> str:
    """Return a relation with a line per row and feature: its code and number."""
    none = f"CAST(NULL AS {work.store.dialect.types.number})"
    pairs = [
        (f"c{index}", f"x{index}" if work.is_binned(index) else none)
        for index in indices
    ]
    rows = f"{work.rows()} AS w WHERE {which}"
    if len(indices) > 1:
        return work.writer.stack(rows, work.kept, pairs)
    code, number = pairs[0]
    return f"(SELECT {', '.join(work.kept)}, {code} AS c, {number} AS x FROM {rows})"


def _by_feature(found: Sequence[Array], features: int) -> list[list[Array]]:
    """Divide lines by feature; if there are several, the first column says which."""
    if features == 1:
        return [list(found)]
    which = found[0].astype(np.intp)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(features + 1)).tolist()
    return [
        [column[order[first:last]] for column in found[1:]]
        for first, last in pairwise(bounds)
    ]
