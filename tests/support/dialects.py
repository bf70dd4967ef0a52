"""SQLite as other databases are: with limits of their own."""

from __future__ import annotations

from dataclasses import replace

from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect, read_dialect

SQLITE = read_dialect("sqlite")


def with_limits(**limits: int | str | Phrase) -> Dialect:
    return replace(SQLITE, limits=replace(SQLITE.limits, **limits))  # type: ignore[arg-type]
