"""Databases that stay open, and what all mutants of one artefact have in common.

`verify` starts an interpreter, compiles the original again, searches for rows and fills
tables, for each artefact that it is given. A test of some hundred mutants of one
artefact keeps all that: it is the same for most of them.
"""

from __future__ import annotations

import os
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.support.mutants import Emitted
from tests.support.quick import in_this_process
from treecompile.engines.addresses import ENGINES
from treecompile.engines.base import Connection, Engine
from treecompile.model.ir import Row
from treecompile.verify import verification
from treecompile.verify.rows import ProbeRows, probe_rows

MOST_TABLES = 12  # a few for each number type and text type of a database


class KeptTables(Connection):
    """Runs queries in a database that holds the given rows already, if there is one.

    Each set of rows has a database of its own. One in which a query fails is given up:
    its session may be unusable.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        with engine.sandbox(engine.url) as connection:
            self.create, self.schema = connection.create, connection.schema
            super().__init__(None, *connection.errors)
        self.filled: OrderedDict[object, tuple[Connection, ExitStack]] = OrderedDict()
        self.created = ""  # the last CREATE TABLE
        self.key: object = None  # of the rows that are asked

    def execute(self, query: str, *parameters: Any) -> Any:
        if query.startswith("CREATE "):
            self.created = query  # run by `insert`, if the rows are new
            return None
        try:
            return self.chosen().execute(query, *parameters)
        except self.errors:
            self.give_up()
            raise

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        with self.chosen().locked(seconds):
            yield

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        try:
            return self.filled[self.key][0].fetch(query, most)
        except self.errors:
            self.give_up()
            raise

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        self.key = self.created, pickle.dumps((types, rows))
        if self.key in self.filled:
            self.filled.move_to_end(self.key)
            return
        if len(self.filled) == MOST_TABLES:
            self.forget(next(iter(self.filled)))
        try:
            connection = self.opened()
            connection.execute(self.created)
            connection.insert(table, types, rows)
        except BaseException:
            self.give_up()
            raise

    def opened(self) -> Connection:
        """A new database, for the current key."""
        stack = ExitStack()
        connection = stack.enter_context(self.engine.sandbox(self.engine.url))
        self.filled[self.key] = connection, stack
        return connection

    def chosen(self) -> Connection:
        return self.filled[self.key][0]

    def give_up(self) -> None:
        if self.key in self.filled:
            self.forget(self.key)

    def forget(self, key: object) -> None:
        self.filled.pop(key)[1].close()

    def close(self) -> None:
        while self.filled:
            self.forget(next(iter(self.filled)))


class KeptDatabases(KeptTables):
    """The same in one session, in which each set of rows has a database of its own.

    A query runs in the current database, which the session has to be told each time.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.database = "SCHEMA" if engine.name == "duckdb" else "DATABASE"
        self.cascade = " CASCADE" * (engine.name in ("duckdb", "spark"))
        self.names: dict[object, str] = {}  # of the database, by key
        self.numbers = count()
        self.whole: tuple[Connection, ExitStack] | None = None

    def opened(self) -> Connection:
        if self.whole is None:
            stack = ExitStack()
            shared = stack.enter_context(self.engine.sandbox(self.engine.url))
            self.whole = shared, stack
        name = self.names[self.key] = f"kept_{os.getpid()}_{next(self.numbers)}"
        connection = self.whole[0]
        connection.execute(f"CREATE {self.database} {name}")
        connection.execute(f"USE {name}")
        self.filled[self.key] = connection, ExitStack()
        return connection

    def chosen(self) -> Connection:
        connection, _ = self.filled[self.key]
        connection.execute(f"USE {self.names[self.key]}")
        return connection

    def forget(self, key: object) -> None:
        connection, _ = self.filled.pop(key)
        connection.execute(f"DROP {self.database} {self.names[key]}{self.cascade}")

    def close(self) -> None:
        super().close()
        if self.whole is not None:
            self.whole[1].close()
            self.whole = None


class KeptClickHouse(KeptDatabases):
    def give_up(self) -> None:
        """All of it: an error spoils the answers to come."""
        self.filled.clear()
        self.close()


class OneSession(Connection):
    """A session in which artefacts run one after another; it drops their tables."""

    TABLE = re.compile(r"CREATE (?:TEMPORARY )?TABLE (\S+)")

    def __init__(self, engine: Engine) -> None:
        self.engine, self.stack, self.tables = engine, ExitStack(), list[str]()
        self.open()

    def open(self) -> None:
        self.inner = self.stack.enter_context(self.engine.sandbox(self.engine.url))
        self.create, self.schema = self.inner.create, self.inner.schema
        super().__init__(None, *self.inner.errors)

    def execute(self, query: str, *parameters: Any) -> Any:
        try:
            found = self.inner.execute(query, *parameters)
        except self.errors:
            self.stack.close()
            self.tables.clear()
            self.open()
            raise
        self.tables += self.TABLE.findall(query)
        return found

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        with self.inner.locked(seconds):
            yield

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        return self.inner.fetch(query, most)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        self.inner.insert(table, types, rows)

    @contextmanager
    def sandbox(self, url: str) -> Iterator[Connection]:
        try:
            yield self
        finally:
            while self.tables:
                self.inner.execute(f"DROP TABLE {self.tables.pop()}")


@contextmanager
def in_one_session(engine: Engine) -> Iterator[Engine]:
    """The same database, which is not opened again for every artefact."""
    session = OneSession(engine)
    with session.stack:
        yield replace(engine, sandbox=session.sandbox)


@contextmanager
def kept_engine(engine: Engine) -> Iterator[Engine]:
    """The same database, which keeps the tables that artefacts are run on."""
    kinds = {
        "clickhouse": KeptClickHouse,
        **dict.fromkeys(("duckdb", "mariadb", "spark"), KeptDatabases),
    }
    kept = kinds.get(engine.name, KeptTables)(engine)

    @contextmanager
    def sandbox(url: str) -> Iterator[Connection]:
        yield kept

    try:
        yield replace(engine, sandbox=sandbox)
    finally:
        kept.close()


@contextmanager
def many_mutants(text: str, engine: Engine | None) -> Iterator[Engine | None]:
    """Make `verify` quick on mutants of one artefact, whose text is given."""
    with in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "emit", lambda *_: Emitted(text))
        patch.setattr(verification, "probe_rows", remembered(probe_rows))
        if engine is None:
            yield None
            return
        with kept_engine(engine) as kept:
            patch.setitem(ENGINES, engine.name, kept)
            yield kept


def remembered(search: Callable[..., ProbeRows]) -> Callable[..., ProbeRows]:
    """The search for rows, of one model: the same for the same constants and claim."""
    known: dict[str, ProbeRows] = {}

    def probe_once(body: Any, *given: Any, answer: Any, **more: Any) -> ProbeRows:
        key = repr((given, answer.__self__, more))
        if key not in known:
            known[key] = search(body, *given, answer=answer, **more)
        return known[key]

    return probe_once
