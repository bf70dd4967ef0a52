"""Finds what the preprocessing makes of values, by asking the transformers.

A test `z <= t` of the tree is about a transformed number z. Of a categorical column,
every known category, an unseen one and a missing one are transformed and compared.
`lines` does the same for numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from treecompile.importers.sklearn.structure import RawColumn, Structure
from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.errors import DataError

USUAL = 1.0  # a number for the columns that are not probed


@dataclass(frozen=True, slots=True)
class Test:
    """A test of the tree: z <= limit goes left, and a missing z where it says.

    A test of codes has a tuple instead of a limit: these go left, or all others do.
    """

    column: int  # its place among the transformed columns
    limit: float | tuple[float, ...]
    missing_left: bool  # and all other codes


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


class Probe:
    """Runs the preprocessing of a pipeline on made-up rows."""

    def __init__(self, structure: Structure, steps: Sequence[Any], named: bool) -> None:
        self.structure = structure
        self.steps = steps
        self.named = named  # fitted on a frame
        self.names = [raw.name for raw in structure.raw]

    def transformed(
        self, changed: Mapping[int, Sequence[Any] | Floats], rows: int
    ) -> Floats:
        """Return the transformed columns of rows that differ in some raw columns."""
        data = {}
        for place, raw in enumerate(self.structure.raw):
            values: Any = changed.get(place)
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

    def at(self, sources: Positions, values: Floats) -> Floats:
        """Return the transformed row of each value of a raw column.

        Columns do not depend on each other, so one row probes a value of each.
        """
        columns: dict[int, Floats] = {}
        rows = np.empty(len(sources), dtype=np.intp)
        count = int(np.bincount(sources).max())
        for source in np.unique(sources).tolist():
            places = np.flatnonzero(sources == source)
            rows[places] = np.arange(len(places))
            columns[source] = np.resize(values[places], count)
        return self.transformed(columns, count)[rows]

    # ------------------------------------------------------------ categories

    def chosen(self, tests: Sequence[Test]) -> dict[int, Chosen]:
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

    def _values(self, source: int, raw: RawColumn) -> dict[str, Floats | None]:
        """Transform the categories of a column, an unseen value and a missing one."""
        known = list(raw.categories)
        unseen = self.attempt(source, _unseen(known))
        if raw.knows_none and raw.knows_nan:
            raise DataError(
                f"cannot fold the {raw.encoder} of {raw.name!r}: it tells None from"
                " NaN, and both mean missing here: use one of them"
            )
        missing = self.attempt(source, None if raw.knows_none else float("nan"))
        return {
            "known": self.transformed({source: known}, len(known)),
            "unseen": unseen,
            "missing": missing,
        }

    def attempt(self, source: int, value: Any) -> Floats | None:
        """Return the transformed value; None if the pipeline refuses it."""
        try:
            return self.transformed({source: [value]}, 1)
        except (TypeError, ValueError):
            return None


def goes_left(test: Test, z: Any) -> Mask:
    """Whether transformed numbers go left."""
    if isinstance(test.limit, tuple):
        chosen: Mask = np.isin(z, test.limit, invert=test.missing_left)
        return chosen
    found: Mask = np.where(np.isnan(z), test.missing_left, z <= test.limit)
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Silence warnings about strange values, and let infinite ones pass."""
    from sklearn import config_context

    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True),
    ):
        warnings.simplefilter("ignore")
        yield


def _usual(raw: RawColumn) -> Any:
    if raw.encoder:
        return next(iter(raw.categories), "")
    return USUAL


def _unseen(known: Sequence[Any]) -> Any:
    """Return a category that is none of the known ones, of their type."""
    if all(isinstance(each, str) for each in known):
        return "?" * (max(map(len, known), default=0) + 1)
    if all(isinstance(each, bool) for each in known):
        return 2
    return max(known) + 1
