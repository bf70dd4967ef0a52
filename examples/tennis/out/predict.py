"""Predict play: 5 rules learned by id3.

    >>> predict({"outlook": "cloudy", "humidity": "high", "wind": "strong"})
    'yes'
    >>> predict_values("cloudy", "high", "strong")
    'yes'

Compiled by treecompile 0.1.0 from the model with SHA-256
89daaf2452f67516d0ec7e1690c07e96b4d44c9e3c81991e29acab7a4d03ee44.
Layout decision.
Standard library only, Python 3.9 or later. As a script it reads a CSV file
and writes it with a column of predictions: python predict.py FILE
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any, TextIO

MODEL = {
    "name": "play",
    "algorithm": "id3",
    "version": "0.1.0",
    "sha256": "89daaf2452f67516d0ec7e1690c07e96b4d44c9e3c81991e29acab7a4d03ee44",
    "rules": 5,
    "rows": 14,
}
FEATURES = {"outlook": "str", "humidity": "str", "wind": "str"}
CLASSES = ("no", "yes")


def predict(row: Mapping[str, Any], rule: bool = False) -> str:
    """Predict play for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it. With `rule`, the result is the id of the rule
    that decides.
    """
    outlook = row["outlook"]
    humidity = row["humidity"]
    wind = row["wind"]
    if outlook.__class__ is not str:
        outlook = as_text("outlook", outlook)
    if humidity.__class__ is not str:
        humidity = as_text("humidity", humidity)
    if wind.__class__ is not str:
        wind = as_text("wind", wind)
    if outlook == "cloudy":
        return "R1" if rule else "yes"  # 4 of 4 cases
    if outlook == "sunny":
        if humidity == "normal":
            return "R5" if rule else "yes"  # 2 of 2 cases
        return "R4" if rule else "no"  # 3 of 3 cases
    if wind == "strong":
        return "R2" if rule else "no"  # 2 of 2 cases
    return "R3" if rule else "yes"  # 3 of 3 cases


def predict_values(
    outlook: Any, humidity: Any, wind: Any, /, *, rule: bool = False
) -> str:
    """Predict play from values in the order of FEATURES.

    By position they are read faster. They are checked and converted as by `predict`.
    """
    if outlook.__class__ is not str:
        outlook = as_text("outlook", outlook)
    if humidity.__class__ is not str:
        humidity = as_text("humidity", humidity)
    if wind.__class__ is not str:
        wind = as_text("wind", wind)
    if outlook == "cloudy":
        return "R1" if rule else "yes"  # 4 of 4 cases
    if outlook == "sunny":
        if humidity == "normal":
            return "R5" if rule else "yes"  # 2 of 2 cases
        return "R4" if rule else "no"  # 3 of 3 cases
    if wind == "strong":
        return "R2" if rule else "no"  # 2 of 2 cases
    return "R3" if rule else "yes"  # 3 of 3 cases


def predict_proba(row: Mapping[str, Any]) -> dict[str, float]:
    """The probability of each label: its share of the training cases of the rule."""
    return dict(zip(CLASSES, PROBABILITIES[predict(row, True)]))


def predict_many(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Predict each of the rows."""
    found: list[str] = []
    for row in rows:
        try:
            found.append(predict(row))
        except (TypeError, IndexError):
            if isinstance(row, Mapping):
                raise
            problem = f"row {len(found)} is of type {type(row).__name__}"
            raise TypeError(f"{problem}: expected a mapping") from None
    return found


def explain(row: Mapping[str, Any]) -> str:
    """The rule that decides a row, in words."""
    return RULES[predict(row, True)]


PROBABILITIES = {
    "R1": (0.0, 1.0),
    "R2": (1.0, 0.0),
    "R3": (0.0, 1.0),
    "R4": (1.0, 0.0),
    "R5": (0.0, 1.0),
}

RULES = {
    "R1": "R1: if outlook = cloudy then play = yes (4 of 4 cases)",
    "R2": "R2: if outlook = rainy (or any other, or missing) and wind = strong then play = no (2 of 2 cases)",
    "R3": "R3: if outlook = rainy (or any other, or missing) and wind = weak (or any other, or missing) then play = yes (3 of 3 cases)",
    "R4": "R4: if outlook = sunny and humidity = high (or any other, or missing) then play = no (3 of 3 cases)",
    "R5": "R5: if outlook = sunny and humidity = normal then play = yes (2 of 2 cases)",
}


def is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def as_text(name: str, value: Any) -> str | None:
    """A string; None where it is missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    raise TypeError(f"{name!r} is {value!r}: expected a string")


def parse_text(name: str, text: str) -> str:
    """Take the text as it stands."""
    return text


FIRST_LINES = 20  # that show how a file is written
FIRST_CHARACTERS = 1 << 20
QUOTED = re.compile(r'"[^"]*("|$)')


def first_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a file that show how it is written."""
    count = size = 0
    for line in lines:
        yield line
        count, size = count + 1, size + len(line)
        if count == FIRST_LINES or size > FIRST_CHARACTERS:
            return


def has_blanks(first: list[str], delimiter: str = ",") -> bool:
    """Whether a blank follows every delimiter, as in `39, Private, 77516`.

    The first line may have the names of the columns, and need not have blanks.
    """
    text = QUOTED.sub("", "".join(first[1:] or first))
    return 0 < text.count(delimiter) == text.count(delimiter + " ")


PARSERS = {"outlook": parse_text, "humidity": parse_text, "wind": parse_text}
BLANKS = ("",)


def main(arguments: list[str]) -> int:
    """Write a CSV file with a column of predictions to standard output."""
    if len(arguments) != 1:
        print("usage: python predict.py FILE (or --help)", file=sys.stderr)
        return 2
    csv.field_size_limit(2**31 - 1)
    try:
        with open(1, "w", encoding="utf-8", newline="", closefd=False) as output:
            if arguments[0] in ("-h", "--help"):
                output.write("\n".join(usage()) + "\n")
                return 0
            source = 0 if arguments[0] == "-" else arguments[0]
            with open(source, encoding="utf-8-sig", newline="") as lines:
                score(lines, output)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output has closed it
    except KeyboardInterrupt:
        return 130
    except (OSError, UnicodeError, ValueError, csv.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def usage() -> Iterator[str]:
    """What --help shows."""
    yield "usage: python predict.py FILE"
    yield ""
    yield (__doc__ or "").partition("\n")[0]
    yield ""
    yield "Reads a CSV file in UTF-8 whose first line names the columns, or - for"
    yield "standard input. Writes it to standard output with a last column, prediction."
    yield ""
    yield f"Required columns: {'' if PARSERS else 'none'}".rstrip()
    for name, parse in PARSERS.items():
        yield f"  {name!r}: {parse.__name__.replace('parse_', '')}"
    yield "Other columns are copied. Missing values: empty fields" + "".join(
        f", {text!r}" for text in BLANKS if text
    )


def score(lines: Iterable[str], output: TextIO) -> None:
    """Predict the rows of a CSV file."""
    reader = csv_reader(lines)
    header = read_header(reader)
    writer = line_writer(output)
    writer.writerow([*header, "prediction"])
    for record, row in parsed(reader, header):
        writer.writerow([*record, predict(row)])


def csv_reader(lines: Iterable[str]) -> Any:
    """The records of a CSV file; blanks are skipped if they follow every comma."""
    rest = iter(lines)
    first = list(first_lines(rest))
    skips = has_blanks(first)
    return csv.reader(chain(first, rest), strict=True, skipinitialspace=skips)


def read_header(reader: Any) -> list[str]:
    """The names of the columns, from the first line that is not empty."""
    header: list[str] = next(filter(None, reader), [])
    required = list(FEATURES)
    for name in required:
        if header.count(name) != 1:
            found = f"column {name!r} occurs {header.count(name)} times"
            only = ", and commas between the columns" if len(header) == 1 else ""
            if name[:1] == "c" and name[1:].isdecimal():
                only = ", in a first line that names the columns c1, c2, ..."
            raise ValueError(f"{found}: expected exactly one{only}")
    if "prediction" in header:
        raise ValueError("there is already a column 'prediction': rename or remove it")
    return header


def parsed(
    reader: Any, header: list[str]
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Each record, and the values that the model reads from it."""
    places = {name: header.index(name) for name in FEATURES}
    for record in reader:
        if not record and len(header) > 1:
            continue
        record = record or [""]
        row: dict[str, Any] = {}
        try:
            if len(record) != len(header):
                raise ValueError(
                    f"{len(record)} fields where the header has {len(header)}"
                )
            for name, place in places.items():
                text = record[place]
                is_blank = text in BLANKS or text.isspace()
                row[name] = None if is_blank else PARSERS[name](name, text)
        except ValueError as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None
        yield record, row


def line_writer(output: TextIO) -> Any:
    """Writes records as lines of CSV."""

    class Lines:  # csv quotes a carriage return only if lines end in one, too
        def write(self, line: str) -> int:
            return output.write(line[:-2] + "\n")

    return csv.writer(Lines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
