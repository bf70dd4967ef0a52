"""Numbers of other types: integers, decimals, 32-bit floats.

The law compares a number as a double, whatever the type of its column. A comparison
without the cast would be right for doubles and wrong for these, beside a threshold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, isfinite, nextafter

from treecompile.ir import Value
from treecompile.targets import NumberTypes
from treecompile.verify.axes import Numbers

TENTH_DECIMAL = Decimal("1e-10")
DIGITS = Context(prec=60)


def of_dialect(types: NumberTypes) -> Iterator[tuple[str, Numbers]]:
    """The other types that a dialect has, by their name there."""
    for name, numbers in (
        (types.whole, WHOLE),
        (types.decimal, DECIMALS),
        (types.single, SINGLES),
    ):
        if name:
            yield name, numbers


def integers_beside(cut: float) -> list[int]:
    """The integers around a cut, those that only rounding takes across it included."""
    below = int(cut // 1)
    steps = {-1, 0, 1, 2}
    if abs(cut) >= 2**53:
        half = int(nextafter(cut, inf) - cut) // 2 if isfinite(2 * cut) else 0
        steps |= {-half, half, half + 1}
    return [below + step for step in sorted(steps)]


def of_64_bits(cut: float) -> Iterator[Value]:
    yield from (n for n in integers_beside(cut) if -(2**63) <= n < 2**63)


def decimals_beside(cut: float) -> Iterator[Value]:
    """The decimals below and above a cut."""
    if abs(cut) < 1e25:
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            number = Decimal(cut).quantize(TENTH_DECIMAL, rounding, DIGITS)
            yield number  # type: ignore[misc]


def singles_beside(cut: float) -> Iterator[Value]:
    """The 32-bit floats nearest to a cut and to its neighbours."""
    step = abs(cut) * 2**-24
    for near in (cut - step, cut, cut + step):
        try:
            (number,) = struct.unpack("<f", struct.pack("<f", near))
        except OverflowError:
            continue
        yield float(number)


INTEGERS = Numbers(integers_beside, (None,))  # those of Python, of any size
WHOLE = Numbers(of_64_bits, (None,))
DECIMALS = Numbers(decimals_beside, (None,))
SINGLES = Numbers(singles_beside, (None,))
