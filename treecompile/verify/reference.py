"""Knows what the model says about rows: every output that an artefact can have.

A tree that divides unknown values is seen as a tree in which each division is a cell
(see `model.paths`); the answer to a divided row is computed for that row.

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
from treecompile.model.paths import (
    DIVIDED,
    depth,
    divisible,
    exposed,
    outcomes,
    settled,
)
from treecompile.model.semantics import (
    conditions,
    decider,
    distribution,
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
TOGETHER = 1 << 22  # rows x nodes that are divided at a time, to bound the memory


class Reference:
    """Knows the answers of a model: the outputs named in `wanted`, in that order."""

    def __init__(self, program: ir.Program, wanted: Wanted = ()) -> None:
        self.model = settled(program.body)
        self.wanted = wanted
        self.body: ir.Body = self.model  # the body whose cells are counted
        decided = outcomes(self.model)
        if isinstance(self.model, ir.Tree) and divisible(self.model):
            self.body, decided = exposed(self.model)
        self.divided = {cell for cell, rule in decided.items() if rule.id == DIVIDED}
        self.known = {
            cell: self._parts(rule.value, rule.id, _shares(rule))
            for cell, rule in decided.items()
            if cell not in self.divided
        }
        self.entered: set[int] = set()  # cells that `judge` has met
        self.divided_rows = 0  # how many `judge` has met

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[tuple[object, ...]]:
        """Yield what the artefact must say about each row."""
        columns = encoded(self.body, rows)
        cells = batch.deciders(self.body, columns, len(rows)).tolist()
        self.entered.update(cells)
        divided = [place for place, cell in enumerate(cells) if cell in self.divided]
        self.divided_rows += len(divided)
        shares = self._shares_of([rows[place] for place in divided])
        step = max(1, ceil(len(rows) / self._most_checked()))
        for place, (row, cell) in enumerate(zip(rows, cells, strict=True)):
            if cell in self.divided:
                said = self._divided(next(shares))
            else:
                said = self.known[cell]
            if place % step == 0 and repr(self.expected(row, self.cell(row))) != repr(
                said
            ):
                raise AssertionError(f"batch and semantics differ on {row!r}")
            yield said

    def answers(self, rows: Sequence[ir.Row]) -> list[ir.Label]:
        """Return the model's answer to each row."""
        return [predict(self.model, row) for row in rows]

    def _most_checked(self) -> int:
        """Return how many rows can be decided row by row in little time."""
        if isinstance(self.model, ir.RuleSet):
            tests = sum(1 for _ in conditions(self.model))
        elif self.divided:
            tests = len(self.model.nodes)
        else:
            tests = depth(self.model)
        return max(LEAST_CHECKED, min(CHECKED, TESTS // max(1, tests)))

    def _shares_of(self, rows: Sequence[ir.Row]) -> Iterator[tuple[float, ...]]:
        """Yield `semantics.distribution` for each of the divided rows."""
        if not rows:
            return
        assert isinstance(self.model, ir.Tree)
        size = max(1, TOGETHER // len(self.model.nodes))
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            columns = encoded(self.model, some)
            found = batch.distributions(self.model, columns, len(some))
            yield from map(tuple, found.tolist())

    def cell(self, row: ir.Row) -> int:
        return decider(self.body, row)

    def answer(self, cell: int) -> object:
        """Return the answer of a cell; cells of divided rows all count as different."""
        return cell if cell in self.divided else self.known[cell]

    def expected(self, row: ir.Row, cell: int) -> tuple[object, ...]:
        """Return the answer to a row of a cell."""
        if cell not in self.divided:
            return self.known[cell]
        assert isinstance(self.model, ir.Tree)
        return self._divided(distribution(self.model, row))

    def _divided(self, shares: tuple[float, ...]) -> tuple[object, ...]:
        if not self.model.labels:
            return self._parts(shares[0], DIVIDED, ())
        value = self.model.labels[shares.index(max(shares))]
        return self._parts(value, DIVIDED, shares)

    def _parts(
        self, value: ir.Label, rule: str, shares: tuple[float, ...]
    ) -> tuple[object, ...]:
        def part(output: str, place: int | None) -> object:
            if output != "probability":
                return value if output == "label" else rule
            return shares[self.model.labels.index(value) if place is None else place]

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
