"""Labels whose rows may be divided: C4.5's cases in a database.

A case that is divided weighs a part of 1. Weights are whole numbers of a unit, a small
power of two, so that their sums are the same in whatever order a database adds them.
"""

from __future__ import annotations

import numpy as np

from treecompile.in_database.answers import LabelAnswers
from treecompile.in_database.bounds import entropy_bound
from treecompile.in_database.schema import Schema
from treecompile.learners.c45_level import Scale
from treecompile.learners.criteria import MEASURES
from treecompile.learners.stretches import Array
from treecompile.stores.base import Store

WEIGHT, BORN = "u", "born"  # columns: in units, and the depth where the part came up


class CaseAnswers(LabelAnswers):
    """The weights of each label, in units; of whole cases, how many there are."""

    def __init__(self, store: Store, schema: Schema, *, is_divided: bool) -> None:
        super().__init__(store, schema, MEASURES["entropy"], entropy_bound)
        self.is_divided = is_divided
        self.scale = Scale.of_size(schema.rows, is_divided=is_divided)

    @property
    def unit(self) -> float:
        return self.scale.unit

    def columns(self) -> list[str]:
        columns = super().columns()
        if self.is_divided:
            long = self.store.phrases.long
            columns.append(f"CAST({round(1 / self.unit)} AS {long}) AS {WEIGHT}")
            columns.append(f"CAST(0 AS INTEGER) AS {BORN}")
        return columns

    def asked(self, *, is_bounded: bool) -> list[str]:
        return [self.weight()]

    def root(self, rows: str) -> Array:
        return self.at_nodes(rows, 1)

    def at_nodes(self, rows: str, nodes: int) -> Array:
        """The weights of so many open nodes; `rows` is what stands behind FROM."""
        node, y, weight = self.store.arrays(
            f"SELECT node, y, {self.weight()} FROM {rows} WHERE node >= 0"
            " GROUP BY node, y"
        )
        weights = np.zeros((nodes, self.groups), np.int64)
        weights[node.astype(np.intp), y.astype(np.intp)] = weight
        return weights

    def weight(self) -> str:
        """The weight of rows."""
        if not self.is_divided:
            return "count(*)"
        return f"CAST(sum({WEIGHT}) AS {self.store.phrases.long})"
