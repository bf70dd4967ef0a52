"""Writes numbers, lists and small tables into queries, in one database's dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from treecompile.emit.literals import DOUBLES
from treecompile.engines.base import Store


class QueryWriter:
    def __init__(self, store: Store) -> None:
        self.dialect, self.learning = store.dialect, store.dialect.learning
        self.double = DOUBLES[store.dialect.literals.double]  # writes finite numbers

    def number(self, value: float) -> str:
        if isfinite(value):
            return self.double(value)
        sign = "-" if value < 0 else ""
        return f"CAST('{sign}Infinity' AS {self.dialect.types.number})"

    def within(self, least: str, most: str, value: str) -> str:
        """Return the integer part of a number above 0, clamped between integers."""
        return f"least({most}, greatest({least}, floor({value})))"

    def sum(self, value: str) -> str:
        """Return the sum of whole numbers."""
        return f"CAST(sum({value}) AS {self.dialect.long})"

    def sum_in_two(self, value: str, bits: int) -> list[str]:
        """Return two sums: of rounded values, and of the rest in units of 2^-bits."""
        rounding = self.learning.round
        rest = f"({value} - {rounding.fill(value)}) * {self.double(2.0**bits)}"
        whole = (rounding.fill(each) for each in (value, rest))
        return [self.sum(f"CAST({each} AS {self.dialect.long})") for each in whole]

    def small(self, size: int) -> str:
        """Return the smallest integer type for codes from 0 to `size`."""
        return self.learning.byte if size < 256 else "INTEGER"

    def item(self, values: Iterable[str], place: str) -> str:
        """Return the value at a place, counted from 1: `([10, 20, 30])[place]`."""
        listed = self.learning.list.fill(", ".join(values))
        return self.learning.item.fill(list=listed, place=place)

    def of_node(self, values: Iterable[str]) -> str:
        """Return the value for a row's node, out of one value for each node."""
        texts = list(values)
        if len(texts) == 1:
            return texts[0]
        return self.item(texts, "CAST(node AS INTEGER) + 1")

    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> str:
        """Return a table of values: `(VALUES (1, 2), (3, 4)) AS name(a, b)`."""
        lines = ", ".join(f"({', '.join(row)})" for row in rows)
        return f"(VALUES {lines}) AS {name}({', '.join(columns)})"

    def stack(
        self, table: str, columns: Sequence[str], pairs: Sequence[tuple[str, str]]
    ) -> str:
        """Return a query for a row (columns, p, c, x) per row of a table and pair p."""
        pair = self.learning.pair
        texts = (pair.fill(code=code, number=number) for code, number in pairs)
        return self.learning.stack.fill(
            table=table, columns=", ".join(columns), pairs=", ".join(texts)
        )
