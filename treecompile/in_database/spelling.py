"""How numbers and lists are written in the queries for one database."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from treecompile.literals import DOUBLES
from treecompile.stores.base import Store


class Spelling:
    def __init__(self, store: Store) -> None:
        self.phrases, self.dialect = store.phrases, store.dialect
        self.double = DOUBLES[store.dialect.literals.double]  # of finite numbers

    def number(self, value: float) -> str:
        if isfinite(value):
            return self.double(value)
        sign = "-" if value < 0 else ""
        return f"CAST('{sign}Infinity' AS {self.dialect.types.number})"

    def small(self, size: int) -> str:
        """A type for the codes up to a size."""
        return self.phrases.byte if size < 256 else "INTEGER"

    def item(self, values: Iterable[str], place: str) -> str:
        """The value at a place, counted from 1, of values that stand in the query."""
        listed = self.phrases.list.format(", ".join(values))
        return self.phrases.item.format(list=listed, place=place)

    def of_node(self, values: Iterable[str], node: str = "node") -> str:
        """What belongs to the node of a row, the value of the first node first."""
        return self.item(values, f"CAST({node} AS INTEGER) + 1")
