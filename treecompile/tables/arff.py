"""Read ARFF: columns with declared types, and categories in their declared order.

Values are separated by commas or tabs, and as in Weka by blanks, if that makes as many
values as there are columns. `?` is missing, `'?'` is a value. Quoted values may contain
the escapes that Weka writes. A % starts a comment at the beginning of a line or after a
blank. In a sparse row, `{0 1.5, 3 red}`, columns that are not mentioned have the value
0, or their first category.
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
WORD = re.compile(rf"(?:(?P<quoted>{QUOTED})|(?P<bare>[^\s,'\"][^\s,]*))(?:\s*,)?\s*")
PAIR = re.compile(
    rf"\s*(?P<index>[0-9]{{1,9}})\s+(?:(?P<quoted>{QUOTED})|(?P<bare>[^\s,{{}}'\"]+))"
    r"\s*(?:,|(?=\}))",
    re.S,
)
END_OF_SPARSE = re.compile(r"\s*\}\s*(?:%.*)?", re.S)
KEYWORD = re.compile(r"(@\w*)\s*")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
TYPES = {
    **dict.fromkeys(("numeric", "real", "integer"), Stated.NUMERIC),
    "string": Stated.TEXT,
    "date": Stated.DATE,
}


class MisplacedError(ValueError):
    """What is wrong with a line, from a position on."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


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
                    values += _row(bare, names, declared)
                    places.append(number)
                else:
                    in_data = _header(bare, names, declared)
            except MisplacedError as error:
                at = 1 + line.index(bare[0]) + error.at
                where = f"{name}, line {number}, column {at}"
                raise DataError(f"{where}: {error}") from None
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


# ---------------------------------------------------------------- declarations


def _header(line: str, names: list[str], declared: list[Declared]) -> bool:
    """Record a line of the header; True if the data begins after it."""
    keyword = KEYWORD.match(line)
    start = keyword.end() if keyword else 0
    match keyword[1].lower() if keyword else "":
        case "@relation":
            return False
        case "@data":
            if not names:
                raise MisplacedError("no @attribute before @data: declare the columns")
            return True
        case "@attribute" if line[start:]:
            found = ATTRIBUTE.fullmatch(line, start)
            if not found:
                raise MisplacedError(f"cannot read {line!r}: quote the name", start)
            name = _unquoted(found["name"], start)
            at = found.start("type") if found["type"] else len(line)
            names.append(name)
            declared.append(_declaration(name, found["type"] or "", at))
            return False
    raise MisplacedError(f"expected @attribute NAME TYPE or @data, not {line!r}")


def _declaration(name: str, text: str, at: int) -> Declared:
    """What a text says about a column; `at` is its position in the line."""
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
        raise MisplacedError(
            f"{name!r} is declared as {word}, which is not supported: expected {known}"
            f" or {{categories}}: {advice}",
            at,
        )
    found = CATEGORIES.fullmatch(text)
    if not found:
        raise MisplacedError(
            f"the categories of {name!r} do not end in }}: close them on the same line,"
            " and quote those with ' or }",
            at,
        )
    inside = found["inside"]
    if "," not in inside and "\t" not in inside and inside.strip():
        listed = _words(inside, at + 1)  # {a b c}
    else:
        listed = _fields(inside.rstrip(" ,"), at + 1)
    # A ? in the data is a missing value even if it is listed.
    categories = [value for value in listed if value is not None]
    twice, times = Counter(categories).most_common(1)[0] if categories else ("", 0)
    if times > 1:
        raise MisplacedError(f"{name!r} lists the category {twice!r} twice", at)
    return Declared(Stated.NOMINAL, tuple(categories))


# ---------------------------------------------------------------- rows


def _row(
    line: str, names: Sequence[str], declared: Sequence[Declared]
) -> Sequence[str | None]:
    width = len(declared)
    if not ("'" in line or '"' in line or "%" in line or "\t" in line or "{" in line):
        fields: list[str | None] = [*map(str.strip, line.split(","))]
        if len(fields) == width and "" not in fields:
            return (
                [None if v == "?" else v for v in fields] if "?" in fields else fields
            )
    if line.startswith("{"):
        return _sparse(line, names, declared)
    try:
        fields = _fields(line)
        if len(fields) == width:
            return fields
        problem = _wrong_number(line, len(fields), width)
    except MisplacedError as error:
        problem = error
    try:
        words = _words(line)
    except MisplacedError:
        raise problem from None
    if len(words) != width:
        raise problem
    return words


def _wrong_number(line: str, count: int, width: int) -> MisplacedError:
    """The error of a row with too few or too many values."""
    at = len(line)
    if count > width:
        at = 0
        for _ in range(width):
            found = FIELD.match(line, at)
            assert found is not None
            at = found.end()
    return MisplacedError(
        f"{counted(count, 'value')} where {width} are declared: correct the line, or"
        " quote a value with a comma",
        at,
    )


def _fields(text: str, at: int = 0) -> list[str | None]:
    """The values of a list without quotes; None for an unquoted ?.

    `at` is the position of the list in its line.
    """
    fields: list[str | None] = []
    position = 0
    while True:
        found = FIELD.match(text, position)
        if not found:
            rest = text[position:]
            raise MisplacedError(
                f"cannot read {rest!r}: check the quotes", at + position
            )
        quoted, bare = found["quoted"], found["bare"]
        if quoted is None and not bare:
            raise MisplacedError(
                f"value {len(fields) + 1} is empty: write ? if it is missing",
                at + position,
            )
        fields.append(None if bare == "?" else bare or _unquoted(quoted, at + position))
        if found["comma"] is None and found["tab"] is None:
            return fields
        position = found.end()


def _words(text: str, at: int = 0) -> list[str | None]:
    """The same for values that blanks separate; a comma may end the list."""
    words: list[str | None] = []
    text = text.rstrip()
    position = len(text) - len(text.lstrip())
    while position < len(text) and text[position] != "%":
        found = WORD.match(text, position)
        if not found or found.end() == position:
            raise MisplacedError(f"cannot read {text[position:]!r}", at + position)
        quoted, bare = found["quoted"], found["bare"]
        words.append(None if bare == "?" else bare or _unquoted(quoted, at + position))
        position = found.end()
    return words


def _sparse(
    line: str, names: Sequence[str], declared: Sequence[Declared]
) -> list[str | None]:
    """A row that mentions some columns by their positions, from 0."""
    given: dict[int, str | None] = {}
    position = 1
    while found := PAIR.match(line, position):
        index, bare = int(found["index"]), found["bare"]
        if index >= len(names) or index in given:
            wrong = "twice" if index in given else f"and there are {len(names)} columns"
            raise MisplacedError(f"column {index} is mentioned {wrong}", position)
        given[index] = None if bare == "?" else bare or _unquoted(found["quoted"])
        position = found.end()
    if not END_OF_SPARSE.fullmatch(line, position):
        raise MisplacedError(
            "cannot read the sparse row from here: expected pairs such as {0 1.5, 3"
            " red}; weights of rows are not supported",
            position,
        )
    for index, said in enumerate(declared):
        if index not in given:
            given[index] = _omitted(names[index], said)
    return [given[index] for index in range(len(names))]


def _omitted(name: str, said: Declared) -> str | None:
    """The value of a column that a sparse row does not mention."""
    if said.as_ is Stated.NUMERIC:
        return "0"
    if said.as_ is Stated.NOMINAL and said.categories:
        return said.categories[0]
    if said.as_ is Stated.TEXT:
        raise MisplacedError(f"the sparse row has no value for the text {name!r}")
    return None


def _unquoted(text: str, at: int = 0) -> str:
    if text[0] not in "'\"":
        return text
    plain = ESCAPE.sub(_unescaped, text[1:-1])
    if is_unicode(plain):
        return plain
    try:  # a character beyond U+FFFF may be written as two escapes
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise MisplacedError(f"{plain!r} {NOT_UNICODE}: correct it", at) from None


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
