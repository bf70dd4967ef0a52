"""Draws random rows within many boxes at once, a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, cast

import numpy as np

from treecompile.model.arrays import Array, Floats
from treecompile.model.ir import Row, Value
from treecompile.regions.region import Interval, Region
from treecompile.verify.axes import Axis, CategoryAxis, Grid, NumberAxis
from treecompile.verify.search import Cell

MISSING = 0.1  # the share of missing values where known ones are possible as well

Pin = tuple[int, Value]  # a feature, and the value that a row must have there


class RandomRows:
    """Draws rows with the values of a grid."""

    def __init__(self, grid: Grid, dice: Random) -> None:
        self.grid, self.dice = grid, dice

    def inside(self, places: Sequence[tuple[Cell, Pin | None]]) -> Iterator[Row]:
        """Draw a row in each cell; with a pin, the row has its value."""
        axes = self.grid.axes
        bounded: list[tuple[list[int], list[Region]]] = [([], []) for _ in axes]
        for number, (cell, _) in enumerate(places):
            for index, region in cell.items():
                rows, regions = bounded[index]
                rows.append(number)
                regions.append(region)
        columns = []
        for axis, (rows, regions) in zip(axes, bounded, strict=True):
            codes = self._picked(axis, [axis.everything], len(places))
            if rows:
                codes[rows] = self._picked(axis, regions, len(rows))
            columns.append(_values(axis, codes))
        for number, (_, pin) in enumerate(places):
            if pin is not None:
                index, value = pin
                columns[index][number] = value
        return zip(*columns, strict=True)

    def anywhere(self, count: int) -> Iterator[Row]:
        """Draw rows in which all values of an axis are equally likely."""
        columns = []
        for axis in self.grid.axes:
            codes = self._below(np.full(count, len(axis.values)))
            columns.append(_values(axis, codes))
        return zip(*columns, strict=True)

    # ------------------------------------------------------------ places on an axis

    def _picked(self, axis: Axis, regions: Sequence[Region], count: int) -> Array:
        """Draw `count` places of values, in a region for each or in one for all."""
        if isinstance(axis, NumberAxis):
            return self._numbers(axis, regions, count)
        return self._categories(axis, regions, count)

    def _numbers(
        self, axis: NumberAxis, regions: Sequence[Region], count: int
    ) -> Array:
        """Draw numbers, mostly at an end of a region, which is an edge of the model."""
        intervals = cast("Sequence[Interval]", regions)
        ends = (
            [each.low for each in intervals],
            [each.high for each in intervals],
            [each.missing for each in intervals],
        )
        low, high, missing = np.broadcast_to(np.array(ends, np.float64), (3, count))
        has_known = low < high
        first = np.where(has_known, low + 1, 0).astype(np.intp)
        last = np.where(has_known, high, 0).astype(np.intp)
        inside = first + self._below(last - first + 1)
        chosen = np.choose(self._below(np.full(count, 3)), (first, last, inside))
        is_missing = (missing > 0) & (self._uniform(count) < MISSING) | ~has_known
        absent = len(axis.known) + self._below(np.full(count, len(axis.missing)))
        return np.where(is_missing, absent, chosen)

    def _categories(
        self, axis: CategoryAxis, regions: Sequence[Region], count: int
    ) -> Array:
        numbers: dict[Region, int] = {}
        which = np.array([numbers.setdefault(own, len(numbers)) for own in regions])
        lists = [_places(axis, region) for region in numbers]
        sizes = np.array(list(map(len, lists)))
        starts = np.cumsum(sizes) - sizes
        drawn = self._below(np.broadcast_to(sizes[which], count))
        found: Array = np.concatenate(lists)[starts[which] + drawn]
        return found

    # ------------------------------------------------------------ chance

    def _below(self, sizes: Array) -> Array:
        """Return a random integer from 0 below each size."""
        found: Array = (self._uniform(len(sizes)) * sizes).astype(np.intp)
        return found

    def _uniform(self, count: int) -> Floats:
        """Return numbers from 0 to 1, the same with every version of Python."""
        words = np.frombuffer(self.dice.randbytes(8 * count), "<u8")
        found: Floats = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return found


def _places(axis: CategoryAxis, region: Region) -> Array:
    values = enumerate(axis.regions.values())
    return np.array([i for i, own in values if own.overlaps(region)], np.intp)


def _values(axis: Axis, codes: Array) -> list[Any]:
    values = np.empty(len(axis.values), dtype=object)
    values[:] = axis.values
    found: list[Any] = values[codes].tolist()
    return found
