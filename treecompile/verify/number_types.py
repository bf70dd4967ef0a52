"""The same rows with numbers of another type: integers, decimals, 32-bit floats.

The law compares a number as a double, whatever the type of its column. A comparison
without the cast would be right for doubles and wrong for these.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite
from random import Random

from treecompile.ir import Feature, Kind, Row, Value
from treecompile.targets import NumberTypes

# Enough for each edge to be met by some row; the cells are covered by the doubles.
MOST_ROWS = 10_000
TENTH_DECIMAL = Decimal("1e-10")
DIGITS = Context(prec=60)


def typed_rows(
    rows: Sequence[Row], features: Sequence[Feature], types: NumberTypes, seed: int
) -> Iterator[tuple[str, list[Row]]]:
    """For each other type of the dialect, rows whose numbers are of that type."""
    if not any(feature.kind is Kind.NUMERIC for feature in features):
        return
    for kind, convert in (
        (types.whole, whole),
        (types.decimal, decimal),
        (types.single, single),
    ):
        if kind:
            dice = Random(seed)
            chosen = rows if len(rows) <= MOST_ROWS else dice.sample(rows, MOST_ROWS)
            yield kind, [_converted(row, features, convert, dice) for row in chosen]


def _converted(
    row: Row,
    features: Sequence[Feature],
    convert: Callable[[float, Random], Value],
    dice: Random,
) -> Row:
    values: list[Value] = []
    for value, feature in zip(row, features, strict=True):
        if feature.kind is Kind.NUMERIC and isinstance(value, float):
            value = convert(value, dice) if isfinite(value) else None
        values.append(value)
    return tuple(values)


def whole(value: float, dice: Random) -> Value:
    """An integer beside the value; beyond 2^53 one that rounds to it or nearly."""
    if not abs(value) < 2**62:
        return None
    return int(value // 1) + dice.choice((-1, 0, 1))


def decimal(value: float, dice: Random) -> Value:
    """The decimal below or above the value."""
    if not abs(value) < 1e25:
        return None
    rounding = dice.choice((ROUND_FLOOR, ROUND_CEILING))
    exact = Decimal(value)
    return exact.quantize(TENTH_DECIMAL, rounding=rounding, context=DIGITS)  # type: ignore[return-value]


def single(value: float, dice: Random) -> Value:
    """The nearest 32-bit float."""
    try:
        (number,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return None
    return float(number)
