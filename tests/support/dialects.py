"""SQLite with other limits, and the dialects that no engine of the tests runs."""

from __future__ import annotations

from dataclasses import replace

from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect, dialect_names, read_dialect
from treecompile.engines.addresses import ENGINES

SQLITE = read_dialect("sqlite")
TESTED = {"mysql"}  # there is a driver, but no server in the tests
PARSED = [name for name in dialect_names() if name not in ENGINES or name in TESTED]


def with_limits(**limits: int | str | Phrase) -> Dialect:
    return replace(SQLITE, limits=replace(SQLITE.limits, **limits))  # type: ignore[arg-type]
