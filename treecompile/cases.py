"""Rows with known answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns
from treecompile.bits import ConditionBits
from treecompile.ir import Body, ClassCounts, Label, Moments, Stats

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Columns as `data.encode` makes them, and an answer for every row.

    A row may stand for many that no condition in question tells apart. Of numbers it
    then has their mean, and `spread` what their squares differ from it in sum.
    """

    columns: Columns
    y: NDArray[Any]  # codes into the labels, or doubles
    counts: Doubles | None = None  # the rows that each stands for; None: itself
    spread: Doubles | None = None

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def total(self) -> int:
        """The rows that all stand for."""
        return self.rows if self.counts is None else int(self.counts.sum())

    def amount(self, mask: NDArray[np.bool_]) -> int:
        """The rows that some stand for."""
        return int(mask.sum() if self.counts is None else self.counts[mask].sum())

    def amount_at(self, places: NDArray[np.intp]) -> int:
        """The same, by their places."""
        return len(places) if self.counts is None else int(self.counts[places].sum())

    def by_label(self, mask: NDArray[np.bool_], labels: int) -> NDArray[Any]:
        """How many of some have each label."""
        counts = None if self.counts is None else self.counts[mask]
        return np.bincount(self.y[mask], counts, minlength=labels)

    def bits(self, body: Body) -> ConditionBits:
        return ConditionBits(body.features, self.columns, self.rows)

    def errors(self, value: Label, body: Body) -> Doubles:
        """What an answer costs on each row: 1 if wrong, or the squared difference."""
        if body.labels:
            costs = np.asarray(self.y != body.labels.index(value), np.float64)
        else:
            assert isinstance(value, float)
            costs = np.asarray((self.y - value) ** 2, np.float64)
        if self.counts is not None:
            costs = costs * self.counts
        return costs if self.spread is None else costs + self.spread

    def stats(self, mask: NDArray[np.bool_], body: Body) -> Stats | None:
        """What the answers of some rows are like; None if there are none."""
        answers = self.y[mask]
        if not len(answers):
            return None
        if body.labels:
            counts = self.by_label(mask, len(body.labels))
            return ClassCounts(tuple(map(float, counts)))
        own = None if self.counts is None else self.counts[mask]
        if own is None:
            mean = float(answers.mean())
            squares = float(((answers - mean) ** 2).sum())
            return Moments(float(len(answers)), mean, squares)
        weight = float(own.sum())
        mean = float((answers * own).sum()) / weight
        squares = float((own * (answers - mean) ** 2).sum())
        if self.spread is not None:
            squares += float(self.spread[mask].sum())
        return Moments(weight, mean, squares)


def known_cases(columns: Columns, y: NDArray[Any], body: Body) -> Cases:
    """The rows whose answer is there, and a label that the model knows."""
    known = (y >= 0) & (y < len(body.labels)) if body.labels else ~np.isnan(y)
    if known.all():
        return Cases(columns, y)
    kept = [None if column is None else column[known] for column in columns]
    return Cases(kept, y[known])
