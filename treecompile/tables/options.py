"""What a user can say about a file, and about the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model.options import DATA, FILES, WEIGHTS, option

CLASSIFY, REGRESS = "classify", "regress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a file. All but `na_values` are about its format."""

    na_values: tuple[str, ...] = option(
        (),
        "Text that means missing, in addition to the empty text.",
        "TEXT",
        keyword="na_value",
        repeatable=True,
        group=DATA,
    )
    delimiter: str = option(
        "",
        "CSV: the character between fields, or `tab`.",
        "CHAR",
        shown="found in the file: comma, semicolon, tab or vertical bar",
        in_database=False,
        group=FILES,
    )
    decimal: str = option(
        ".",
        "Text files: the decimal sign of numbers, `.` or `,`.",
        "SIGN",
        accepts=lambda sign: sign in (".", ","),
        expected=". or ,",
        shown="a point",
        in_database=False,
        group=FILES,
    )
    no_header: bool = option(
        False,
        "CSV, Excel: the first line is data. The columns are named `c1`, `c2`, ...",
        in_database=False,
        group=FILES,
    )
    encoding: str = option(
        "",
        "Text files: the encoding, such as `latin-1` or `cp1252`.",
        "NAME",
        shown="UTF-8, or UTF-16 with a byte order mark",
        in_database=False,
        group=FILES,
    )
    sheet: str = option(
        "",
        "Excel: the name of the sheet.",
        "NAME",
        shown="the first",
        in_database=False,
        group=FILES,
    )


@dataclass(frozen=True, slots=True)
class DataOptions(ReadOptions):
    """How to read a table for learning. Only the target is required."""

    target: str
    task: str | None = option(
        None,
        "Predict labels (`classify`) or a number (`regress`).",
        "NAME",
        choices=(CLASSIFY, REGRESS),
        shown="by the type of the target; an integer with at most 10 values counts as"
        " labels",
        group=DATA,
    )
    labels: tuple[str, ...] = option(
        (),
        "All labels, in the order that breaks ties.",
        "A,B,C",
        shown="sorted",
        group=DATA,
    )
    categorical: tuple[str, ...] = option(
        (),
        "Treat the numbers in this column as categories.",
        "COL",
        repeatable=True,
        group=DATA,
    )
    numeric: tuple[str, ...] = option(
        (), "Require numbers in this column.", "COL", repeatable=True, group=DATA
    )
    ordinal: tuple[tuple[str, tuple[str, ...]], ...] = option(
        (),
        "Treat this column as ordered categories, listed from low to high.",
        "COL=A,B,C",
        repeatable=True,
        group=DATA,
    )
    ignore: tuple[str, ...] = option(
        (), "Leave this column out.", "COL", repeatable=True, group=DATA
    )
    weights: str = option(
        "",
        "Column with the weight of each row. It is not used as a feature.",
        "COL",
        in_database=False,
        group=WEIGHTS,
    )
