"""Tables that stay in their database, as what models are learned from and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from treecompile.data import DataOptions
from treecompile.errors import OptionError
from treecompile.in_database.learn import LearnedThere, learn
from treecompile.in_database.places import (
    Place,
    is_many_files,
    open_files,
    open_table,
)
from treecompile.in_database.validation import (
    InMemory,
    InTable,
    Validation,
    in_the_same,
    validation_of,
)
from treecompile.learn_options import LearnOptions
from treecompile.read import read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a database: `learn`, `evaluate`, `prune` and `score` work there.

    `source` is an address (`duckdb://shop.db`, `postgresql://...`, `spark:` and others)
    or what a notebook has at hand: a connection of DuckDB, a session of Spark. `name`
    may have a schema, as `sales.orders`. `memory_limit` is for DuckDB, by address.
    """

    source: Any
    name: str
    memory_limit: str = ""


Data: TypeAlias = "str | Path | pd.DataFrame | Table"


def is_there(data: object) -> bool:
    """Whether data stays where it is: a table of a database, or many files."""
    if isinstance(data, (str, Path)):
        return is_many_files(str(data))
    return isinstance(data, Table)


def opened(data: object, *, writes: bool = False) -> AbstractContextManager[Place]:
    """Where the data is."""
    if isinstance(data, Table):
        return open_table(data.source, data.name, data.memory_limit, writes=writes)
    return open_files(str(data))


def in_memory(data: Data, what: str) -> str | Path | pd.DataFrame:
    """The same data, if it is read into memory."""
    if isinstance(data, Table):
        raise OptionError(f"{what} needs the rows in memory, not a Table")
    return data


def learn_there(
    data: Data, columns: DataOptions, options: LearnOptions, validation: Data | None
) -> LearnedThere:
    """Learn where the data is."""
    with opened(data) as there, _held_out(there, data, validation) as rows:
        return learn(
            there.store, there.relation, columns, options, there.source, validation=rows
        )


@contextmanager
def _held_out(
    there: Place, data: Data, validation: Data | None
) -> Iterator[Validation | None]:
    if isinstance(validation, Table):
        if isinstance(data, Table) and validation.source == data.source:
            yield in_the_same(there, validation.name)
            return
        with opened(validation) as other:
            yield InTable(other.store, other.relation, other.source)
    elif isinstance(validation, (str, Path)):
        with validation_of(there, str(validation), "") as rows:
            yield rows
    else:
        yield None if validation is None else InMemory(read_table(validation))
