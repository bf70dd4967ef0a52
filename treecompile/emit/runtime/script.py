"""The functions of a Python module that is run as a script: python predict.py FILE.

As in `rows`, the constants are an example.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TextIO

from treecompile.emit.runtime.rows import predict
from treecompile.model.values import (
    date_part,
    first_lines,
    has_blanks,
    parse_number,
    parse_text,
)

BOOLEANS = False  # whether True and False are among the labels
COMPUTES = False  # whether some features are computed from dates

FEATURES = ("sky", "heat")
PARSERS: dict[str, Callable[[str, str], Any]] = {
    "sky": parse_text,
    "heat": parse_number,
}
BLANKS = ("", "?")
DATES = {"born_year": ("born", "year")}


# ---------------------------------------------------------------- copied


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
    if COMPUTES:
        for name in dict.fromkeys(map(source, PARSERS)):
            parse = PARSERS.get(name)
            kind = parse.__name__.replace("parse_", "") if parse else "date"
            yield f"  {name!r}: {kind}"
    else:
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
        if BOOLEANS:
            writer.writerow([*record, as_field(predict(row))])
        else:
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
    if COMPUTES:
        required = list(map(source, FEATURES))
    else:
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
    if COMPUTES:
        places = {name: header.index(source(name)) for name in FEATURES}
    else:
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
                if COMPUTES:
                    row[name] = None if is_blank else read_field(name, text)
                else:
                    row[name] = None if is_blank else PARSERS[name](name, text)
        except ValueError as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None
        yield record, row


def source(name: str) -> str:
    """The column that a feature is read from."""
    return DATES[name][0] if name in DATES else name


def read_field(name: str, text: str) -> Any:
    """The value of a feature, perhaps computed from a date."""
    if name in DATES:
        column, part = DATES[name]
        return date_part(column, text, part)
    return PARSERS[name](name, text)


def line_writer(output: TextIO) -> Any:
    """Writes records as lines of CSV."""

    class Lines:  # csv quotes a carriage return only if lines end in one, too
        def write(self, line: str) -> int:
            return output.write(line[:-2] + "\n")

    return csv.writer(Lines())


def as_field(answer: Any) -> str:
    """True or False as CSV has it."""
    return str(answer).lower()
