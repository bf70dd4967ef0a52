"""Where two models decide differently: regions, a row for each, and rows of data.

Both models are walked at once over boxes of inputs. A box on which one of them is not
settled is divided by its next question; where both are and their answers differ, the
box is a region. Regions beside each other with the same answers become one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treecompile.analysis.budget import STEPS, Budget
from treecompile.analysis.common import Pair, own_row, pair
from treecompile.analysis.walkers import UNDECIDED, walker
from treecompile.batch import answers, holds
from treecompile.data import encode
from treecompile.errors import TargetError
from treecompile.ir import Body, Condition, Feature, Label, Program, Value
from treecompile.read import Table
from treecompile.regions import Box, Region, Space
from treecompile.semantics import (
    conditions,
    is_fractional,
    predict,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A region on which both models give one answer each, and not the same."""

    tests: tuple[Condition, ...]  # of the common features; none: everywhere
    old: Label
    new: Label
    row: dict[str, Value]  # in the region, with every value that a model reads
    rows: int | None = None  # of the data that fall there


@dataclass(frozen=True, slots=True)
class Diff:
    features: tuple[Feature, ...]
    regions: tuple[Difference, ...]
    complete: bool  # the search came to its end: there are no other regions
    rows: int | None = None  # of the data
    differing: int | None = None  # those of them that get different answers

    @property
    def same(self) -> bool:
        return self.complete and not self.regions


def diff(
    old: Program,
    new: Program,
    table: Table | None = None,
    budget: int = STEPS,
    na_values: tuple[str, ...] = (),
) -> Diff:
    """Where two programs answer differently; with a table, how many rows fall there."""
    both = pair(old, new)
    is_mixing = is_fractional(old.body) or is_fractional(new.body)
    if is_mixing and old.body != new.body:
        raise TargetError(
            "a tree that divides missing values among its branches adds up shares and"
            " has no regions: compare its rules (treecompile rules)"
        )
    space = Space(both.features, (*conditions(both.old), *conditions(both.new)))
    found: dict[Box, Answers] = {}
    is_complete = old.body == new.body
    if not is_complete:
        found, is_complete = _search(both, space, Budget(budget))
    regions = [
        _difference(box, values, both, space, old.body, new.body)
        for box, values in _merged(found, space)
    ]
    if table is None:
        return Diff(both.features, tuple(regions), is_complete)
    na = (*old.na_values, *new.na_values, *na_values)
    return _counted(Diff(both.features, tuple(regions), is_complete), both, table, na)


Answers = tuple[Label, Label]


def _search(
    both: Pair, space: Space, budget: Budget
) -> tuple[dict[Box, Answers], bool]:
    """Boxes with different answers, disjoint; and whether these are all."""
    one, other = walker(both.old, space), walker(both.new, space)
    found: dict[Box, Answers] = {}
    waiting = [(space.everything, one.start(), other.start())]
    while waiting:
        box, state, rival = waiting.pop()
        mine, yours = one.answer(state), other.answer(rival)
        if mine is not UNDECIDED and yours is not UNDECIDED:
            if mine != yours:
                found[box] = mine, yours  # type: ignore[assignment]
            continue
        if not budget.spend():
            return found, False
        asks = one.question(state) if mine is UNDECIDED else other.question(rival)
        position, regions = asks
        for region in reversed(regions):
            inner = space.narrow(box, position, region)
            if inner is not None:
                part = inner[position]
                after = one.onwards(state, inner, position, part)
                waiting.append(
                    (inner, after, other.onwards(rival, inner, position, part))
                )
    return found, True


def _merged(found: dict[Box, Answers], space: Space) -> list[tuple[Box, Answers]]:
    """Unite boxes that differ in one feature only, as long as there are any."""
    current = list(found.items())
    size = -1
    while size != len(current):
        size = len(current)
        for position in range(len(space.axes)):
            groups: dict[tuple[Answers, Box, Box], list[Region]] = {}
            for box, values in current:
                key = values, box[:position], box[position + 1 :]
                groups.setdefault(key, []).append(box[position])
            current = [
                ((*before, region, *behind), values)
                for (values, before, behind), regions in groups.items()
                for region in _united(regions, position, space)
            ]
    return current


def _united(regions: list[Region], position: int, space: Space) -> list[Region]:
    result: list[Region] = []
    for region in sorted(regions):
        both = space.axes[position].unite(result[-1], region) if result else None
        if both is None:
            result.append(region)
        else:
            result[-1] = both
    return result


def _difference(
    box: Box, values: Answers, both: Pair, space: Space, old: Body, new: Body
) -> Difference:
    row = space.row(box, both.columns)
    said = tuple(
        predict(body, own_row(body, both.features, row)) for body in (old, new)
    )
    if said != values:
        raise AssertionError(f"a bug: {row} was to give {values} and gives {said}")
    shown = {both.features[position].name: row[position] for position in both.read}
    return Difference(space.conditions(box), *values, shown)


# ---------------------------------------------------------------- data


def _counted(result: Diff, both: Pair, table: Table, na: tuple[str, ...]) -> Diff:
    """The regions with the rows of a table in each, those with most of them first."""
    columns = encode(both.features, table, both.read, na)
    said = [_said(body, columns, table.rows) for body in (both.old, both.new)]
    differing = np.flatnonzero(said[0] != said[1])
    regions = []
    for region in result.regions:
        inside = differing
        for test in region.tests:
            column = columns[test.feature]
            assert column is not None
            feature = both.features[test.feature]
            inside = inside[holds(test, feature, column[inside])]
        regions.append(replace(region, rows=len(inside)))
    regions.sort(key=lambda region: -(region.rows or 0))
    return replace(
        result, regions=tuple(regions), rows=table.rows, differing=len(differing)
    )


def _said(
    body: Body, columns: tuple[NDArray[np.generic] | None, ...], rows: int
) -> NDArray[np.generic]:
    """The answers themselves: the labels of two models may be ordered otherwise."""
    found = answers(body, columns, rows)
    if not body.labels:
        return found
    table = np.empty(len(body.labels), dtype=object)
    table[:] = body.labels
    said: NDArray[np.generic] = table[found]
    return said
