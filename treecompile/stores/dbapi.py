"""A database whose driver follows Python's DB-API (PEP 249): rows as tuples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from treecompile.errors import EngineError
from treecompile.stores.base import Phrases, StoredColumn, as_array
from treecompile.targets import Dialect


class DbApi:
    dialect: Dialect
    phrases: Phrases
    create = "CREATE TEMPORARY TABLE {name} AS {query}"
    drop = "DROP TEMPORARY TABLE IF EXISTS {name}"

    def __init__(self, connection: Any, errors: type[Exception]) -> None:
        self.connection, self.errors = connection, errors

    def columns(self, relation: str) -> list[StoredColumn]:
        raise NotImplementedError  # types are told by no standard

    def arrays(self, query: str) -> list[np.ndarray]:
        cursor = self.connection.cursor()
        with self.told():
            cursor.execute(query)
            rows = cursor.fetchall()  # some find their rows only now
        if not rows:
            return [np.zeros(0) for _ in cursor.description]
        return [as_array(column) for column in zip(*rows, strict=True)]

    def make(self, name: str, query: str) -> None:
        self.ask(self.drop.format(name=name))
        self.ask(self.create.format(name=name, query=query))

    def discard(self, name: str) -> None:
        self.ask(self.drop.format(name=name))

    def update(self, statement: str) -> None:
        self.ask(statement)

    def save(self, name: str, query: str) -> None:
        self.ask(f"CREATE TABLE {name} AS {query}")

    def ask(self, query: str) -> Any:
        cursor = self.connection.cursor()
        with self.told():
            cursor.execute(query)
        return cursor

    @contextmanager
    def told(self) -> Iterator[None]:
        """What goes wrong meanwhile is told in one line."""
        try:
            yield
        except self.errors as error:
            said = " ".join(str(error.args[-1] if error.args else error).split())
            raise EngineError(f"{self.dialect.name}: {said}") from error
