"""What the modules of the databases share: connections, stores, columns.

A `Connection` runs an artefact. A `Store` is what learning and scoring work in: its
queries return arrays. Nothing here knows about trees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.model.errors import EngineError
from treecompile.model.ir import Row

if TYPE_CHECKING:
    import pyarrow as pa

# ---------------------------------------------------------------- columns


class Family(Enum):
    """What a column holds, according to its type."""

    INTEGER = "integer"
    NUMBER = "number"  # floats and decimals
    TEXT = "text"
    BOOLEAN = "boolean"
    OTHER = "other"

    @property
    def is_number(self) -> bool:
        return self in (Family.INTEGER, Family.NUMBER)


FAMILIES = {
    Family.INTEGER: "tinyint smallint int integer bigint hugeint int2 int4 int8 long"
    " short byte utinyint usmallint uinteger ubigint uhugeint mediumint",
    Family.NUMBER: "float double real decimal numeric float4 float8 null void",
    Family.TEXT: "varchar text string char bpchar character name enum",
    Family.BOOLEAN: "boolean bool",
}


@dataclass(frozen=True, slots=True)
class StoredColumn:
    name: str
    type: str  # as the database calls it: "DECIMAL(10,2)"

    @property
    def family(self) -> Family:
        """By the first word of the type."""
        word = self.type.lower().replace("(", " ").split(" ")[0].strip('"')
        for family, names in FAMILIES.items():
            if word in names.split():
                return family
        return Family.OTHER


# ---------------------------------------------------------------- engines


class Store(Protocol):
    """An open database that learning and scoring work in, from one thread.

    The temporary tables it makes are gone when it is closed.
    """

    dialect: Dialect

    def columns(self, relation: str) -> list[StoredColumn]:
        """The columns of a table, or of a subquery."""

    def arrays(self, query: str) -> list[np.ndarray]:
        """The result's columns; a missing number is NaN, any other NULL is None."""

    def make(self, name: str, query: str) -> None:
        """Create a temporary table from a query, in a database that learns.

        It replaces a temporary table of that name, and hides a permanent one.
        """

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""

    def save(self, name: str, query: str) -> None:
        """Create a permanent table, completely or not at all; it must not exist yet."""


class Connection:
    """An open database that runs artefacts; wraps a connection of the Python driver."""

    create = "CREATE TABLE {} ({})"  # a temporary table where there are some
    # Creates the schema of a table. "": none is needed. None: it could not be undone.
    schema: str | None = "CREATE SCHEMA IF NOT EXISTS {}"

    def __init__(self, connection: Any, *errors: type[Exception]) -> None:
        self.connection = connection
        self.errors = errors  # what the driver raises if it cannot run a query

    def execute(self, query: str, *parameters: Any) -> Any:
        """Run one statement; the driver's errors pass through."""
        return self.connection.execute(query, *parameters)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        raise NotImplementedError

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        """While it is open, an artefact can run: it only reads, for a limited time.

        Raises TimeoutError if a query was stopped because its time was over.
        """
        self.seconds = seconds  # for engines that take the limit with the query
        end = monotonic() + seconds
        done = threading.Event()

        def watch() -> None:
            wait = seconds
            while not done.wait(wait):
                with suppress(Exception):  # the connection may be closed by now
                    self.cancel()
                wait = 1.0  # again: a query that is only planned cannot be cancelled

        threading.Thread(target=watch, daemon=True).start()
        try:
            with self.read_only(seconds):
                yield
        except BaseException:
            if monotonic() < end:
                raise
            raise TimeoutError from None
        finally:
            done.set()

    @contextmanager
    def read_only(self, seconds: float) -> Iterator[None]:
        """Take from the session what it can do, as far as the database allows."""
        yield

    def cancel(self) -> None:
        """End the running query; called in another thread."""

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        """The first records of a query."""
        found: Sequence[Sequence[Any]] = self.execute(query).fetchmany(most)
        return found


Sandbox = Callable[[str], AbstractContextManager[Connection]]
Open = Callable[[str, str, bool], AbstractContextManager[Store]]
Borrow = Callable[[Any], AbstractContextManager[Store]]  # takes a connection


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of database, and how to connect to it."""

    name: str  # of its dialect: "postgres"
    # To run artefacts: takes a URL or "". The database is left as it was found.
    sandbox: Sandbox
    # To learn and score: takes the address, the memory limit or "", and whether tables
    # that last are created. None if learning is not supported.
    open: Open | None = None
    own_memory: str = ""  # why it takes no memory limit
    url: str = ""  # of the server that runs artefacts; "": in this process

    @property
    def dialect(self) -> Dialect:
        return read_dialect(self.name)

    def at(self, url: str) -> Engine:
        return replace(self, url=url)


# ---------------------------------------------------------------- stores


def first_line(error: BaseException) -> str:
    return " ".join(str(error).strip().partition("\n")[0].split())


class SqlStore(Connection):
    """A store whose driver runs SQL and fetches rows, as most do."""

    key: str  # of its dialect
    mark = "?"  # stands for a parameter in a query
    message = staticmethod(first_line)  # of an error, in one line

    def __init__(self, connection: Any, *errors: type[Exception]) -> None:
        super().__init__(connection, *errors)
        self.dialect = read_dialect(self.key)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert one list per column: row by row takes a millisecond for each."""
        lists = ", ".join(f"unnest({self.mark}::{kind}[])" for kind in types)
        columns = [list(column) for column in zip(*rows, strict=True)]
        self.execute(f"INSERT INTO {table} SELECT {lists}", columns)

    def arrays(self, query: str) -> list[np.ndarray]:
        with self.one_line_errors():
            result = self.ask(query)
            rows = result.fetchall()  # some databases run the query only now
        if not rows:
            return [np.zeros(0) for _ in result.description]
        return [as_array(column) for column in zip(*rows, strict=True)]

    def make(self, name: str, query: str) -> None:
        raise NotImplementedError

    def run(self, statement: str) -> None:
        self.ask(statement)

    def save(self, name: str, query: str) -> None:
        self.ask(f"CREATE TABLE {name} AS {query}")

    def ask(self, query: str) -> Any:
        with self.one_line_errors():
            return self.execute(query)

    @contextmanager
    def one_line_errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours, whose message is one line."""
        try:
            yield
        except self.errors as error:
            said = self.message(error)
            raise EngineError(f"{self.dialect.name}: {said}") from error


def as_array(values: Sequence[object]) -> np.ndarray:
    """A column of a result from Python objects."""
    known = {type(value) for value in values} - {type(None)}
    if known <= {int} and known and None not in values:
        return np.array(values, np.int64)
    if all(kind.__name__ in ("int", "float", "Decimal") for kind in known):
        return np.array([np.nan if v is None else v for v in values], np.float64)
    result = np.empty(len(values), object)
    result[:] = values
    return result


# ---------------------------------------------------------------- Arrow

LOADED = "treecompile_loaded"  # a name for rows that are to be inserted


@dataclass(frozen=True, slots=True)
class Fetched:
    """A result that is completely in memory."""

    rows: list[tuple[Any, ...]]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows

    def fetchmany(self, most: int) -> list[tuple[Any, ...]]:
        return self.rows[:most]


class ArrowConnection(Connection):
    """A connection whose driver returns Arrow tables."""

    def arrow(self, query: str) -> pa.Table:
        raise NotImplementedError

    def execute(self, query: str, *parameters: Any) -> Fetched:
        return Fetched(rows_of(self.arrow(query)))


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def arrow_table(rows: Sequence[Row]) -> pa.Table:
    """Rows as an Arrow table with columns c0, c1, ..."""
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.table({f"c{n}": pa.array(column) for n, column in enumerate(columns)})


# ---------------------------------------------------------------- helpers


DRIVERS = {  # Python packages: the product, and the extra that installs them
    "duckdb": ("DuckDB", "duckdb"),
    "psycopg": ("PostgreSQL", "postgres"),
    "pymysql": ("MariaDB and MySQL", "mariadb"),
    "chdb": ("ClickHouse", "clickhouse"),
    "pyspark": ("Spark", "spark"),
    "datafusion": ("DataFusion", "datafusion"),
}


def driver(package: str) -> Any:
    """A Python package, or an error that says what to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError:  # another ImportError may be for want of memory
        product, extra = DRIVERS[package]
        raise EngineError(
            f"the driver for {product} is not installed:"
            f" pip install 'treecompile[{extra}]'"
        ) from None


def database_file(url: str, *, is_optional: bool = False) -> str:
    """The path in an address such as duckdb://FILE."""
    path = url.partition(":")[2].removeprefix("//")
    if not Path(path).is_file() and (path or not is_optional):
        raise EngineError(f"no database file {path!r}: check the path")
    return path
