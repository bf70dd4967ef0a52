"""What the preprocessing makes of values: asked from the transformers themselves.

A test `z <= t` of the tree is about a transformed number z. For each test, the probe
finds which raw values pass:

- of a categorical column, every known category, an unseen one and a missing one are
  transformed and compared;
- of a numeric column, the transformation is monotone, so the last double that passes is
  found by bisection over all doubles. Bins and special numbers divide the line first.

Then the doubles around each edge are tried, as proof that it was monotone there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, nextafter
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from treecompile.importers.sklearn.structure import Raw, Structure
from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.errors import DataError

LARGEST = float_info.max
AROUND = 40  # doubles on each side of an edge that are tried
USUAL = 1.0  # a number for the columns that are not probed
MOST_POINTS = 63  # between two doubles that are asked at once
ROWS = 20_000  # to ask in one call


@dataclass(frozen=True, slots=True)
class Test:
    """A test of the tree: z <= limit goes left, and a missing z where it says."""

    column: int  # of the transformed columns
    limit: float
    missing_left: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Which numbers go left: the line in pieces, each up to its end."""

    ends: tuple[float, ...]  # the last is inf
    lefts: tuple[bool, ...]  # neighbours differ
    missing: bool  # whether a missing value goes left


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which categories go left."""

    categories: tuple[Any, ...]
    unseen: bool | None  # None: the pipeline refuses unseen categories
    missing: bool | None


Side = Line | Chosen


class Piece(NamedTuple):
    """A part of the line of a raw column, to be searched for a test's edge."""

    test: int
    source: int
    low: float
    high: float


class Probe:
    """Runs the preprocessing of a pipeline on made-up rows."""

    def __init__(self, structure: Structure, steps: Sequence[Any], named: bool) -> None:
        self.structure = structure
        self.steps = steps
        self.named = named  # fitted on a frame
        self.names = [raw.name for raw in structure.raw]

    def transformed(self, changed: dict[int, Sequence[Any]], rows: int) -> Floats:
        """The transformed columns of rows that differ in some raw columns."""
        data = {}
        for place, raw in enumerate(self.structure.raw):
            values = changed.get(place)
            if values is None:
                values = [_usual(raw)] * rows
            data[raw.name] = pd.Series(values, dtype=object if raw.encoder else float)
        frame: Any = pd.DataFrame(data, columns=self.names)
        if not self.named:
            frame = frame.to_numpy()
        with quietly():
            for step in self.steps:
                if step is not None and step != "passthrough":
                    frame = step.transform(frame)
        if hasattr(frame, "toarray"):
            frame = frame.toarray()
        found: Floats = np.asarray(frame, dtype=np.float64)
        if found.shape[1] != len(self.structure.columns):
            raise DataError(
                f"the preprocessing makes {found.shape[1]} columns, and"
                f" {len(self.structure.columns)} were expected: a FunctionTransformer"
                " must keep the number of columns"
            )
        return found

    def sides(self, tests: Sequence[Test]) -> list[Side]:
        """Which raw values go left at each test."""
        found: dict[int, Side] = {}
        lines: dict[int, list[int]] = {}
        for place, test in enumerate(tests):
            source = self.structure.columns[test.column].source
            if not self.structure.raw[source].encoder:
                lines.setdefault(source, []).append(place)
        found |= self._chosen(tests)
        found |= self._lines(tests, lines)
        return [found[place] for place in range(len(tests))]

    # ------------------------------------------------------------ categories

    def _chosen(self, tests: Sequence[Test]) -> dict[int, Chosen]:
        found = {}
        known: dict[int, dict[str, Floats | None]] = {}
        for place, test in enumerate(tests):
            source = self.structure.columns[test.column].source
            raw = self.structure.raw[source]
            if not raw.encoder:
                continue
            if source not in known:
                known[source] = self._values(source, raw)
            values = known[source]
            listed = values["known"]
            assert listed is not None
            lefts = goes_left(test, listed[:, test.column])
            taken = [c for c, left in zip(raw.categories, lefts, strict=True) if left]
            unseen, missing = (
                (
                    None
                    if (rows := values[what]) is None
                    else bool(goes_left(test, rows[:, test.column])[0])
                )
                for what in ("unseen", "missing")
            )
            found[place] = Chosen(tuple(taken), unseen, missing)
        return found

    def _values(self, source: int, raw: Raw) -> dict[str, Floats | None]:
        """The transformed categories of a column, and what is not one of them."""
        known = list(raw.categories)
        unseen = self._attempt(source, _unseen(known))
        if raw.knows_none and raw.knows_nan:
            raise DataError(
                f"cannot fold the {raw.encoder} of {raw.name!r}: it tells None from"
                " NaN, and both mean missing here: use one of them"
            )
        missing = self._attempt(source, None if raw.knows_none else float("nan"))
        return {
            "known": self.transformed({source: known}, len(known)),
            "unseen": unseen,
            "missing": missing,
        }

    def _attempt(self, source: int, value: Any) -> Floats | None:
        """The transformed value; None if the pipeline refuses it."""
        try:
            return self.transformed({source: [value]}, 1)
        except (TypeError, ValueError):
            return None

    # ------------------------------------------------------------ numbers

    def _lines(
        self, tests: Sequence[Test], lines: dict[int, list[int]]
    ) -> dict[int, Line]:
        """Which numbers go left; `lines` has the tests of each numeric column."""
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
            missing = self._attempt(source, float("nan"))
            for place in places:
                column = tests[place].column
                is_left = tests[place].missing_left
                if missing is not None:
                    is_left = bool(goes_left(tests[place], missing[0, column]))
                found[place] = _joined(parts[place], is_left)
        self._prove(tests, lines, found, domains)
        return found

    def _domain(self, source: int) -> tuple[float, float]:
        """The least and the greatest double that the pipeline transforms.

        All doubles, except for transformers that refuse some, as Box-Cox does those up
        to 0. A number outside goes where the nearest one inside goes.
        """

        def accepted(value: float) -> bool:
            return self._attempt(source, value) is not None

        inside = next((x for x in (USUAL, 0.5, 0.0, -1.0) if accepted(x)), None)
        if inside is None:
            raw = self.structure.raw[source]
            raise DataError(
                f"cannot fold {raw.name!r}: the pipeline refuses every number that was"
                " tried: leave the column out"
            )
        ends = []
        for end in (-LARGEST, LARGEST):
            if accepted(end):
                ends.append(end)
                continue
            good, bad = _ordinal(inside), _ordinal(end)
            while abs(good - bad) > 1:
                middle = (good + bad) // 2
                if accepted(_double(middle)):
                    good = middle
                else:
                    bad = middle
            ends.append(_double(good))
        return ends[0], ends[1]

    def _holes(self, domains: dict[int, tuple[float, float]]) -> dict[int, set[float]]:
        """Where a transformed number begins or ceases to exist, as log(x) at 0."""
        gaps: list[int] = []
        low: list[int] = []
        high: list[int] = []
        states = []
        origins = np.array([column.source for column in self.structure.columns])
        for source, (least, greatest) in domains.items():
            inner = (v for v in _spread() if least < v < greatest)
            tried = sorted({least, greatest, *inner})
            known = ~np.isnan(self.transformed({source: tried}, len(tried)))
            for place in np.flatnonzero((known[1:] != known[:-1]).any(axis=1)):
                gaps.append(source)
                low.append(_ordinal(tried[place]))
                high.append(_ordinal(tried[place + 1]))
                states.append(known[place])

        def is_as_low(places: Positions, ordinals: list[int]) -> Mask:
            rows = self._at([gaps[place] for place in places], ordinals)
            is_same = ~np.isnan(rows) == np.array(states)[places]
            # A row probes other raw columns, too: only its own say something.
            is_other = origins != np.array(gaps)[places, None]
            found: Mask = (is_same | is_other).all(axis=1)
            return found

        _narrow(low, high, list(range(len(gaps))), is_as_low)
        found: dict[int, set[float]] = {source: set() for source in domains}
        for source, end in zip(gaps, low, strict=True):
            found[source].add(_double(end))
        return found

    def _pieces(
        self, source: int, domain: tuple[float, float], holes: set[float]
    ) -> list[tuple[float, float]]:
        """The line in pieces on each of which the transformation is monotone."""
        raw = self.structure.raw[source]
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
        """Each piece as one or two: their ends, and whether they go left."""
        low = [_ordinal(piece.low) for piece in pieces]
        high = [_ordinal(piece.high) for piece in pieces]

        def lefts(places: Positions, ordinals: list[int]) -> Mask:
            chosen = [pieces[place] for place in places]
            rows = self._at([piece.source for piece in chosen], ordinals)
            own = [tests[piece.test] for piece in chosen]
            z = rows[np.arange(len(own)), [test.column for test in own]]
            limits = np.array([test.limit for test in own])
            found: Mask = np.where(
                np.isnan(z), [test.missing_left for test in own], z <= limits
            )
            return found

        every = np.arange(len(pieces))
        first, last = lefts(every, low), lefts(every, high)
        _narrow(
            low,
            high,
            np.flatnonzero(first != last).tolist(),
            lambda places, ordinals: lefts(places, ordinals) == first[places],
        )
        return [
            (
                [(piece.high, begins)]
                if begins == ends
                else [(_double(end), begins), (piece.high, ends)]
            )
            for piece, end, begins, ends in zip(
                pieces, low, first.tolist(), last.tolist(), strict=True
            )
        ]

    def _at(self, sources: Sequence[int], ordinals: Sequence[int]) -> Floats:
        """The transformed row of each double of a raw column.

        Columns do not depend on each other, so one row probes a value of each.
        """
        columns: dict[int, list[float]] = {}
        rows = []
        for source, ordinal in zip(sources, ordinals, strict=True):
            own = columns.setdefault(source, [])
            rows.append(len(own))
            own.append(_double(ordinal))
        count = max(map(len, columns.values()))
        for own in columns.values():
            own += [own[-1]] * (count - len(own))
        return self.transformed(dict(columns), count)[rows]

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
            tried = sorted(
                {
                    value
                    for place in places
                    for end in found[place].ends[:-1]
                    for value in _neighbours(end)
                    if low <= value <= high
                }
                | {v for v in _spread() if low <= v <= high}
            )
            values = np.array(tried)
            got = self.transformed({source: tried}, len(tried))
            for place in places:
                test, line = tests[place], found[place]
                said = np.array(line.lefts)[np.searchsorted(line.ends, values)]
                wrong = np.flatnonzero(goes_left(test, got[:, test.column]) != said)
                if len(wrong):
                    raw = self.structure.raw[source]
                    way = " and ".join(self.structure.columns[test.column].through)
                    raise DataError(
                        f"cannot fold the {way} of {raw.name!r}: it is not monotone"
                        f" near {values[wrong[0]]!r}: leave it out of the pipeline"
                    )


def _narrow(
    low: list[int],
    high: list[int],
    places: Sequence[int],
    is_as_low: Callable[[Positions, list[int]], Mask],
) -> None:
    """Move `low` and `high` together, until they are neighbours.

    `is_as_low` tells which doubles are on the side of their `low`. Many are asked at
    once: the cost of a question is mostly that of a call.
    """
    while places := [place for place in places if high[place] - low[place] > 1]:
        points = min(MOST_POINTS, max(1, ROWS // len(places)))
        tried = [
            [
                low[place] + (high[place] - low[place]) * step // (points + 1)
                for step in range(1, points + 1)
            ]
            for place in places
        ]
        asked = np.repeat(np.array(places, dtype=np.intp), points)
        same = is_as_low(asked, [each for own in tried for each in own])
        for place, own, sides in zip(
            places, tried, same.reshape(-1, points).tolist(), strict=True
        ):
            turn = sides.index(False) if False in sides else points
            if turn:
                low[place] = own[turn - 1]
            if turn < points:
                high[place] = own[turn]


def goes_left(test: Test, z: Any) -> Mask:
    """Whether transformed numbers go left."""
    found: Mask = np.where(np.isnan(z), test.missing_left, z <= test.limit)
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings about strange values, and without refusing infinite ones."""
    from sklearn import config_context

    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True),
    ):
        warnings.simplefilter("ignore")
        yield


def _usual(raw: Raw) -> Any:
    if raw.encoder:
        return next(iter(raw.categories), "")
    return USUAL


def _unseen(known: Sequence[Any]) -> Any:
    """A category that is none of the known ones, of their type."""
    if all(isinstance(each, str) for each in known):
        return "?" * (max(map(len, known), default=0) + 1)
    if all(isinstance(each, bool) for each in known):
        return 2
    return max(known) + 1


def _joined(parts: Sequence[tuple[float, bool]], missing: bool) -> Line:
    """Neighbouring parts that go the same way become one."""
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


def _neighbours(value: float) -> list[float]:
    """The doubles around one."""
    middle = _ordinal(value)
    return [
        _double(middle + step)
        for step in range(-AROUND, AROUND + 1)
        if abs(middle + step) <= _ordinal(LARGEST)
    ]


def _spread() -> list[float]:
    """Numbers of all sizes."""
    sizes = [m * 10.0**e for e in range(-6, 10) for m in (1.0, 2.5, 7.0)]
    return [0.0, *sizes, *(-size for size in sizes)]


# Doubles by their place in the order of all doubles: 0 is at 0.


def _ordinal(value: float) -> int:
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _double(ordinal: int) -> float:
    size = float(np.int64(abs(ordinal)).view(np.float64))
    return -size if ordinal < 0 else size
