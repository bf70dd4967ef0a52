"""The public classes and functions: the same verbs as the commands, from Python."""

from __future__ import annotations

from treecompile.api.database import Table
from treecompile.api.learning import cross_validate, learn
from treecompile.api.loading import diff, from_sklearn, load
from treecompile.api.model import Model

__all__ = ["Model", "Table", "cross_validate", "diff", "from_sklearn", "learn", "load"]
