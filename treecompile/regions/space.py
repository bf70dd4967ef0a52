"""Computes with boxes of rows: a box is a region of every feature.

Whether a box is empty, or lies within another, is decided exactly and never sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count
from math import inf, isfinite, isinf, nextafter

from treecompile.model import ir
from treecompile.model.paths import paths
from treecompile.model.semantics import leaf_positions
from treecompile.regions.region import (
    UNSEEN,
    CategorySet,
    Interval,
    Region,
    everything,
    where,
)

Box = tuple[Region, ...]


class Space:
    """The space of all rows over some features, and operations on its boxes."""

    def __init__(self, features: Sequence[ir.Feature]) -> None:
        self.features = features
        self.everything: Box = tuple(map(everything, features))
        self.where = cache(self.region)

    def region(self, test: ir.Condition) -> Region:
        """Return the values that satisfy a condition; `where` caches the result."""
        return where(test, self.features[test.feature])

    def narrow(self, box: Box, index: int, region: Region) -> Box | None:
        """Return the part of a box within a region of one feature; None if empty."""
        met = box[index].meet(region)
        return None if met.is_empty else (*box[:index], met, *box[index + 1 :])

    def cut(self, box: Box, test: ir.Condition) -> Box | None:
        """Return the part of a box where a condition holds; None if empty."""
        return self.narrow(box, test.feature, self.where(test))

    def inside(self, tests: Iterable[ir.Condition]) -> Box | None:
        """Return the box where all conditions hold; None if it is empty."""
        box = list(self.everything)
        for test in tests:
            met = box[test.feature].meet(self.where(test))
            if met.is_empty:
                return None
            box[test.feature] = met
        return tuple(box)

    def conditions(self, box: Box) -> tuple[ir.Condition, ...]:
        """Return the fewest conditions that hold in a box and nowhere else."""
        pairs = zip(self.features, box, strict=True)
        return tuple(
            condition
            for index, (feature, region) in enumerate(pairs)
            for condition in region.conditions(index, feature) or ()
        )

    def row(self, box: Box, columns: Sequence[ir.ColumnSummary] = ()) -> ir.Row:
        """Return a row within a box, with usual values where possible."""
        usual = [(column.low or 0.0, column.high or 0.0) for column in columns]
        usual = usual or [(0.0, 0.0)] * len(box)
        return tuple(map(value_inside, box, self.features, usual))


def example(body: ir.Body, columns: Sequence[ir.ColumnSummary] = ()) -> ir.Row:
    """Return a row inside the first leaf or rule that a row can reach."""
    space = Space(body.features)
    if isinstance(body, ir.RuleSet):
        tests = [rule.conditions for rule in body.rules]
    else:
        tests = list(map(paths(body).__getitem__, leaf_positions(body)))
    reachable = (box for box in map(space.inside, tests) if box is not None)
    return space.row(next(reachable, space.everything), columns)


def value_inside(
    region: Region, feature: ir.Feature, usual: tuple[float, float]
) -> ir.Value:
    """Return a value of a non-empty region: the first category, or a usual number."""
    if isinstance(region, CategorySet):
        if region.has_known:
            return region.members(feature)[0]
        return unseen(feature) if region.bits & UNSEEN else None
    if feature.kind is ir.Kind.NUMERIC:
        return next(_numbers(region, usual))
    if region.has_known and feature.categories:  # an ordinal may have none
        return feature.categories[0 if region.low == -inf else int(region.low) + 1]
    return unseen(feature)


def _numbers(region: Interval, usual: tuple[float, float]) -> Iterator[float | None]:
    """Yield numbers of a region, readable ones of the usual range first."""
    start, end = max(region.low, usual[0]), min(region.high, usual[1])
    middle = start + (end - start) / 2
    candidates = [region.high, region.low + 1.0, nextafter(region.low, inf)]
    candidates.sort(key=isinf)  # an infinity last: it is in the region, but not usual
    if isfinite(middle):
        rounded = [round(middle, digits) for digits in range(6)]
        candidates = [*rounded, middle, *candidates]
    yield from (x for x in candidates if region.low < x <= region.high)
    yield None


def unseen(feature: ir.Feature) -> ir.Value:
    """Return a category that training never saw; None if all values are known."""
    match feature.type:
        case ir.ValueType.STR:
            text = "unseen"
            while text in feature.categories:
                text += "_"
            return text
        case ir.ValueType.INT:
            return next(n for n in count() if n not in feature.categories)
        case ir.ValueType.BOOL:
            return next((b for b in (False, True) if b not in feature.categories), None)
    return None
