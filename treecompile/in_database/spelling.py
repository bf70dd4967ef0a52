"""How numbers and lists are written in the queries for one database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from treecompile.literals import DOUBLES
from treecompile.stores.base import Store

ARMS = 16  # of a CASE that stands for a list


class Spelling:
    def __init__(self, store: Store) -> None:
        self.phrases, self.dialect = store.phrases, store.dialect
        self.double = DOUBLES[store.dialect.literals.double]  # of finite numbers

    def number(self, value: float) -> str:
        if isfinite(value):
            return self.double(value)
        sign = "-" if value < 0 else ""
        return self.phrases.infinity.format(sign=sign, type=self.dialect.types.number)

    def within(self, least: str, most: str, value: str) -> str:
        """A number without its fraction, kept within two whole numbers."""
        return self.phrases.within.format(least=least, most=most, value=value)

    def small(self, size: int) -> str:
        """A type for the codes up to a size."""
        return self.phrases.byte if size < 256 else "INTEGER"

    def item(self, values: Iterable[str], place: str) -> str:
        """The value at a place, counted from 1, of values that stand in the query."""
        texts = list(values)
        if not self.phrases.list:
            return self._item_without_lists(texts, place)
        listed = self.phrases.list.format(", ".join(texts))
        return self.phrases.item.format(list=listed, place=place)

    def _item_without_lists(self, texts: Sequence[str], place: str) -> str:
        is_whole = all(text.lstrip("-").isdigit() for text in texts)
        if is_whole and self.phrases.whole:
            return self.phrases.whole.format(list=", ".join(texts), place=place)
        return _by_comparing(texts, place)

    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> str:
        """Values that stand in the query, as a table behind FROM or JOIN."""
        lines = [f"({', '.join(row)})" for row in rows]
        if self.phrases.names_values:
            return f"(VALUES {', '.join(lines)}) AS {name}({', '.join(columns)})"
        first = ", ".join(f"{v} AS {c}" for v, c in zip(rows[0], columns, strict=True))
        rest = f" UNION ALL VALUES {', '.join(lines[1:])}" if lines[1:] else ""
        return f"(SELECT {first}{rest}) AS {name}"

    def of_node(self, values: Iterable[str], node: str = "node") -> str:
        """What belongs to the node of a row, the value of the first node first."""
        return self.item(values, f"CAST({node} AS INTEGER) + 1")


def _by_comparing(values: Sequence[str], place: str) -> str:
    """The value at a place by comparisons, in steps: CASE in CASE, but not deep."""
    texts, width = list(values), 1  # the places that each text is for
    while len(texts) > 1:
        groups = range(0, len(texts), ARMS)
        texts = [
            _one_of(texts[start : start + ARMS], start, width, place)
            for start in groups
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
