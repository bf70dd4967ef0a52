"""Knows what the model says about rows: every output that an artefact can have.

The rows are decided over whole columns, by `batch`. On a sample of the rows, or on all
if they are few, it is checked that `semantics` decides them in the same way row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, frexp, isfinite, ldexp, nan
from typing import Any

import numpy as np

from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array
from treecompile.model.paths import depth, outcomes
from treecompile.model.semantics import (
    conditions,
    decider,
    places,
    probabilities,
    required_features,
)
from treecompile.verify.claims import Wanted
from treecompile.verify.constants import as_double

CHECKED = 2000  # rows of each run that are decided row by row as well
LEAST_CHECKED = 50
TESTS = 200_000  # tests for all rows that are decided one by one
LABEL: Wanted = [("label", None)]

Said = tuple[Any, ...]  # the outputs for a row


class Reference:
    """Knows the answers of a tree or of rules: the outputs named in `wanted`."""

    def __init__(self, body: ir.Body, wanted: Wanted = LABEL) -> None:
        self.body, self.wanted = body, wanted
        self.known = {cell: self._said(rule) for cell, rule in outcomes(body).items()}
        self.entered: set[Any] = set()  # cells that `judge` has met
        tests = depth(body)
        if isinstance(body, ir.RuleSet):
            tests = sum(1 for _ in conditions(body))
        self.checked = max(LEAST_CHECKED, min(CHECKED, TESTS // max(1, tests)))

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[Said]:
        """Yield what the artefact must say about each row."""
        columns = encoded(self.body, rows)
        cells = batch.deciders(self.body, columns, len(rows)).tolist()
        self.entered.update(cells)
        step = max(1, ceil(len(rows) / self.checked))
        for place, (row, cell) in enumerate(zip(rows, cells, strict=True)):
            if place % step == 0 and decider(self.body, row) != cell:
                raise AssertionError(f"batch and semantics differ on {row!r}")
            yield self.known[cell]

    def _said(self, rule: ir.Rule) -> Said:
        shares: tuple[float, ...] = ()
        if isinstance(rule.stats, ir.ClassCounts):
            shares = probabilities(rule.stats)

        def part(output: str, place: int | None) -> object:
            if output != "probability":
                return rule.value if output == "label" else rule.id
            return shares[
                self.body.labels.index(rule.value) if place is None else place
            ]

        return tuple(part(*each) for each in self.wanted)


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


# ---------------------------------------------------------------- forests

# By how many units in the last place an engine may err in `exp` and the steps after it.
UNITS = {ir.Arithmetic.SINGLE: 1, ir.Arithmetic.DOUBLE: 8}
DIGITS = {ir.Arithmetic.SINGLE: (24, -149), ir.Arithmetic.DOUBLE: (53, -1074)}


@dataclass(frozen=True, slots=True)
class Nearly:
    """A number that depends on how an engine computes `exp`."""

    number: float
    arithmetic: ir.Arithmetic
    taken_from_1: bool = False  # it is 1 minus the other share, with its last digits

    def __repr__(self) -> str:
        return repr(self.number)

    def is_met_by(self, found: object) -> bool:
        if type(found) is not float or not isfinite(found):
            return found == self.number
        bits, least = DIGITS[self.arithmetic]
        largest = max(self.number, 1 - self.number) if self.taken_from_1 else 0.0
        _, exponent = frexp(largest or self.number)
        step = ldexp(1.0, max(exponent - bits, least))
        return abs(found - self.number) <= UNITS[self.arithmetic] * step


class ForestReference:
    """Knows the answers of a forest: the outputs named in `wanted`, in that order."""

    def __init__(self, forest: ir.Forest, wanted: Wanted = LABEL) -> None:
        self.body, self.wanted = forest, wanted
        self.entered: set[Any] = set()  # leaves, each after the number of its tree

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[Said]:
        """Yield what the artefact must say about each row."""
        forest = self.body
        columns = encoded(forest, rows)
        for number, leaves in enumerate(batch.leaves_of(forest, columns, len(rows))):
            self.entered.update((number, leaf) for leaf in np.unique(leaves).tolist())
        for found in batch.margins(forest, columns, len(rows)).tolist():
            yield tuple(self._part(found, *each) for each in self.wanted)

    def _part(self, margins: Sequence[float], output: str, place: int | None) -> object:
        forest = self.body
        if output == "margin":
            return max(margins) if place is None else margins[place]
        if output == "label" and forest.labels:
            return forests.answer(forest, margins)
        taken_from_1 = False
        if output == "label":
            number = forests.linked(forest, margins)[0]
        else:
            own = forests.place_of_label(forest, margins) if place is None else place
            number = forests.probabilities(forest, margins)[own]
            taken_from_1 = own == 0 and len(margins) == 1
        if forests.is_exact(forest):
            return number
        return Nearly(number, forest.arithmetic, taken_from_1)


def reference_of(
    body: ir.AnyBody, wanted: Wanted = LABEL
) -> Reference | ForestReference:
    """Return the reference that knows what the artefacts of a model must answer."""
    if isinstance(body, ir.Forest):
        return ForestReference(body, wanted)
    return Reference(body, wanted)
