"""What looks odd about the values of a column, with the option that helps.

Nothing is changed here: "NA" stays an ordinary text until the user says otherwise. The
judgement needs only the distinct texts of a column, so a database can supply them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from treecompile.model.options import sentence
from treecompile.tables.numbers import plain
from treecompile.tables.raw import SUSPECTS, RawTable, counted, listed

LEADING_ZEROS = re.compile("0[0-9]{2,}")  # 07 is an hour or a month
FEW = 5  # values that may be odd among numbers
FEW_ROWS = 2_000  # in which leading zeros are looked for
Count = Callable[[Sequence[str]], int]  # the rows that have one of some texts


def odd_texts(texts: Sequence[str], decimal: str = ".") -> tuple[str, ...]:
    """The few texts that are no numbers where the others are; () if more are none."""
    odd: list[str] = []
    for text in texts:
        if plain(text, decimal) is None:
            odd.append(text)
            if len(odd) > FEW:
                return ()
    fewest = 3 if set(map(str.strip, odd)) - SUSPECTS else 1  # for each that is odd
    numbers = len(texts) - len(odd)
    return tuple(sorted(odd)) if numbers >= fewest * len(odd) > 0 else ()


def only_because(odd: Sequence[str]) -> str:
    return f"only because of {sentence(map(repr, odd), 'and')}"


def advice(odd: Sequence[str], *, is_file: bool) -> str:
    """What makes numbers of a column, in a text file or elsewhere."""
    if not is_file:
        return "convert to numbers"
    options = sentence((f"na_value={text!r}" for text in odd), "and")
    means = "it means" if len(odd) == 1 else "they mean"
    return f"add {options} if {means} missing"


def odd_note(
    odd: Sequence[str], names: Sequence[str], fields: int, *, is_file: bool
) -> str:
    """A note on columns that are text because of the same few texts."""
    columns, are = ("columns", "are") if names[1:] else ("column", "is")
    why = f"{only_because(odd)} ({counted(fields, 'field')})"
    return f"{columns} {listed(names)} {are} text {why}: {advice(odd, is_file=is_file)}"


def leading_zeros(table: RawTable, names: Iterable[str]) -> list[str]:
    """Notes on numbers in a text file such as 00123, which may be codes."""
    notes = []
    for name in names:
        texts = table.column(name)[:FEW_ROWS].tolist()
        example = next((t for t in texts if t and LEADING_ZEROS.fullmatch(t)), "")
        if example:
            notes.append(
                f"column {name!r} has numbers with leading zeros, such as {example!r}:"
                f" add categorical={name!r} if they are codes"
            )
    return notes
