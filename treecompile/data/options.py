"""What a user says of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treecompile.errors import OptionError
from treecompile.ir import ValueType
from treecompile.raw import PARSE
from treecompile.read import Table

CLASSIFY, REGRESS = "classify", "regress"


@dataclass(frozen=True, slots=True)
class DataOptions:
    """How to read a table for learning; all but the target may be left to the data."""

    target: str
    task: str | None = None  # "classify" or "regress"; None: by the target's type
    labels: tuple[str, ...] = ()  # label order; may name labels that do not occur
    na_values: tuple[str, ...] = ()  # texts that mean missing, besides an empty field
    categorical: tuple[str, ...] = ()  # columns to read as categories
    numeric: tuple[str, ...] = ()  # columns to read as numbers
    ordinal: tuple[tuple[str, tuple[str, ...]], ...] = ()  # and categories, in order
    ignore: tuple[str, ...] = ()  # columns to leave out
    weights: str = ""  # the column that says how much each row counts; "": all the same


def stated_kinds(table: Table, options: DataOptions) -> dict[str, str]:
    """What the options say of a column: the name of the one that mentions it."""
    if options.task not in (None, CLASSIFY, REGRESS):
        raise OptionError(f"--task {options.task!r}: expected classify or regress")
    table.column(options.target)
    stated: dict[str, str] = {}
    for option, names in (
        ("categorical", options.categorical),
        ("numeric", options.numeric),
        ("ordinal", tuple(name for name, _ in options.ordinal)),
        ("ignore", options.ignore),
        ("weights", (options.weights,) if options.weights else ()),
    ):
        for name in names:
            table.column(name)
            if name == options.target:
                raise OptionError(f"--{option} {name!r}: that is the target")
            if name in stated:
                raise OptionError(
                    f"--{option} {name!r}: --{stated[name]} names it already, keep one"
                )
            stated[name] = option
    return stated


def listed(
    name: str, type_: ValueType, texts: tuple[str, ...], option: str
) -> tuple[Any, ...]:
    """What an option lists for a column, in the column's type."""
    try:
        parsed = tuple(PARSE[type_](name, text) for text in texts)
    except ValueError as error:
        raise OptionError(f"{option}: {error}, as in the data") from error
    if not parsed:
        raise OptionError(f"{option} {name!r} lists nothing")
    for place, value in enumerate(parsed):
        if value in parsed[:place]:
            raise OptionError(f"{option} lists {value!r} twice")
    return parsed
