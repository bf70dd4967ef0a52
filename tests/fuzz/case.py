"""A case: one input as data, which can be kept in a file and run again."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Database:
    """A database file with one table, made before the commands run."""

    file: str
    engine: str  # sqlite or duckdb
    table: str
    columns: list[tuple[str, str]]  # names and types
    rows: list[list[Any]]

    def create(self, folder: Path) -> None:
        names = ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)
        marks = ", ".join("?" * len(self.columns))
        with closing(connect(self.engine, folder / self.file)) as connection:
            connection.execute(f"CREATE TABLE {quoted(self.table)} ({names})")
            if self.rows:
                insert = f"INSERT INTO {quoted(self.table)} VALUES ({marks})"
                connection.executemany(insert, self.rows)
            connection.commit()


def connect(engine: str, path: Path) -> Any:
    if engine == "sqlite":
        return sqlite3.connect(path)
    import duckdb

    return duckdb.connect(str(path))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Case:
    door: str
    commands: tuple[tuple[str, ...], ...] = ()  # run until one does not succeed
    files: Mapping[str, bytes] = field(default_factory=dict)
    databases: tuple[Database, ...] = ()
    stdin: bytes = b""
    writes: tuple[str, ...] = ()  # files and folders that the commands may make
    changes: tuple[str, ...] = ()  # inputs that they may change
    rows: tuple[str, ...] = ()  # expressions in Python, for the door `rows`
    seed: int = 0  # of the rows that the oracle tries


# ---------------------------------------------------------------- as text


def to_text(case: Case, found: str = "") -> str:
    """JSON, which leaves out what is empty."""
    record = asdict(case)
    record["files"] = {name: _packed(data) for name, data in case.files.items()}
    record["stdin"] = _packed(case.stdin)
    kept = {key: value for key, value in record.items() if value}
    return json.dumps({"found": found, **kept} if found else kept, indent=1) + "\n"


def from_text(text: str) -> Case:
    record = json.loads(text)
    record.pop("found", None)
    record["files"] = {k: _unpacked(v) for k, v in record.get("files", {}).items()}
    record["stdin"] = _unpacked(record.get("stdin", ""))
    record["commands"] = tuple(map(tuple, record.get("commands", ())))
    databases = record.get("databases", ())
    record["databases"] = tuple(_database(**each) for each in databases)
    for key in ("writes", "changes", "rows"):
        record[key] = tuple(record.get(key, ()))
    return Case(**record)


def _database(columns: list[list[str]], **more: Any) -> Database:
    return Database(columns=[(name, kind) for name, kind in columns], **more)


def _packed(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _unpacked(item: str | dict[str, str]) -> bytes:
    if isinstance(item, str):
        return item.encode()
    return base64.b64decode(item["base64"])
