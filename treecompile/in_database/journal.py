"""A file beside the output that says how far a run has come, to go on from there.

It is written whole after each level and removed when the model is there. A run goes on
from it only if the version, the options and the rows are the same; else it starts anew
and says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeVar

from treecompile import __version__
from treecompile.data import DataOptions
from treecompile.in_database.schema import AT_ONCE, Schema
from treecompile.learn_options import LearnOptions, as_option
from treecompile.render import write_text
from treecompile.stores.base import Store

FORMAT = 1
SPELT = {"na_values": "--na-value", "balanced": "--class-weight"}


class KeptState(Protocol):
    @property
    def depth(self) -> int:
        """Finished levels."""


Kind = TypeVar("Kind", bound=KeptState)


@dataclass(frozen=True, slots=True)
class Run:
    """What must be the same for one run to go on where another was stopped."""

    version: str
    options: Mapping[str, str]
    table: str
    rows: str  # a digest of what is in it


def run_of(
    store: Store, schema: Schema, columns: DataOptions, options: LearnOptions
) -> Run:
    given = {
        field.name: repr(getattr(each, field.name))
        for each in (columns, options)
        for field in fields(each)
    }
    table = f"{store.dialect.key} {schema.relation}"
    told = (schema.features, schema.labels, schema.values, schema.rows)
    digest = sha256(repr((told, schema.summaries, _checksums(store, schema))).encode())
    return Run(__version__, given, table, digest.hexdigest())


def _checksums(store: Store, schema: Schema) -> list[str]:
    """Sums over the rows that no order changes, and any other value does."""
    if not store.phrases.checksum:
        return []
    asked = []
    for start in range(0, len(schema.sources), AT_ONCE):
        some = [schema.target, *schema.sources[start : start + AT_ONCE]]
        some += [schema.weights] if schema.weights else []
        columns = ", ".join(source.column for source in some)
        asked.append(store.phrases.checksum.format(columns))
    found = store.arrays(f"SELECT {', '.join(asked)} FROM {schema.relation}")
    return [str(column[0]) for column in found]


class Journal:
    """The state of one run in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run: Run | None = None
        self.levels = 0  # finished ones that the file has

    def begin(
        self, run: Run, loads: Callable[[str], Kind]
    ) -> tuple[Kind | None, list[str]]:
        """The state to go on from, if there is one, and what there is to say."""
        self.run = run
        if not self.path.exists():
            return None, []
        state, why = self._read(run, loads)
        if state is None:
            return None, [f"{self.path} {why}: starting anew"]
        self.levels = state.depth
        said = f"going on with level {state.depth + 1}, from {self.path}"
        return state, [f"{said}; remove that file to start anew"]

    def _read(self, run: Run, loads: Callable[[str], Kind]) -> tuple[Kind | None, str]:
        try:
            head, text, *_ = self.path.read_text(encoding="utf-8").splitlines()
            read = json.loads(head)
            if read["format"] != FORMAT or read["version"] != run.version:
                return None, f"is of treecompile {read['version']}"
            if read["sha256"] != sha256(text.encode()).hexdigest():
                return None, "is damaged"
            if other := _differing(read["options"], run.options):
                return None, f"is of a run with another {other}"
            if read["table"] != run.table:
                return None, "is of another table"
            if read["rows"] != run.rows:
                return None, "is of other rows: those of the table have changed"
            return loads(text), ""
        except (OSError, ValueError, TypeError, KeyError):
            return None, "cannot be read"

    def write(self, state: KeptState, text: str) -> None:
        """Keep what is known, as that text, in place of what was before."""
        assert self.run is not None
        head = {
            "format": FORMAT,
            "version": self.run.version,
            "sha256": sha256(text.encode()).hexdigest(),
            "options": self.run.options,
            "table": self.run.table,
            "rows": self.run.rows,
        }
        write_text(self.path, f"{json.dumps(head)}\n{text}\n")
        self.levels = state.depth

    def kept(self) -> str:
        """What is left of a run that was stopped, as a part of a sentence."""
        if not self.levels:
            return ""
        finished = f"{self.levels} finished level{'s' * (self.levels > 1)}"
        return f"{self.path} keeps {finished}, and the same command goes on from there"

    def finish(self) -> None:
        """The run has come to its end: nothing is left of it."""
        self.path.unlink(missing_ok=True)


def _differing(one: Any, other: Mapping[str, str]) -> str:
    """An option that the two have not in common."""
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            return SPELT.get(name, as_option(name))
    return ""
