"""The dialects that no engine of the tests runs."""

from __future__ import annotations

from treecompile.emit.sql.dialect import dialect_names
from treecompile.engines.addresses import ENGINES

TESTED = {"mysql"}  # there is a driver, but no server in the tests
PARSED = [name for name in dialect_names() if name not in ENGINES or name in TESTED]
