"""Packages that only some users need: the drivers of databases."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from treecompile.errors import EngineError


def driver(name: str, product: str, extra: str) -> Any:
    """The module of that name, or an error that says what to install."""
    try:
        return import_module(name)
    except ImportError:
        raise EngineError(
            f"the driver for {product} is not installed:"
            f" pip install 'treecompile[{extra}]'"
        ) from None
