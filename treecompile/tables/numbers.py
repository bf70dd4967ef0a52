"""Numbers as files have them: decimal commas, thousands, currencies, per cent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from treecompile.model.arrays import Floats
from treecompile.model.errors import DataError
from treecompile.model.values import NUMBER
from treecompile.tables.raw import read_numbers

UNIT = "[$¢£¤¥₣₦₩₪₫€₭₱₴₸₹₺₽₿]|USD|EUR|GBP|CHF|JPY|CAD|AUD"
PER_CENT = "%"
SEPARATORS = {".": ",", ",": "."}  # of thousands, by decimal sign; and blanks and '


def _cleaned(decimal: str) -> re.Pattern[str]:
    blank, mark = r"[ \u00a0\u202f]", re.escape(decimal)
    other = rf"[{re.escape(SEPARATORS[decimal])}'\u2019 \u00a0\u202f]"
    groups = rf"[0-9]{{1,3}}(?P<by>{other})[0-9]{{3}}(?:(?P=by)[0-9]{{3}})*"
    return re.compile(
        rf"{blank}*(?P<sign>[+-]?){blank}*(?P<before>(?:{UNIT})?){blank}*"
        rf"(?P<whole>{groups}|[0-9]+)?(?:{mark}(?P<part>[0-9]*))?"
        rf"{blank}*(?P<after>(?:{UNIT}|{PER_CENT})?){blank}*"
    )


CLEANED = {sign: _cleaned(sign) for sign in SEPARATORS}


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of a column are written."""

    decimal: str = "."
    is_cleaned: bool = False  # without separators of thousands and signs

    def plain(self, text: str) -> str | None:
        """A number in the form that `parse_number` reads; None if it is not one."""
        found = self._split(text)
        return found and found[0]

    def _split(self, text: str) -> tuple[str, str] | None:
        """A number in its plain form, and its unit."""
        if self.decimal != ".":
            swapped = None if "." in text else text.replace(self.decimal, ".")
        else:
            swapped = text
        if swapped is not None and NUMBER.fullmatch(swapped):
            return swapped, ""
        found = CLEANED[self.decimal].fullmatch(text) if self.is_cleaned else None
        if not found or not (found["whole"] or found["part"]):
            return None
        if found["before"] and found["after"]:
            return None
        whole = re.sub("[^0-9]", "", found["whole"] or "0")
        number = f"{found['sign']}{whole}.{found['part'] or '0'}"
        return number, found["before"] or found["after"]

    def read(self, texts: list[str]) -> Floats | None:
        """Texts as doubles, NaN for an empty one; None if any is not a number."""
        if self == PLAIN_NUMBERS:
            return read_numbers(texts)
        plain: dict[str, str] = {"": ""}
        for text in dict.fromkeys(texts):
            found = self.plain(text) if text else ""
            if found is None:
                return None
            plain[text] = found
        return read_numbers([plain[text] for text in texts])

    def check_units(self, name: str, texts: Iterable[str]) -> None:
        """Refuse a column whose numbers have different units."""
        if not self.is_cleaned:
            return
        units: dict[str, str] = {}  # each with an example
        for text in texts:
            found = self._split(text)
            if found:
                units.setdefault(found[1], text)
        if len(units.keys() - {""}) > 1 or units.keys() == {"", PER_CENT}:
            one, other, *_ = units.values()
            raise DataError(
                f"column {name!r} has {one!r} and {other!r}, which are not in the same"
                " unit: convert them first"
            )


PLAIN_NUMBERS = NumberFormat()
FORMATS = tuple(NumberFormat(sign, clean) for clean in (False, True) for sign in ".,")


def is_numeric(text: str) -> bool:
    """Whether a text is a number in some format."""
    return any(each.plain(text) is not None for each in FORMATS)
