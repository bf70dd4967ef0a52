"""Where a table to learn from is: in a database, or in files that DuckDB reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecompile.errors import DataError
from treecompile.literals import duckdb_string
from treecompile.lower.sql_names import Quoting
from treecompile.stores import open_store, opened
from treecompile.stores.base import Store

PATTERN = frozenset("*?[")
IN_MEMORY = "duckdb://"  # a database without a file


@dataclass(frozen=True, slots=True)
class Place:
    relation: str  # what stands behind FROM
    source: str  # as the model file calls it
    store: Store
    is_files: bool = False


def is_many_files(data: str) -> bool:
    """Whether DATA is a folder, or a pattern of file names."""
    path = Path(data)
    try:
        return path.is_dir() or (bool(PATTERN & set(data)) and not path.exists())
    except (OSError, ValueError):  # a name that no file can have
        return False


def open_place(
    data: str | None,
    url: str,
    table: str,
    memory_limit: str = "",
    *,
    writes: bool = False,
) -> AbstractContextManager[Place]:
    """Files, or where there are none a table of a database, perhaps to write beside."""
    if data is None:
        return open_table(url, table, memory_limit, writes=writes)
    return open_files(data, memory_limit)


@contextmanager
def open_table(
    source: Any, table: str, memory_limit: str = "", *, writes: bool = False
) -> Iterator[Place]:
    """A table of a database, at an address or behind a connection."""
    with opened(source, memory_limit, writes=writes) as store:
        relation = Quoting(store.dialect).path("--table", table)
        yield Place(relation, table, store)


@contextmanager
def open_files(data: str, memory_limit: str = "") -> Iterator[Place]:
    """All Parquet files in a folder, or with names of a pattern."""
    pattern = data
    if Path(data).is_dir():
        pattern = str(Path(data) / "**" / "*.parquet")
    elif not data.lower().endswith(".parquet"):
        raise DataError(f"{data!r}: a pattern of files is for Parquet, as *.parquet")
    with open_store(IN_MEMORY, memory_limit) as store:
        relation = f"read_parquet({duckdb_string(pattern)})"
        yield Place(relation, Path(data).name, store, is_files=True)
