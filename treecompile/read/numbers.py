"""A column of texts as doubles, all at once."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

# Of texts made of these characters alone, float() reads exactly those that parse_number
# reads: the "a" of "nan", "_" and the digits of other scripts are not among them.
NUMERIC_CHARACTERS = re.compile(r"[0-9+\-.eE \tinftyINFTY]*")


def read_numbers(texts: list[str]) -> NDArray[np.float64] | None:
    """What parse_number reads, NaN for an empty text; None if it refuses any."""
    if not NUMERIC_CHARACTERS.fullmatch("".join(texts)):
        return None
    try:
        numbers = map(float, [text or "nan" for text in texts])
        return np.fromiter(numbers, np.float64, len(texts))
    except ValueError:
        return None
