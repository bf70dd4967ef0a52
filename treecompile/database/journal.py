"""Saves the state of learning in a database, so that an interrupted run can resume.

The state is what a run knows between two levels: the tree so far, the open nodes and
the edges of the bins. However large the table, the state is small. It is written to a
file beside the output, as one line of JSON in which numbers keep their last bit.

The file is replaced atomically after each level and removed when the model has been
written. A run resumes from it only if the version of treecompile, the options and the
rows are still the same. Otherwise the run starts over and says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from treecompile import __version__
from treecompile.database.grow.bins import BinEdges
from treecompile.database.schema import AT_ONCE, Schema
from treecompile.engines.base import Store
from treecompile.learning.grow.draft import DraftLevel, Splits
from treecompile.learning.grow.growth import GrowthState
from treecompile.learning.options import LearnOptions
from treecompile.model.files import write_text
from treecompile.model.options import as_flag, options_of
from treecompile.tables.options import DataOptions

FORMAT = 3
FLAGS = {
    name: each.flag
    for kind in (DataOptions, LearnOptions)
    for name, each in options_of(kind).items()
}
ARRAY = "array"  # the key that marks an array in JSON


@dataclass(frozen=True, slots=True, eq=False)
class TableState:
    """All that a run needs to continue with the open nodes of a level."""

    edges: Mapping[int, BinEdges]
    growth: GrowthState
    source: Mapping[str, Any]  # see `TableSource.state`

    @property
    def depth(self) -> int:
        """The number of finished levels."""
        return len(self.growth.levels) - 1


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What must be equal for a run to resume from the state of a former one."""

    version: str
    options: Mapping[str, str]
    table: str
    rows: str  # a digest of the contents of the table


def run_of(
    store: Store, schema: Schema, columns: DataOptions, options: LearnOptions
) -> RunIdentity:
    given = {
        field.name: repr(getattr(each, field.name))
        for each in (columns, options)
        for field in fields(each)
    }
    table = f"{store.dialect.key} {schema.relation}"
    shape = (schema.features, schema.labels, schema.values, schema.rows)
    digest = sha256(repr((shape, schema.summaries, _checksums(store, schema))).encode())
    return RunIdentity(__version__, given, table, digest.hexdigest())


def _checksums(store: Store, schema: Schema) -> list[str]:
    """Return checksums of the columns, which do not depend on the order of the rows.

    There are none where the dialect has no such function.
    """
    if not store.dialect.learning.checksum:
        return []
    asked = []
    for start in range(0, len(schema.columns), AT_ONCE):
        some = [schema.target, *schema.columns[start : start + AT_ONCE]]
        some += [schema.weights] if schema.weights else []
        columns = ", ".join(source.column for source in some)
        asked.append(store.dialect.learning.checksum.fill(columns))
    found = store.arrays(f"SELECT {', '.join(asked)} FROM {schema.relation}")
    return [str(column[0]) for column in found]


class Journal:
    """The file with the state of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run: RunIdentity | None = None
        self.levels = 0  # finished levels in the file

    def begin(self, run: RunIdentity, say: Callable[[str], None]) -> TableState | None:
        """Return the state to resume from, or None; say why a file is not used."""
        self.run = run
        if not self.path.exists():
            return None
        state, why = self._read(run)
        if state is None:
            say(f"{self.path} {why}: starting over")
            return None
        self.levels = state.depth
        message = f"resuming at level {state.depth + 1}, from {self.path}"
        say(f"{message}; remove that file to start over")
        return state

    def _read(self, run: RunIdentity) -> tuple[TableState | None, str]:
        try:
            head, text, *_ = self.path.read_text(encoding="utf-8").splitlines()
            read = json.loads(head)
            if read["format"] != FORMAT or read["version"] != run.version:
                return None, f"was written by treecompile {read['version']}"
            if read["sha256"] != sha256(text.encode()).hexdigest():
                return None, "is damaged"
            if other := _differing(read["options"], run.options):
                return None, f"is from a run with a different {other}"
            if read["table"] != run.table:
                return None, "is from a run on another table"
            if read["rows"] != run.rows:
                return None, "is from before the rows of the table changed"
            return loads(text), ""
        except (OSError, ValueError, TypeError, KeyError):
            return None, "cannot be read"

    def write(self, state: TableState) -> None:
        """Replace the file by one with this state."""
        assert self.run is not None
        text = dumps(state)
        digest = sha256(text.encode()).hexdigest()
        head = {"format": FORMAT, "sha256": digest, **asdict(self.run)}
        write_text(self.path, f"{json.dumps(head)}\n{text}\n")
        self.levels = state.depth

    def kept(self) -> str:
        """Return a clause on what the file keeps of a stopped run; "" if nothing."""
        if not self.levels:
            return ""
        finished = f"{self.levels} finished level{'s' * (self.levels > 1)}"
        return f"{self.path} keeps {finished}, and the same command resumes from there"

    def finish(self) -> None:
        """Remove the file at the end of the run."""
        self.path.unlink(missing_ok=True)


def _differing(one: Any, other: Mapping[str, str]) -> str:
    """Return the flag of the first option that differs, or ""."""
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            return FLAGS.get(name, as_flag(name))
    return ""


# --- the state as text ----------------------------------------------------------------


def dumps(state: TableState) -> str:
    return json.dumps(state, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> dict[str, Any]:
    """Return an array or a dataclass in a form that JSON can hold."""
    if isinstance(value, np.ndarray):
        return {ARRAY: [value.dtype.str, value.shape, value.ravel().tolist()]}
    return {field.name: getattr(value, field.name) for field in fields(value)}


def loads(text: str) -> TableState:
    """Read a state; raise ValueError, TypeError or KeyError if the text is not one."""
    read = json.loads(text, object_hook=_read_array)
    levels = list(map(_read_level, read["growth"].pop("levels")))
    edges = {int(index): BinEdges(**each) for index, each in read["edges"].items()}
    return TableState(edges, GrowthState(levels, **read["growth"]), read["source"])


def _read_level(read: dict[str, Any]) -> DraftLevel:
    splits = read.pop("splits")
    groups = splits.pop("groups").items()
    of_node = {int(node): tuple(map(tuple, each)) for node, each in groups}
    return DraftLevel(Splits(**splits, groups=of_node), **read)


def _read_array(written: dict[str, Any]) -> Any:
    if ARRAY not in written:
        return written
    kind, shape, values = written[ARRAY]
    return np.array(values, kind).reshape(shape)
