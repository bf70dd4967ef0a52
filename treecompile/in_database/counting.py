"""What is asked of the rows at open nodes: a query for each feature, or one for all.

A database that reads its rows quickly takes a query for each feature. Where a query is
dear, the features stand below one another in one: `p` says which of them, `c` is its
code and `x` its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from treecompile.in_database.answers import Answers
from treecompile.in_database.cells import Ranges, Tally, in_order
from treecompile.in_database.schema import Schema
from treecompile.in_database.spelling import Spelling
from treecompile.learners.stretches import Array
from treecompile.stores.base import Store

FINER = 64  # parts into which a bin is cut that may hold the best cut
OPEN = "WHERE node >= 0"


class Table(Protocol):
    """The working table, as far as it is asked."""

    store: Store
    spelling: Spelling
    answers: Answers
    schema: Schema
    sizes: list[int]  # of each feature: its codes, but the one for missing values
    kept: list[str]  # columns that are for no feature

    def rows(self) -> str:
        """What queries read from."""

    def is_binned(self, position: int) -> bool:
        """Whether a feature has bins for codes, and its numbers besides."""


@dataclass(frozen=True, slots=True)
class Named:
    """How a query calls what it reads of a feature."""

    code: str
    number: str


STACKED = Named("w.c", "w.x")


def named(position: int) -> Named:
    return Named(f"w.c{position}", f"w.x{position}")


# ---------------------------------------------------------------- all open nodes


def counts(
    work: Table, positions: Sequence[int], nodes: range | None = None
) -> list[Tally]:
    """The values or bins of features at all open nodes, or at some of them."""
    which = OPEN
    if nodes is not None:
        which = f"WHERE node >= {nodes.start} AND node < {nodes.stop}"
    if not _is_stacked(work, positions):
        table = f"{work.rows()} AS w {which}"
        return [
            _tally(
                work,
                position,
                work.sizes[position] + 1,
                work.store.arrays(
                    f"SELECT {_asked(work, position)} FROM {table} GROUP BY k"
                ),
            )
            for position in positions
        ]
    width = 1 + max(work.sizes[position] for position in positions)
    is_bounded = any(map(work.is_binned, positions))
    found = work.store.arrays(
        f"SELECT p, {_select(work, STACKED, width, is_bounded=is_bounded)}"
        f" FROM {_stack(work, positions, which)} AS w GROUP BY p, k"
    )
    return [
        _tally(work, position, width, answer, is_bounded=is_bounded)
        for position, answer in zip(
            positions, _parted(found, len(positions)), strict=True
        )
    ]


def _asked(work: Table, position: int) -> str:
    width, is_bounded = work.sizes[position] + 1, work.is_binned(position)
    return _select(work, named(position), width, is_bounded=is_bounded)


def _select(work: Table, feature: Named, width: int, *, is_bounded: bool) -> str:
    """The key, and what is asked of the rows of each."""
    # Packed into one number, which is grouped by in two thirds of the time.
    groups = work.answers.groups
    key = f"CAST(w.node AS {work.store.phrases.long}) * {width} + {feature.code}"
    if groups > 1:
        key = f"({key}) * {groups} + w.y"
    asked = work.answers.asked(is_bounded=is_bounded)
    if is_bounded:
        asked = [f"min({feature.number})", f"max({feature.number})", *asked]
    return ", ".join((f"{key} AS k", *asked))


def _tally(
    work: Table,
    position: int,
    width: int,
    answer: Sequence[Array],
    *,
    is_bounded: bool | None = None,  # as the feature is, if nothing is said
) -> Tally:
    keys, *found = answer
    cell, group = np.divmod(keys.astype(np.int64), work.answers.groups)
    node, code = np.divmod(cell, width)
    is_binned = work.is_binned(position)
    ends: Sequence[Array] = []
    if is_binned if is_bounded is None else is_bounded:
        ends, found = found[:2], found[2:]
    if not is_binned:
        values = work.schema.values[position]
        numbers = np.array([*values, np.nan])[code] if values else code
        ends = [numbers, numbers]
        found = found[: len(work.answers.asked(is_bounded=False))]
    return _cells(work, [node, code], group, ends, found)


# ---------------------------------------------------------------- ranges of numbers


def finer(work: Table, ranges: Mapping[int, Ranges]) -> dict[int, Tally]:
    """The rows in some ranges of features with many numbers, in small cells."""

    def parts(number: str) -> list[str]:
        even = f"({number} - a.low) * a.scale"
        inner = work.spelling.within("1e0", "a.most - 1e0", even)
        return [
            "a.low",
            f"CASE WHEN {number} <= a.low THEN 0 WHEN {number} >= a.high THEN a.most"
            # What lies so far apart that its distance is no number is not divided.
            f" WHEN a.scale = 0 THEN 1 ELSE {inner} END",
        ]

    def ends(number: str) -> list[str]:
        return [f"min({number})", f"max({number})"]

    return {
        position: _cells(work, keys, group, found[:2], found[2:])
        for position, (keys, group, found) in _within(work, ranges, parts, ends).items()
    }


def values(work: Table, ranges: Mapping[int, Ranges]) -> dict[int, Tally]:
    """Every value in some ranges."""
    found = _within(work, ranges, lambda number: [number], lambda number: [])
    return {
        position: _cells(work, keys, group, [keys[2], keys[2]], sums)
        for position, (keys, group, sums) in found.items()
    }


def first_values(work: Table, position: int, ranges: Ranges, lines: int) -> Tally:
    """The first values in one range, as many as so many lines tell of."""
    keys, group, sums = _within(
        work,
        {position: ranges},
        lambda number: [number],
        lambda number: [],
        f" ORDER BY k2 LIMIT {lines}",
    )[position]
    return _cells(work, keys, group, [keys[2], keys[2]], sums)


# Of each line of an answer: its keys, which of the answers it tells of, what it tells.
Lines = tuple[list[Array], Array, list[Array]]
ByNumber = Callable[[str], list[str]]  # what is asked of a number


def _within(
    work: Table,
    ranges: Mapping[int, Ranges],
    parts: ByNumber,
    asked: ByNumber,
    first: str = "",  # which of all lines
) -> dict[int, Lines]:
    """What is asked of the rows of some ranges, by node, code and parts of these."""
    positions, join = list(ranges), work.store.phrases.join

    def ask(
        feature: Named, rows: str, some: Sequence[Ranges], *which: str
    ) -> list[Array]:
        keys = [*which, "w.node", "a.code", *parts(feature.number)]
        if work.answers.groups > 1:
            keys.append("w.y")
        names = [f"k{place}" for place in range(len(keys))]
        wanted = [f"{key} AS {name}" for key, name in zip(keys, names, strict=True)]
        wanted += [*asked(feature.number), *work.answers.asked(is_bounded=True)]
        same = "".join(f"{key} = a.p AND " for key in which)
        return work.store.arrays(
            f"SELECT {', '.join(wanted)} FROM {rows} AS w {join} {_table(work, some)}"
            f" ON {same}w.node = a.node AND {feature.code} = a.code"
            f" AND {feature.number} >= a.low AND {feature.number} <= a.high"
            f" GROUP BY {', '.join(names)}{first}"
        )

    if _is_stacked(work, positions):
        found = ask(STACKED, _stack(work, positions), [*ranges.values()], "w.p")
        answers = _parted(found, len(positions))
    else:
        answers = [ask(named(p), work.rows(), [ranges[p]]) for p in positions]
    size = 2 + len(parts(""))
    return {
        position: _lines(work, answer, size)
        for position, answer in zip(positions, answers, strict=True)
    }


def _lines(work: Table, answer: list[Array], size: int) -> Lines:
    keys, found = answer[:size], answer[size:]
    keys[:2] = (each.astype(np.intp) for each in keys[:2])
    if work.answers.groups == 1:
        return keys, np.zeros(len(keys[0]), np.intp), found
    return keys, found[0].astype(np.intp), found[1:]


def _table(work: Table, ranges: Sequence[Ranges]) -> str:
    """Some ranges as a table, by which rows find their own."""
    rows = []
    for place, some in enumerate(ranges):
        for node, code, low, high, cells in zip(
            some.node.tolist(),
            some.code.tolist(),
            some.low.tolist(),
            some.high.tolist(),
            some.cells.tolist(),
            strict=True,
        ):
            parts = cells * FINER
            numbers = (low, high, _scale(parts, low, high), parts - 1.0)
            texts = map(work.spelling.number, numbers)
            rows.append((str(place), str(node), str(code), *texts))
    columns = ("p", "node", "code", "low", "high", "scale", "most")
    return work.spelling.table("a", columns, rows)


def _scale(parts: int, low: float, high: float) -> float:
    """Parts by number within a range; 0 where its ends are too far apart."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = float(np.divide(parts, high - low))
    return scale if np.isfinite(scale) else 0.0


# ---------------------------------------------------------------- answers


def _cells(
    work: Table,
    keys: Sequence[Array],
    group: Array,
    ends: Sequence[Array],
    found: Sequence[Array],
) -> Tally:
    """A cell for all lines of equal keys, the node and the code being the first."""
    order, cell, starts = in_order(keys)
    low, high = (each[order].astype(np.float64) for each in ends)
    sums, extremes = work.answers.gather(
        cell, group[order], [each[order] for each in found]
    )
    firsts = order[starts]
    return Tally(
        keys[0][firsts],
        keys[1][firsts],
        sums,
        extremes,
        np.minimum.reduceat(low, starts) if len(starts) else low,
        np.maximum.reduceat(high, starts) if len(starts) else high,
    )


# ---------------------------------------------------------------- below one another


def _is_stacked(work: Table, positions: Sequence[int]) -> bool:
    return work.store.phrases.stacked is not None and len(positions) > 1


def _stack(work: Table, positions: Sequence[int], which: str = OPEN) -> str:
    """The features below one another: what stands behind FROM."""
    assert work.store.phrases.stacked is not None
    none = f"CAST(NULL AS {work.store.dialect.types.number})"
    pairs = [
        (f"c{position}", f"x{position}" if work.is_binned(position) else none)
        for position in positions
    ]
    return work.store.phrases.stacked(f"{work.rows()} AS w {which}", work.kept, pairs)


def _parted(found: Sequence[Array], features: int) -> list[list[Array]]:
    """An answer for all features, whose first column says which of them."""
    which = found[0].astype(np.intp)
    order = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(features + 1)).tolist()
    return [
        [column[order[first:last]] for column in found[1:]]
        for first, last in pairwise(bounds)
    ]
