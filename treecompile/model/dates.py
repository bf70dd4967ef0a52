"""The numbers that a model reads instead of a date.

Each column of dates gives four features, named after it: `born_year` (the calendar
year), `born_month` (1 to 12), `born_weekday` (1 for Monday to 7 for Sunday) and
`born_days` (whole days since 1970-01-01). The time of day and its zone do not count.
`values.date_part` computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

PARTS = {
    "year": "the calendar year of {}",
    "month": "the month of {}, from 1 to 12",
    "weekday": "the weekday of {}, from 1 for Monday to 7 for Sunday",
    "days": "the days from 1970-01-01 to {}",
}


def derived(dates: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The features of some columns of dates: {"born_year": ("born", "year"), ...}."""
    return {f"{column}_{part}": (column, part) for column in dates for part in PARTS}


def definitions(
    dates: Iterable[str], names: Collection[str], shown: Callable[[str], str]
) -> list[str]:
    """What these features are: ["born_year is the calendar year of born"].

    `shown` makes a name fit for its surroundings.
    """
    known = {name: each for name, each in derived(dates).items() if name in names}
    return [
        f"{shown(name)} is {PARTS[part].format(shown(column))}"
        for name, (column, part) in known.items()
    ]
