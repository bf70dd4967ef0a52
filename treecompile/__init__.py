"""treecompile: compile learned decision trees into code, SQL and documents.

    >>> import treecompile
    >>> model = treecompile.learn("examples/tennis/tennis.csv", target="play")
    >>> print(model.emit("sql", dialect="duckdb"))  # doctest: +SKIP

The names below are the whole public interface. They are loaded when first used, so that
importing the package and `treecompile --help` take no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from treecompile.api.building import build
    from treecompile.api.importing import (
        from_lightgbm,
        from_xgboost,
        import_model,
    )
    from treecompile.api.model import Model
    from treecompile.api.verbs import cross_validate, diff, from_sklearn, learn, load
    from treecompile.database.locations import Table
    from treecompile.model.errors import (
        DataError,
        EngineError,
        ModelFileError,
        OptionError,
        RulesError,
        TargetError,
        TreecompileError,
    )

__all__ = [
    "DataError",
    "EngineError",
    "Model",
    "ModelFileError",
    "OptionError",
    "RulesError",
    "Table",
    "TargetError",
    "TreecompileError",
    "__version__",
    "build",
    "cross_validate",
    "diff",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "import_model",
    "learn",
    "load",
]


HOMES = {
    "Model": "api.model",
    "Table": "database.locations",
    "build": "api.building",
    **dict.fromkeys(("from_lightgbm", "from_xgboost", "import_model"), "api.importing"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'treecompile' has no attribute {name!r}")
    home = "model.errors" if name.endswith("Error") else HOMES.get(name, "api.verbs")
    return getattr(import_module(f"treecompile.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
