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

from treecompile.emit.sql.outputs import Asked
from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    decider,
    places,
    probabilities,
    required_features,
)
from treecompile.verify.axes import as_double

CHECKED = {ir.Tree: 2000, ir.RuleSet: 200}  # rows of each run, at most

Said = tuple[Any, ...]  # the outputs for a row


class Reference:
    """Knows the answers of a model: the outputs named in `wanted`, in that order."""

    def __init__(
        self, body: ir.AnyBody, wanted: Sequence[Asked] = (Asked("label"),)
    ) -> None:
        self.body, self.wanted = body, wanted
        self.known: dict[int, Said] = {}  # by the position that decides
        # What `judge` has met: positions; in a forest, after the number of their tree.
        self.entered: set[Any] = set()
        if not isinstance(body, ir.Forest):
            rules = outcomes(body).items()
            self.known = {position: self._said(rule) for position, rule in rules}

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[Said]:
        """Yield what the artefact must say about each row."""
        columns = encoded(self.body, rows)
        if isinstance(self.body, ir.Forest):
            leaves = batch.leaves_of(self.body, columns, len(rows))
            for number, met in enumerate(leaves):
                self.entered.update((number, leaf) for leaf in np.unique(met).tolist())
            for margins in batch.margins(self.body, columns, len(rows)).tolist():
                yield tuple(_said(self.body, margins, each) for each in self.wanted)
            return
        deciders = batch.deciders(self.body, columns, len(rows)).tolist()
        self.entered.update(deciders)
        step = max(1, ceil(len(rows) / CHECKED[type(self.body)]))
        for row, position in zip(rows[::step], deciders[::step], strict=True):
            if decider(self.body, row) != position:
                raise AssertionError(f"batch and semantics differ on {row!r}")
        yield from map(self.known.__getitem__, deciders)

    def _said(self, rule: ir.Rule) -> Said:
        labels, stats = self.body.labels, rule.stats
        shares = probabilities(stats) if isinstance(stats, ir.ClassCounts) else ()

        def part(asked: Asked) -> object:
            if asked.output != "probability":
                return rule.value if asked.output == "label" else rule.id
            own = labels.index(rule.value) if asked.label is None else asked.label
            return shares[own]

        return tuple(map(part, self.wanted))


def encoded(body: ir.AnyBody, rows: Sequence[ir.Row]) -> list[Array | None]:
    """Return columns of doubles and codes for `batch`; None where no test reads one."""
    columns: list[Array | None] = [None] * len(body.features)
    for index in required_features(body):
        feature = body.features[index]
        values: list[Any] = [row[index] for row in rows]
        if feature.kind is ir.Kind.NUMERIC:
            doubles = (nan if value is None else as_double(value) for value in values)
            columns[index] = np.fromiter(doubles, np.float64, len(values))
        else:
            codes: dict[Any, int] = {None: -1, **places(feature.categories)}
            found = [codes.get(value, len(feature.categories)) for value in values]
            columns[index] = np.array(found, dtype=np.intp)
    return columns


# ---------------------------------------------------------------- forests

# By how many units in the last place an engine may err in `exp` and the steps after it;
# the digits of a number, and the exponent of the least one.
PRECISION = {ir.Arithmetic.SINGLE: (1, 24, -149), ir.Arithmetic.DOUBLE: (8, 53, -1074)}


@dataclass(frozen=True, slots=True)
class Nearly:
    """A number that depends on how an engine computes `exp`."""

    number: float
    error: float  # at most

    def __repr__(self) -> str:
        return repr(self.number)

    def is_met_by(self, found: object) -> bool:
        if type(found) is not float or not isfinite(found):
            return found == self.number
        return abs(found - self.number) <= self.error


def nearly(forest: ir.Forest, number: float, other: float = 0.0) -> Nearly:
    """Allow for an error; of a number that is 1 minus another, in that one's digits."""
    units, digits, least = PRECISION[forest.arithmetic]
    _, exponent = frexp(max(number, other, key=abs))
    return Nearly(number, units * ldexp(1.0, max(exponent - digits, least)))


def _said(forest: ir.Forest, margins: Sequence[float], asked: Asked) -> object:
    """Return one output for a row of a forest, from its margins."""
    place, other = asked.label, 0.0
    if asked.output == "margin":
        return max(margins) if place is None else margins[place]
    if asked.output == "label" and forest.labels:
        return forests.answer(forest, margins)
    if asked.output == "label":
        number = forests.linked(forest, margins)[0]
    else:
        own = forests.place_of_label(forest, margins) if place is None else place
        number = forests.probabilities(forest, margins)[own]
        other = 1 - number if own == 0 and len(margins) == 1 else 0.0
    return number if forests.is_exact(forest) else nearly(forest, number, other)
