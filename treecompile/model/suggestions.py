"""Names that a misspelt one may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMES = 5_000  # comparing more takes seconds
LONGEST = 200  # characters of a name; the time grows with their square


def similar(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The most similar of the known names, best first; of many, the first are tried."""
    name = str(name)  # a caller in Python may give the number 5
    if len(name) > LONGEST:
        return []
    short = (each for each in known if len(each) <= LONGEST)
    return get_close_matches(name, list(islice(short, MOST_NAMES)), n=count)
