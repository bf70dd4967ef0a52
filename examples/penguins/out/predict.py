"""Predict species: 6 rules learned by c45.

    >>> predict(
    ...     {
    ...         "bill_length_mm": 38.0,
    ...         "bill_depth_mm": 17.0,
    ...         "flipper_length_mm": 190.0,
    ...         "body_mass_g": 4500.0,
    ...     }
    ... )
    'Adelie'
    >>> predict_values(38.0, 17.0, 190.0, 4500.0)
    'Adelie'

Compiled by treecompile 0.1.0 from the model with SHA-256
7e58a52e787aee06ff4b64318fd55551db4a2b33ed7fbe775a207b98e1498701.
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
from math import inf, nan
from numbers import Real
from typing import Any, TextIO

MODEL = {
    "name": "species",
    "algorithm": "c45",
    "version": "0.1.0",
    "sha256": "7e58a52e787aee06ff4b64318fd55551db4a2b33ed7fbe775a207b98e1498701",
    "rules": 6,
    "rows": 241,
}
FEATURES = {
    "bill_length_mm": "number",
    "bill_depth_mm": "number",
    "flipper_length_mm": "number",
    "body_mass_g": "number",
}
CLASSES = ("Adelie", "Chinstrap", "Gentoo")


def predict(row: Mapping[str, Any], rule: bool = False) -> str:
    """Predict species for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it. With `rule`, the result is the id of the rule
    that decides.
    """
    bill_length_mm = row["bill_length_mm"]
    bill_depth_mm = row["bill_depth_mm"]
    flipper_length_mm = row["flipper_length_mm"]
    body_mass_g = row["body_mass_g"]
    if bill_length_mm.__class__ is not float and bill_length_mm.__class__ is not int:
        bill_length_mm = as_number("bill_length_mm", bill_length_mm)
    if bill_depth_mm.__class__ is not float and bill_depth_mm.__class__ is not int:
        bill_depth_mm = as_number("bill_depth_mm", bill_depth_mm)
    if (
        flipper_length_mm.__class__ is not float
        and flipper_length_mm.__class__ is not int
    ):
        flipper_length_mm = as_number("flipper_length_mm", flipper_length_mm)
    if body_mass_g.__class__ is not float and body_mass_g.__class__ is not int:
        body_mass_g = as_number("body_mass_g", body_mass_g)
    if not flipper_length_mm > 207.0:
        if not bill_length_mm > 43.1:
            return "R1" if rule else "Adelie"  # 93 of 96 cases
        if not body_mass_g > 4100.0:
            return "R2" if rule else "Chinstrap"  # 42 of 42 cases
        if bill_length_mm <= 48.8:
            return "R3" if rule else "Adelie"  # 3 of 5 cases
        return "R4" if rule else "Chinstrap"  # 6 of 6 cases
    if not bill_depth_mm > 17.6:
        return "R5" if rule else "Gentoo"  # 87 of 87 cases
    return "R6" if rule else "Chinstrap"  # 3 of 5 cases


def predict_values(
    bill_length_mm: Any,
    bill_depth_mm: Any,
    flipper_length_mm: Any,
    body_mass_g: Any,
    /,
    *,
    rule: bool = False,
) -> str:
    """Predict species from values in the order of FEATURES.

    By position they are read faster. They are checked and converted as by `predict`.
    """
    if bill_length_mm.__class__ is not float and bill_length_mm.__class__ is not int:
        bill_length_mm = as_number("bill_length_mm", bill_length_mm)
    if bill_depth_mm.__class__ is not float and bill_depth_mm.__class__ is not int:
        bill_depth_mm = as_number("bill_depth_mm", bill_depth_mm)
    if (
        flipper_length_mm.__class__ is not float
        and flipper_length_mm.__class__ is not int
    ):
        flipper_length_mm = as_number("flipper_length_mm", flipper_length_mm)
    if body_mass_g.__class__ is not float and body_mass_g.__class__ is not int:
        body_mass_g = as_number("body_mass_g", body_mass_g)
    if not flipper_length_mm > 207.0:
        if not bill_length_mm > 43.1:
            return "R1" if rule else "Adelie"  # 93 of 96 cases
        if not body_mass_g > 4100.0:
            return "R2" if rule else "Chinstrap"  # 42 of 42 cases
        if bill_length_mm <= 48.8:
            return "R3" if rule else "Adelie"  # 3 of 5 cases
        return "R4" if rule else "Chinstrap"  # 6 of 6 cases
    if not bill_depth_mm > 17.6:
        return "R5" if rule else "Gentoo"  # 87 of 87 cases
    return "R6" if rule else "Chinstrap"  # 3 of 5 cases


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
    "R1": (0.9747505959212501, 0.021100026485388893, 0.004149377593360996),
    "R2": (0.004149377593360996, 0.9917012448132779, 0.004149377593360996),
    "R3": (0.5991701244813278, 0.19834024896265562, 0.20248962655601663),
    "R4": (0.004149377593360996, 0.9917012448132779, 0.004149377593360996),
    "R5": (0.004149377593360995, 0.0, 0.9958506224066389),
    "R6": (0.40082987551867216, 0.5950207468879669, 0.004149377593360996),
}

RULES = {
    "R1": "R1: if flipper_length_mm <= 207 (or missing) and bill_length_mm <= 43.1 (or missing) then species = Adelie (93 of 96 cases)",
    "R2": "R2: if flipper_length_mm <= 207 (or missing) and bill_length_mm > 43.1 and body_mass_g <= 4100 (or missing) then species = Chinstrap (42 of 42 cases)",
    "R3": "R3: if flipper_length_mm <= 207 (or missing) and 43.1 < bill_length_mm <= 48.8 and body_mass_g > 4100 then species = Adelie (3 of 5 cases)",
    "R4": "R4: if flipper_length_mm <= 207 (or missing) and bill_length_mm > 48.8 and body_mass_g > 4100 then species = Chinstrap (6 of 6 cases)",
    "R5": "R5: if flipper_length_mm > 207 and bill_depth_mm <= 17.6 (or missing) then species = Gentoo (87 of 87 cases)",
    "R6": "R6: if flipper_length_mm > 207 and bill_depth_mm > 17.6 then species = Chinstrap (3 of 5 cases)",
}


def is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def is_boolean(value: Any) -> bool:
    """A bool, or the boolean scalar of numpy."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def is_real(value: Any) -> bool:
    """A number that is not a boolean, nor a span of time, which numpy calls one."""
    if is_boolean(value) or type(value).__name__ == "timedelta64":
        return False
    return isinstance(value, (Real, Decimal))


def as_number(name: str, value: Any) -> float:
    """Any real number as the nearest double; NaN where it is missing."""
    if is_missing(value):
        return nan
    if is_real(value) or is_boolean(value):
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    raise TypeError(f"{name!r} is {value!r}: expected a number")


NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)[ \t]*"
)


def parse_number(name: str, text: str) -> float:
    """Read a decimal number or an infinity ("nan", "1_0" and "0x10" are neither)."""
    if NUMBER.fullmatch(text):
        return float(text)
    raise ValueError(f"{name!r} is {text!r}: expected a number")


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


PARSERS = {
    "bill_length_mm": parse_number,
    "bill_depth_mm": parse_number,
    "flipper_length_mm": parse_number,
    "body_mass_g": parse_number,
}
BLANKS = ("", "NA")


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
