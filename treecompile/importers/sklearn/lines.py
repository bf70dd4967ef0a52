"""Finds which numbers of a raw column go left at a test of the transformed one.

The transformation is monotone, so the last double that goes left is found by bisection
over all doubles. Bins, special numbers and holes divide the line first. Then the
doubles around each edge are tried, as proof that it was monotone there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from treecompile.importers.sklearn.doubles import LARGEST, narrow, neighbours, spread
from treecompile.importers.sklearn.probing import (
    USUAL,
    Line,
    Probe,
    Side,
    Test,
    goes_left,
)
from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.errors import DataError


def sides(probe: Probe, tests: Sequence[Test]) -> list[Side]:
    """Return which raw values go left at each test."""
    found: dict[int, Side] = {}
    found |= probe.chosen(tests)
    found |= _LineSearch(probe, tests).found()
    return [found[place] for place in range(len(tests))]


class Piece(NamedTuple):
    """A part of the line of a raw column, to be searched for a test's edge."""

    test: int
    source: int
    low: float
    high: float


class _LineSearch:
    """Searches the lines of all numeric columns at once."""

    def __init__(self, probe: Probe, tests: Sequence[Test]) -> None:
        self.probe = probe
        self.tests = tests
        self.lines: dict[int, list[int]] = {}  # the tests of each numeric column
        for place, test in enumerate(tests):
            source = probe.structure.columns[test.column].source
            if not probe.structure.raw[source].encoder:
                self.lines.setdefault(source, []).append(place)

    def found(self) -> dict[int, Line]:
        """Return the sides of all tests of numbers."""
        lines, tests = self.lines, self.tests
        if not lines:
            return {}
        domains = {source: self._domain(source) for source in lines}
        holes = self._holes(domains)
        pieces = [
            Piece(place, source, low, high)
            for source, places in lines.items()
            for low, high in self._pieces(source, domains[source], holes[source])
            for place in places
        ]
        parts: dict[int, list[tuple[float, bool]]] = {}
        for piece, ends in zip(pieces, self._bisected(tests, pieces), strict=True):
            parts.setdefault(piece.test, []).extend(ends)
        found = {}
        for source, places in lines.items():
            missing = self.probe.attempt(source, float("nan"))
            for place in places:
                column = tests[place].column
                is_left = tests[place].missing_left
                if missing is not None:
                    is_left = bool(goes_left(tests[place], missing[0, column]))
                found[place] = _joined(parts[place], is_left)
        self._prove(tests, lines, found, domains)
        return found

    def _domain(self, source: int) -> tuple[float, float]:
        """Return the least and the greatest double that the pipeline transforms.

        All doubles, except for transformers that refuse some, as Box-Cox does those up
        to 0. A number outside goes where the nearest one inside goes.
        """

        def accepted(value: float) -> bool:
            return self.probe.attempt(source, value) is not None

        inside = next((x for x in (USUAL, 0.5, 0.0, -1.0) if accepted(x)), None)
        if inside is None:
            raw = self.probe.structure.raw[source]
            raise DataError(
                f"cannot fold {raw.name!r}: the pipeline refuses every number that was"
                " tried: leave the column out"
            )
        # One number at a time: a pipeline that refuses one refuses the whole call.
        low, high = np.array([-LARGEST, inside]), np.array([inside, LARGEST])
        if accepted(-LARGEST):
            high[0] = low[0]
        if accepted(LARGEST):
            low[1] = high[1]
        low, high = narrow(
            low,
            high,
            lambda ends, values: np.array(
                [accepted(v) == (end == 1) for end, v in zip(ends, values, strict=True)]
            ),
            most=1,
        )
        return float(high[0]), float(low[1])

    def _holes(self, domains: dict[int, tuple[float, float]]) -> dict[int, set[float]]:
        """Find where a transformed number begins or ceases to exist: log(x) at 0."""
        gaps: list[int] = []
        low: list[float] = []
        high: list[float] = []
        states = []
        origins = np.array([column.source for column in self.probe.structure.columns])
        for source, (least, greatest) in domains.items():
            inner = (v for v in spread() if least < v < greatest)
            tried = sorted({least, greatest, *inner})
            known = ~np.isnan(self.probe.transformed({source: tried}, len(tried)))
            for place in np.flatnonzero((known[1:] != known[:-1]).any(axis=1)):
                gaps.append(source)
                low.append(tried[place])
                high.append(tried[place + 1])
                states.append(known[place])
        sources = np.array(gaps, dtype=np.intp)

        def is_as_low(places: Positions, values: Floats) -> Mask:
            rows = self.probe.at(sources[places], values)
            is_same = ~np.isnan(rows) == np.array(states)[places]
            # A row probes other raw columns, too: only its own say something.
            is_other = origins != sources[places, None]
            found: Mask = (is_same | is_other).all(axis=1)
            return found

        ends, _ = narrow(np.array(low), np.array(high), is_as_low)
        found: dict[int, set[float]] = {source: set() for source in domains}
        for source, end in zip(gaps, ends.tolist(), strict=True):
            found[source].add(end)
        return found

    def _pieces(
        self, source: int, domain: tuple[float, float], holes: set[float]
    ) -> list[tuple[float, float]]:
        """Cut the line into pieces on which the transformation is monotone."""
        raw = self.probe.structure.raw[source]
        cuts = raw.cuts | holes
        for point in raw.points:
            cuts |= {nextafter(point, -inf), point}
        low, high = domain
        inner = sorted(cut for cut in cuts if low <= cut < high)
        lows = [low, *(nextafter(cut, inf) for cut in inner)]
        return list(zip(lows, [*inner, high], strict=True))

    def _bisected(
        self, tests: Sequence[Test], pieces: Sequence[Piece]
    ) -> list[list[tuple[float, bool]]]:
        """Divide each piece at its edge, if any: the ends, and whether they go left."""
        low = np.array([piece.low for piece in pieces])
        high = np.array([piece.high for piece in pieces])
        sources = np.array([piece.source for piece in pieces], dtype=np.intp)
        own = [tests[piece.test] for piece in pieces]
        columns = np.array([test.column for test in own], dtype=np.intp)
        limits = np.array([test.limit for test in own])
        missing = np.array([test.missing_left for test in own])

        def lefts(places: Positions, values: Floats) -> Mask:
            rows = self.probe.at(sources[places], values)
            z = rows[np.arange(len(places)), columns[places]]
            found: Mask = np.where(np.isnan(z), missing[places], z <= limits[places])
            return found

        every = np.arange(len(pieces))
        first, last = lefts(every, low), lefts(every, high)
        split = np.flatnonzero(first != last)
        low[split], _ = narrow(
            low[split],
            high[split],
            lambda places, values: lefts(split[places], values) == first[split[places]],
        )
        return [
            (
                [(piece.high, begins)]
                if begins == ends
                else [(end, begins), (piece.high, ends)]
            )
            for piece, end, begins, ends in zip(
                pieces, low.tolist(), first.tolist(), last.tolist(), strict=True
            )
        ]

    def _prove(
        self,
        tests: Sequence[Test],
        lines: dict[int, list[int]],
        found: dict[int, Line],
        domains: dict[int, tuple[float, float]],
    ) -> None:
        """Refuse a transformation that is not monotone around an edge."""
        for source, places in lines.items():
            low, high = domains[source]
            ends = {end for place in places for end in found[place].ends[:-1]}
            tried = {*neighbours(np.array([*ends])).tolist(), *spread()}
            values = np.array(sorted(v for v in tried if low <= v <= high))
            got = self.probe.transformed({source: values}, len(values))
            extremes: dict[int, _Extremes] = {}
            for place in places:
                test, line = tests[place], found[place]
                if test.column not in extremes:
                    extremes[test.column] = _Extremes(got[:, test.column])
                wrong = extremes[test.column].first_wrong(test, line, values)
                if wrong is not None:
                    raw = self.probe.structure.raw[source]
                    way = " and ".join(
                        self.probe.structure.columns[test.column].through
                    )
                    raise DataError(
                        f"cannot fold the {way} of {raw.name!r}: it is not monotone"
                        f" near {float(values[wrong])!r}: leave it out of the pipeline"
                    )


class _Extremes:
    """The transformed numbers of a sorted column, and their extremes up to each place.

    A forest has many tests of the same column: with the extremes, a test with one edge
    is checked without a look at every number.
    """

    def __init__(self, z: Floats) -> None:
        self.z = z
        self.is_whole = not np.isnan(z).any()
        self.tops = np.maximum.accumulate(z)
        self.bottoms = np.minimum.accumulate(z)
        self.later_tops = np.maximum.accumulate(z[::-1])[::-1]
        self.later_bottoms = np.minimum.accumulate(z[::-1])[::-1]

    def first_wrong(self, test: Test, line: Line, values: Floats) -> int | None:
        """Return the place of a number that does not go where the line says."""
        if self.is_whole and len(line.lefts) == 2 and self._holds(test, line, values):
            return None
        said = np.array(line.lefts)[np.searchsorted(line.ends, values)]
        wrong = np.flatnonzero(goes_left(test, self.z) != said)
        return int(wrong[0]) if len(wrong) else None

    def _holds(self, test: Test, line: Line, values: Floats) -> bool:
        after = int(np.searchsorted(values, line.ends[0], side="right"))
        before, limit = after - 1, test.limit
        is_first, is_last = before < 0, after >= len(values)
        if line.lefts[0]:
            return bool(
                (is_first or self.tops[before] <= limit)
                and (is_last or self.later_bottoms[after] > limit)
            )
        return bool(
            (is_first or self.bottoms[before] > limit)
            and (is_last or self.later_tops[after] <= limit)
        )


def _joined(parts: Sequence[tuple[float, bool]], missing: bool) -> Line:
    """Join neighbouring parts that go the same way."""
    ends: list[float] = []
    lefts: list[bool] = []
    for end, left in parts:
        if lefts and lefts[-1] == left:
            ends[-1] = end
        else:
            ends.append(end)
            lefts.append(left)
    ends[-1] = inf
    return Line(tuple(ends), tuple(lefts), missing)
