"""treecompile: compile learned decision trees into code, SQL and documents.

    >>> import treecompile
    >>> model = treecompile.learn("examples/tennis/tennis.csv", target="play")
    >>> print(model.emit("sql", dialect="duckdb"))  # doctest: +SKIP

The names below are the whole public interface. They are loaded when first used, so that
importing the package, and `treecompile --help`, cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from treecompile.api import (
        Model,
        Table,
        cross_validate,
        diff,
        from_sklearn,
        learn,
        load,
    )
    from treecompile.errors import (
        DataError,
        EngineError,
        ModelFileError,
        OptionError,
        TargetError,
        TreecompileError,
    )

__all__ = [
    "DataError",
    "EngineError",
    "Model",
    "ModelFileError",
    "OptionError",
    "Table",
    "TargetError",
    "TreecompileError",
    "__version__",
    "cross_validate",
    "diff",
    "from_sklearn",
    "learn",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from treecompile import api, errors

        return getattr(errors if name.endswith("Error") else api, name)
    raise AttributeError(f"module 'treecompile' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
