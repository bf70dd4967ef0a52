"""Computes the logarithm of a 32-bit float, as the C library of GNU does.

XGBoost starts its sums at the logarithm of a parameter. The last bit of a logarithm
depends on the library that computes it; this is the one XGBoost uses on Linux. Its
table and its polynomial are those of Arm's Optimized Routines (MIT licence).
"""

from __future__ import annotations

from math import frexp

import numpy as np

# 1 / c and log(c) of the middle c of each of 16 intervals, from 0.7 to 1.4.
TABLE = tuple(
    (float.fromhex(inverse), float.fromhex(logarithm))
    for inverse, logarithm in (
        ("0x1.661ec79f8f3bep+0", "-0x1.57bf7808caadep-2"),
        ("0x1.571ed4aaf883dp+0", "-0x1.2bef0a7c06ddbp-2"),
        ("0x1.49539f0f010bp+0", "-0x1.01eae7f513a67p-2"),
        ("0x1.3c995b0b80385p+0", "-0x1.b31d8a68224e9p-3"),
        ("0x1.30d190c8864a5p+0", "-0x1.6574f0ac07758p-3"),
        ("0x1.25e227b0b8eap+0", "-0x1.1aa2bc79c81p-3"),
        ("0x1.1bb4a4a1a343fp+0", "-0x1.a4e76ce8c0e5ep-4"),
        ("0x1.12358f08ae5bap+0", "-0x1.1973c5a611cccp-4"),
        ("0x1.0953f419900a7p+0", "-0x1.252f438e10c1ep-5"),
        ("0x1p+0", "0x0p+0"),
        ("0x1.e608cfd9a47acp-1", "0x1.aa5aa5df25984p-5"),
        ("0x1.ca4b31f026aap-1", "0x1.c5e53aa362eb4p-4"),
        ("0x1.b2036576afce6p-1", "0x1.526e57720db08p-3"),
        ("0x1.9c2d163a1aa2dp-1", "0x1.bc2860d22477p-3"),
        ("0x1.886e6037841edp-1", "0x1.1058bc8a07ee1p-2"),
        ("0x1.767dcf5534862p-1", "0x1.4043057b6ee09p-2"),
    )
)
LOG_2 = float.fromhex("0x1.62e42fefa39efp-1")
CUBIC = float.fromhex("-0x1.00ea348b88334p-2")
SQUARE = float.fromhex("0x1.5575b0be00b6ap-2")
LINEAR = float.fromhex("-0x1.ffffef20a4123p-2")
FIRST = 0x3F33_0000  # the bits of the least number of the first interval


def log_single(number: float) -> float:
    """Return the logarithm of a 32-bit float above 0."""
    mantissa, exponent = frexp(number)
    bits = int(np.float32(mantissa).view(np.int32))  # of a number from 0.5 to 1
    power = (bits - FIRST) >> 23
    place = ((bits - FIRST) >> 19) % 16
    near = mantissa * 2.0**-power
    inverse, logarithm = TABLE[place]
    rest = near * inverse - 1
    start = logarithm + (power + exponent) * LOG_2
    square = rest * rest
    total = CUBIC * square + (SQUARE * rest + LINEAR)
    return float(np.float32(total * square + (start + rest)))
