"""What a user can say about the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model.options import DATA, WEIGHTS, option

CLASSIFY, REGRESS = "classify", "regress"


@dataclass(frozen=True, slots=True)
class DataOptions:
    """How to read a table for learning. Only the target is required."""

    target: str
    task: str | None = option(
        None,
        "Predict labels (`classify`) or a number (`regress`).",
        "NAME",
        choices=(CLASSIFY, REGRESS),
        shown="from the type of the target; an integer target with at most 10 values"
        " has labels",
        group=DATA,
    )
    labels: tuple[str, ...] = option(
        (),
        "All labels, in the order that breaks ties.",
        "A,B,C",
        shown="sorted",
        group=DATA,
    )
    na_values: tuple[str, ...] = option(
        (),
        "Text that means missing, in addition to the empty text.",
        "TEXT",
        keyword="na_value",
        repeatable=True,
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
        in_database=("id3", "cart"),
        group=WEIGHTS,
    )
