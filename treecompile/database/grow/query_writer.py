"""Writes numbers, lists and small tables into queries, in one database's dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from treecompile.emit.literals import DOUBLES
from treecompile.emit.phrases import Phrase
from treecompile.engines.base import Store

ARMS = 16  # WHEN arms of each CASE, where a dialect has no lists


class QueryWriter:
    def __init__(self, store: Store) -> None:
        self.dialect, self.learning = store.dialect, store.dialect.learning
        self.double = DOUBLES[store.dialect.literals.double]  # writes finite numbers

    def number(self, value: float) -> str:
        if isfinite(value):
            return self.double(value)
        sign = "-" if value < 0 else ""
        return self.learning.infinity.fill(sign=sign, type=self.dialect.types.number)

    def within(self, least: str, most: str, value: str) -> str:
        """Return the integer part of a number, clamped between two integers."""
        return self.learning.within.fill(least=least, most=most, value=value)

    def sum(self, value: str) -> str:
        """Return the sum of whole numbers."""
        return f"CAST(sum({value}) AS {self.learning.long})"

    def sum_in_two(self, value: str, rounding: Phrase, bits: int) -> list[str]:
        """Return two sums: of rounded values, and of the rest in units of 2^-bits."""
        rest = f"({value} - {rounding.fill(value)}) * {self.double(2.0**bits)}"
        whole = (rounding.fill(each) for each in (value, rest))
        return [self.sum(f"CAST({each} AS {self.learning.long})") for each in whole]

    def small(self, size: int) -> str:
        """Return the smallest integer type for codes from 0 to `size`."""
        return self.learning.byte if size < 256 else "INTEGER"

    def item(self, values: Iterable[str], place: str) -> str:
        """Return the value at a place, counted from 1: `([10, 20, 30])[place]`."""
        texts = list(values)
        if self.learning.list:
            listed = self.learning.list.fill(", ".join(texts))
            return self.learning.item.fill(list=listed, place=place)
        is_whole = all(text.lstrip("-").isdigit() for text in texts)
        if is_whole and self.learning.integer_item:
            listed = ", ".join(texts)
            return self.learning.integer_item.fill(list=listed, place=place)
        return _item_by_comparing(texts, place)

    def of_node(self, values: Iterable[str], node: str = "node") -> str:
        """Return the value for a row's node, out of one value for each node."""
        return self.item(values, f"CAST({node} AS INTEGER) + 1")

    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> str:
        """Return a table of values: `(VALUES (1, 2), (3, 4)) AS name(a, b)`."""
        lines = [f"({', '.join(row)})" for row in rows]
        if self.learning.names_values:
            return f"(VALUES {', '.join(lines)}) AS {name}({', '.join(columns)})"
        first = ", ".join(f"{v} AS {c}" for v, c in zip(rows[0], columns, strict=True))
        rest = f" UNION ALL VALUES {', '.join(lines[1:])}" if lines[1:] else ""
        return f"(SELECT {first}{rest}) AS {name}"

    def stack(
        self, table: str, columns: Sequence[str], pairs: Sequence[tuple[str, str]]
    ) -> str:
        """Return a query for a row (columns, p, c, x) per row of a table and pair p."""
        pair = self.learning.pair
        texts = (pair.fill(code=code, number=number) for code, number in pairs)
        return self.learning.stack.fill(
            table=table, columns=", ".join(columns), pairs=", ".join(texts)
        )


def _item_by_comparing(values: Sequence[str], place: str) -> str:
    """Return the value at a place, by nested CASEs of at most 16 arms each."""
    texts, width = list(values), 1  # how many places each text covers
    while len(texts) > 1:
        texts = [
            _one_of(texts[start : start + ARMS], start, width, place)
            for start in range(0, len(texts), ARMS)
        ]
        width *= ARMS
    return texts[0]


def _one_of(texts: Sequence[str], start: int, width: int, place: str) -> str:
    *first, last = texts
    if set(first) <= {last}:
        return last
    whens = (
        f"WHEN {place} <= {number * width} THEN {text}"
        for number, text in enumerate(first, start + 1)
    )
    return f"CASE {' '.join(whens)} ELSE {last} END"
