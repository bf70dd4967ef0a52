"""What looks odd about the values of a column, with the option that helps.

Nothing is changed here: "NA" stays an ordinary text until the user says otherwise. The
judgement needs only the distinct texts of a column, so a database can supply them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from treecompile.model.options import sentence
from treecompile.tables.numbers import FORMATS, NumberFormat
from treecompile.tables.raw import NAMES_SHOWN, SUSPECTS, RawTable, counted, listed

LEADING_ZEROS = re.compile("0[0-9]{2,}")  # 07 is an hour or a month
FEW = 5  # values that may be odd among numbers
FIRST_ROWS = 100_000  # in which a text with blanks is looked for
FEW_ROWS = 2_000  # in which leading zeros are looked for
Count = Callable[[Sequence[str]], int]  # the rows that have one of some texts
LOOKS = {
    NumberFormat("."): "with decimal points",
    NumberFormat(","): "with decimal commas",
    NumberFormat(".", True): "with thousands separators or signs",
    NumberFormat(",", True): "with decimal commas and thousands separators or signs",
}


@dataclass(frozen=True, slots=True)
class AlmostNumbers:
    """Texts that are numbers in some format, but for a few."""

    format: NumberFormat
    odd: tuple[str, ...]  # the texts that are not
    numbers: int  # how many are
    example: str  # the longest of them
    is_ambiguous: bool = False  # 1,234 may have a decimal comma, or thousands

    def why(self, decimal: str) -> str:
        """Why they are read as text, to follow "is text": " only because of 'NA'"."""
        odd = sentence(map(repr, self.odd), "and") if self.odd else ""
        if self.format == NumberFormat(decimal):
            return f" only because of {odd}"
        said = f": numbers {LOOKS[self.format]}, such as {self.example!r}"
        return said + f", and {odd}" * bool(odd)

    def advice(
        self, names: Sequence[str], decimal: str, *, is_file: bool = True
    ) -> str:
        """What makes numbers of these columns, in a text file or elsewhere."""
        if not is_file:
            return "convert to numbers"
        comma = "--decimal ','"
        clean = [f"--clean-numbers {name!r}" for name in names[:NAMES_SHOWN]]
        if self.is_ambiguous:
            return (
                f"add {sentence(clean, 'and')} if the comma separates thousands, or"
                f" {comma} if it is the decimal sign"
            )
        options = []
        if self.format.decimal != decimal:
            options.append(comma if decimal == "." else "--decimal '.'")
        options += clean if self.format.is_cleaned else []
        options += [f"--na-value {text!r}" for text in self.odd]
        means = f" if {'it means' if len(self.odd) == 1 else 'they mean'} missing"
        return f"add {sentence(options, 'and')}" + means * bool(self.odd)


def almost_numbers(texts: Sequence[str]) -> AlmostNumbers | None:
    """The format in which most of some texts are numbers; None if there is none."""
    found = [each for each in (_judged(texts, how) for how in FORMATS) if each]
    if not found:
        return None
    best = min(found, key=lambda each: len(each.odd))  # of several, the plainest
    rivals = {each.format for each in found if each.odd == best.odd}
    has_rival = NumberFormat(".", True) in rivals
    return replace(best, is_ambiguous=has_rival and best.format == NumberFormat(","))


def _judged(texts: Sequence[str], how: NumberFormat) -> AlmostNumbers | None:
    odd: list[str] = []
    example = ""
    for text in texts:
        if how.plain(text) is None:
            odd.append(text)
            if len(odd) > FEW:
                return None
        elif len(text) > len(example):
            example = text
    numbers = len(texts) - len(odd)
    fewest = 3 if set(map(str.strip, odd)) - SUSPECTS else 1  # for each that is odd
    if not numbers or numbers < fewest * len(odd):
        return None
    return AlmostNumbers(how, tuple(sorted(odd)), numbers, example)


# ---------------------------------------------------------------- notes


class Suspicions:
    """Collects what is odd about features, and says it in few lines."""

    def __init__(self, decimal: str = ".", *, is_file: bool = False) -> None:
        self.decimal, self.is_file = decimal, is_file
        self.places: dict[str, list[str]] = {}  # of each suspect: "24 times in 'x'"
        # What is almost a number in the same way: an example, columns, odd fields.
        self.almost: dict[object, tuple[AlmostNumbers, list[str], list[int]]] = {}

    def look(self, name: str, texts: Sequence[str], count: Count) -> bool:
        """Look at the distinct texts of a column that is read as text.

        Tell whether they are almost numbers.
        """
        almost = almost_numbers(texts)
        # Numbers that are stored as text may be codes, and deliberately so.
        if almost and (self.is_file or almost.odd):
            key = almost.format, almost.odd, almost.is_ambiguous
            _, names, fields = self.almost.setdefault(key, (almost, [], []))
            names.append(name)
            fields.append(count(almost.odd) if almost.odd else 0)
            return True
        for text in texts:
            if text.strip() in SUSPECTS:
                place = f"{counted(count([text]), 'time')} in {name!r}"
                self.places.setdefault(text, []).append(place)
        return False

    def said(self) -> list[str]:
        """The notes, one for each kind of oddity."""
        texts = [_suspect(*each) for each in self.places.items()]
        return [*(self._text(*each) for each in self.almost.values()), *texts]

    def _text(
        self, almost: AlmostNumbers, names: Sequence[str], fields: Sequence[int]
    ) -> str:
        columns = "columns" if names[1:] else "column"
        are = "are" if names[1:] else "is"
        why = almost.why(self.decimal)
        why += f" ({counted(sum(fields), 'field')})" if almost.odd else ""
        advice = almost.advice(names, self.decimal, is_file=self.is_file)
        return f"{columns} {listed(names)} {are} text{why}: {advice}"


def _suspect(text: str, places: Sequence[str]) -> str:
    more = len(places) - NAMES_SHOWN
    shown = ", ".join(places[:NAMES_SHOWN])
    shown += f" and in {counted(more, 'more column')}" if more > 0 else ""
    return f"{text!r} occurs {shown}: add --na-value {text!r} if it means missing"


def unmatched(table: RawTable, na_values: Iterable[str]) -> list[str]:
    """Notes on texts that were said to mean missing and occur nowhere."""
    notes = []
    for text in na_values:
        if not any(text in _texts(table, name) for name in table.names):
            twin = _padded(table, text)
            said = f"--na-value {text!r} occurs nowhere"
            notes.append(f"{said}, but {twin}: blanks count" if twin else said)
    return notes


def leading_zeros(table: RawTable, names: Iterable[str]) -> list[str]:
    """Notes on numbers such as 00123, which may be codes."""
    notes = []
    for name in names:
        texts = _texts(table, name, FEW_ROWS)
        example = next((t for t in texts if t and LEADING_ZEROS.fullmatch(t)), "")
        if example:
            notes.append(
                f"column {name!r} has numbers with leading zeros, such as {example!r}:"
                f" add --categorical {name!r} if they are codes"
            )
    return notes


def _texts(table: RawTable, name: str, rows: int | None = None) -> list[str]:
    """The texts of a column, or of its first rows."""
    column = table.column(name)
    if column.dtype.kind in "biufM":
        return []
    values = column[:rows].tolist()
    return values if table.text else [v for v in values if isinstance(v, str)]


def _padded(table: RawTable, text: str) -> str:
    """Where a text occurs with blanks around it: "' ?' does, in 'x'"."""
    for name in table.names:
        distinct = set(_texts(table, name, FIRST_ROWS)) - {None}
        for found in sorted(t for t in distinct if t.strip() == text.strip()):
            return f"{found!r} does, in {name!r}"
    return ""
