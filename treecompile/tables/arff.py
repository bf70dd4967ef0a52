"""Read ARFF: columns with declared types, and categories in their declared order.

Values are separated by commas or tabs. `?` is missing, `'?'` is a value. Quoted values
may contain the escapes that Weka writes. A % starts a comment at the beginning of a
line or after a blank.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from treecompile.model.errors import DataError
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.model.values import NUMBER
from treecompile.tables.raw import (
    Declared,
    RawTable,
    Stated,
    check_names,
    counted,
    listed,
    not_unicode,
    objects,
    read_numbers,
)

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
NAME = rf"(?P<name>{QUOTED}|[^\s{{'\"][^\s{{]*)"
ATTRIBUTE = re.compile(rf"{NAME}\s*(?P<type>\{{.*|\S.*)?", re.S)
CATEGORIES = re.compile(rf"\{{(?P<inside>(?:[^'\"}}]|{QUOTED})*)\}}\s*(?:%.*)?", re.S)
# Words with blanks between them. Possessive, or long runs of blanks would take forever.
BARE = r"(?!['\"])(?:[^\s,]++(?:[^\S\t]++(?=[^\s,%]))?)*+"
FIELD = re.compile(
    rf"\s*(?:(?P<quoted>{QUOTED})|(?P<bare>{BARE}))"
    r"(?:(?P<comma>\s*,)|\s+%.*$|(?P<tab>[^\S\t]*\t)|\s*$)",
    re.S,
)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
TYPES = {
    **dict.fromkeys(("numeric", "real", "integer"), Stated.NUMERIC),
    "string": Stated.TEXT,
    "date": Stated.DATE,
}


def read_arff(lines: TextIO, name: str) -> RawTable:
    """Read the declarations, then a row of values on each line after @data."""
    names: list[str] = []
    declared: list[Declared] = []
    values: list[str | None] = []  # of all rows, one after the other
    places: list[int] = []  # the line of each row
    in_data, number = False, 0
    try:
        for number, line in enumerate(lines, start=1):
            bare = line.strip()
            if not bare or bare.startswith("%"):
                continue
            try:
                if in_data:
                    values += _row(bare, len(names))
                    places.append(number)
                else:
                    in_data = _header(bare, names, declared)
            except ValueError as error:
                raise DataError(f"{name}, line {number}: {error}") from None
    except UnicodeDecodeError as error:
        raise not_unicode(name, number, error) from error
    if not in_data:
        raise DataError(
            f"{name}: no line @data: expected @attribute lines, then @data, then rows"
        )
    check_names(names)
    width = len(names)
    columns = [values[i::width] for i in range(width)]
    for attribute, column, said in zip(names, columns, declared, strict=True):
        _check(name, attribute, column, said, places)
    return RawTable(
        tuple(names), tuple(map(objects, columns)), True, name, tuple(declared)
    )


def _header(line: str, names: list[str], declared: list[Declared]) -> bool:
    """Record a line of the header; True if the data begins after it."""
    keyword, *rest = line.split(maxsplit=1)
    match keyword.lower():
        case "@relation":
            return False
        case "@data":
            if not names:
                raise ValueError("no @attribute before @data: declare the columns")
            return True
        case "@attribute" if rest:
            found = ATTRIBUTE.fullmatch(rest[0])
            if not found:
                raise ValueError(f"cannot read {line!r}: quote the name")
            name = _unquoted(found["name"])
            names.append(name)
            declared.append(_declaration(name, found["type"] or ""))
            return False
    raise ValueError(f"expected @attribute NAME TYPE or @data, not {line!r}")


def _declaration(name: str, text: str) -> Declared:
    if not text.startswith("{"):
        word = text.split()[0].lower() if text else "nothing"
        if word in TYPES:
            return Declared(TYPES[word])
        known = ", ".join(TYPES)
        advice = (
            "make it columns of its own"
            if word == "relational"
            else "convert it to one of these"
        )
        raise ValueError(
            f"{name!r} is declared as {word}, which is not supported: expected {known}"
            f" or {{categories}}: {advice}"
        )
    found = CATEGORIES.fullmatch(text)
    if not found:
        raise ValueError(
            f"the categories of {name!r} do not end in }}: close them on the same line,"
            " and quote those with ' or }"
        )
    # A ? in the data is a missing value even if it is listed.
    categories = [value for value in _fields(found["inside"]) if value is not None]
    twice, times = Counter(categories).most_common(1)[0] if categories else ("", 0)
    if times > 1:
        raise ValueError(f"{name!r} lists the category {twice!r} twice")
    return Declared(Stated.NOMINAL, tuple(categories))


def _row(line: str, width: int) -> Sequence[str | None]:
    if line.startswith("{"):
        raise ValueError(
            "sparse rows are not supported: write out all values of each row"
        )
    fields: list[str | None] = []
    if not ("'" in line or '"' in line or "%" in line or "\t" in line):
        fields += map(str.strip, line.split(","))
        if "" in fields:
            raise _empty(fields.index(""))
        if "?" in fields:
            fields = [None if value == "?" else value for value in fields]
    else:
        fields = _fields(line)
    if len(fields) != width:
        raise ValueError(
            f"{counted(len(fields), 'value')} where {width} are declared: correct the"
            " line, or quote a value with a comma"
        )
    return fields


def _fields(text: str) -> list[str | None]:
    """The values of a list without quotes; None for an unquoted ?."""
    fields: list[str | None] = []
    position = 0
    while True:
        found = FIELD.match(text, position)
        if not found:
            raise ValueError(f"cannot read {text[position:]!r}: check the quotes")
        quoted, bare = found["quoted"], found["bare"]
        if quoted is None and not bare:
            raise _empty(len(fields))
        fields.append(None if bare == "?" else bare or _unquoted(quoted))
        if found["comma"] is None and found["tab"] is None:
            return fields
        position = found.end()


def _empty(place: int) -> ValueError:
    return ValueError(f"value {place + 1} is empty: write ? if it is missing")


def _unquoted(text: str) -> str:
    if text[0] not in "'\"":
        return text
    plain = ESCAPE.sub(_unescaped, text[1:-1])
    if is_unicode(plain):
        return plain
    try:  # a character beyond U+FFFF may be written as two escapes
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError(f"{plain!r} {NOT_UNICODE}: correct it") from None


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else CONTROLS.get(code, code)


def _check(
    name: str,
    attribute: str,
    column: list[str | None],
    said: Declared,
    places: list[int],
) -> None:
    """Refuse a value that does not fit the declaration of its column."""
    if said.as_ is Stated.NOMINAL:
        wrong = set(column).difference(said.categories, [None])
        expected = f"one of the declared {listed(said.categories)}"
    elif said.as_ is Stated.NUMERIC:
        if "" not in column and read_numbers([v or "" for v in column]) is not None:
            return
        wrong = {v for v in column if v is not None and not NUMBER.fullmatch(v)}
        expected = "a number, as declared"
    else:
        return
    if wrong:
        row = next(i for i, value in enumerate(column) if value in wrong)
        raise DataError(
            f"{name}, line {places[row]}: {attribute!r} is {column[row]!r}: "
            f"expected {expected}, or ? if it is missing"
        )
