"""Decides where rows are read, and opens that place.

Rows are in a table of a database, in Parquet files that DuckDB queries, or in data that
is read into memory; `in_database` tells which.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from glob import iglob
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

from treecompile.emit.literals import duckdb_string
from treecompile.emit.sql.text import Quoting
from treecompile.engines.addresses import open_store
from treecompile.engines.base import Store
from treecompile.model.errors import DataError, OptionError

PATTERN = frozenset("*?[")
BYTES = 32  # that one value takes while a tree is learned in memory
IN_MEMORY = "duckdb://"  # DuckDB without a database file


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a database: `learn`, `evaluate` and `score` work there.

    `source` is an address (`duckdb://shop.db`, `postgresql://...`, `spark:` and others)
    or, in a notebook, a DuckDB connection or a Spark session. `name` may include a
    schema, as in `sales.orders`. `memory_limit` is for DuckDB, by address.
    """

    source: Any
    name: str
    memory_limit: str = ""


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """The Parquet files in a folder, or those that match a pattern, for DuckDB."""

    pattern: str
    memory_limit: str = ""


@dataclass(frozen=True, slots=True)
class TableLocation:
    """An open table, or open files."""

    relation: str  # the text that follows FROM
    source: str  # as the model file calls it
    store: Store
    is_files: bool = False


def in_database(data: object, memory_limit: str = "") -> Table | ParquetFiles | None:
    """Return the table or files that a database reads; None to read into memory.

    `data` is a Table, the path of a file or folder, a pattern of paths, or anything
    that `read_table` takes. `memory_limit` is for files.
    """
    if isinstance(data, (Table, ParquetFiles)):
        return data
    if isinstance(data, (str, Path)) and is_many_files(str(data)):
        return ParquetFiles(str(data), memory_limit)
    if memory_limit:
        raise OptionError(
            "memory_limit is for DuckDB: use it with from=duckdb://FILE, or with"
            " Parquet files by pattern or folder"
        )
    return None


def too_large(data: object) -> tuple[ParquetFiles, str] | None:
    """Return a Parquet file that DuckDB should read, and a note; None for other data.

    It is a file too large for memory, where DuckDB is installed.
    """
    name = str(data)
    if not isinstance(data, (str, Path)) or not name.lower().endswith(".parquet"):
        return None
    if PATTERN & set(name) or find_spec("duckdb") is None:
        return None
    try:
        from pyarrow.parquet import read_metadata

        found = read_metadata(name)
    except (ImportError, OSError, ValueError):  # reported when the file is read
        return None
    needed = found.num_rows * found.num_columns * BYTES
    if needed <= available_memory():
        return None
    note = (
        f"{Path(name).name} has {found.num_rows:,} rows of {found.num_columns} columns,"
        f" about {needed / 1e9:.0f} GB in memory: DuckDB reads it instead"
    )
    return ParquetFiles(name), note


def available_memory() -> float:
    """Return the bytes that can be used without swapping; infinite where unknown."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024.0 * int(text.split("MemAvailable:")[1].split()[0])
    except (OSError, ValueError, IndexError):
        return inf


def is_many_files(data: str) -> bool:
    """Whether a path is a folder, or a pattern of file names."""
    path = Path(data)
    if not data:  # the path of the current folder
        return False
    try:
        return path.is_dir() or (bool(PATTERN & set(data)) and not path.exists())
    except (OSError, ValueError):  # a name that no file can have
        return False


def check_found(data: object) -> None:
    """Refuse a pattern of file names that matches no file."""
    if not isinstance(data, (str, Path)) or "://" in str(data):
        return
    name = str(data)
    is_pattern = is_many_files(name) and not Path(name).is_dir()
    if is_pattern and next(iglob(name, recursive=True), None) is None:
        raise DataError(f"no file matches {name!r}: check the path")


def open_location(
    data: Table | ParquetFiles, *, writes: bool = False
) -> AbstractContextManager[TableLocation]:
    """Open what `in_database` returned; `writes` says that a table will be created."""
    if isinstance(data, ParquetFiles):
        return open_files(data.pattern, data.memory_limit)
    return open_table(data.source, data.name, data.memory_limit, writes=writes)


@contextmanager
def open_table(
    source: Any, table: str, memory_limit: str = "", *, writes: bool = False
) -> Iterator[TableLocation]:
    """Open a table of a database, given by an address or a connection."""
    with open_store(source, memory_limit, writes=writes) as store:
        relation = Quoting(store.dialect).path("table", table)
        yield TableLocation(relation, table, store)


@contextmanager
def open_files(data: str, memory_limit: str = "") -> Iterator[TableLocation]:
    """Open all Parquet files in a folder, or those that match a pattern."""
    pattern = data
    if Path(data).is_dir():
        pattern = str(Path(data) / "**" / "*.parquet")
    elif not data.lower().endswith(".parquet"):
        raise DataError(
            f"{data!r}: a pattern can name only Parquet files, such as *.parquet"
        )
    with open_store(IN_MEMORY, memory_limit) as store:
        relation = f"read_parquet({duckdb_string(pattern)})"
        yield TableLocation(relation, Path(data).name, store, is_files=True)
