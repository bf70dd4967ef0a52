"""Knows what the model says about rows: every output that an artefact can have.

The rows are decided over whole columns, by `batch`. On a sample of the rows, or on all
if they are few, it is checked that `semantics` decides them in the same way row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, nan
from typing import Any

import numpy as np

from treecompile.model import batch, ir
from treecompile.model.arrays import Array
from treecompile.model.paths import depth, outcomes
from treecompile.model.semantics import (
    conditions,
    decider,
    places,
    predict,
    probabilities,
    required_features,
)
from treecompile.verify.claims import Wanted
from treecompile.verify.constants import as_double

CHECKED = 2000  # rows of each run that are decided row by row as well
LEAST_CHECKED = 50
TESTS = 200_000  # tests for all rows that are decided one by one


class Reference:
    """Knows the answers of a model: the outputs named in `wanted`, in that order."""

    def __init__(self, program: ir.Program, wanted: Wanted = ()) -> None:
        self.body = program.body
        self.wanted = wanted
        self.known = {
            cell: self._said(rule) for cell, rule in outcomes(self.body).items()
        }
        self.entered: set[int] = set()  # cells that `judge` has met

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[tuple[object, ...]]:
        """Yield what the artefact must say about each row."""
        columns = encoded(self.body, rows)
        cells = batch.deciders(self.body, columns, len(rows)).tolist()
        self.entered.update(cells)
        step = max(1, ceil(len(rows) / self._most_checked()))
        for place, (row, cell) in enumerate(zip(rows, cells, strict=True)):
            if place % step == 0 and self.cell(row) != cell:
                raise AssertionError(f"batch and semantics differ on {row!r}")
            yield self.known[cell]

    def answers(self, rows: Sequence[ir.Row]) -> list[ir.Label]:
        """Return the model's answer to each row."""
        return [predict(self.body, row) for row in rows]

    def _most_checked(self) -> int:
        """Return how many rows can be decided row by row in little time."""
        if isinstance(self.body, ir.RuleSet):
            tests = sum(1 for _ in conditions(self.body))
        else:
            tests = depth(self.body)
        return max(LEAST_CHECKED, min(CHECKED, TESTS // max(1, tests)))

    def cell(self, row: ir.Row) -> int:
        return decider(self.body, row)

    def answer(self, cell: int) -> tuple[object, ...]:
        return self.known[cell]

    def _said(self, rule: ir.Rule) -> tuple[object, ...]:
        """Return the outputs of a rule."""
        shares = _shares(rule)

        def part(output: str, place: int | None) -> object:
            if output != "probability":
                return rule.value if output == "label" else rule.id
            return shares[
                self.body.labels.index(rule.value) if place is None else place
            ]

        return tuple(part(*each) for each in self.wanted)


def _shares(rule: ir.Rule) -> tuple[float, ...]:
    """Return the probability of each label; () for a regression."""
    return probabilities(rule.stats) if isinstance(rule.stats, ir.ClassCounts) else ()


def encoded(body: ir.AnyBody, rows: Sequence[ir.Row]) -> list[Array | None]:
    """Return columns of doubles and codes for `batch`; None where no test reads one."""
    columns: list[Array | None] = [None] * len(body.features)
    for index in required_features(body):
        feature = body.features[index]
        values: list[Any] = [row[index] for row in rows]
        if feature.kind is ir.Kind.NUMERIC:
            columns[index] = _doubles(values)
        else:
            other = len(feature.categories)
            codes: dict[Any, int] = {None: -1, **places(feature.categories)}
            found = [codes.get(value, other) for value in values]
            columns[index] = np.array(found, dtype=np.intp)
    return columns


def _doubles(values: list[Any]) -> Array:
    try:
        return np.array(values, dtype=np.float64)  # None becomes NaN
    except OverflowError:  # an integer beyond all doubles
        return np.array([nan if v is None else as_double(v) for v in values])
