"""Recognises the files of other libraries by how they begin, and reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treecompile.importers import lightgbm, xgboost
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file.limits import MOST_BYTES
from treecompile.model.files import beginning, read_bytes, refuse_pickle

BEGINNING = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format of a library."""

    library: str
    is_model: Callable[[bytes], bool]  # by the first bytes of a file
    read: Callable[..., ir.NotedForest]  # takes the bytes, a target and labels


FORMATS = (
    FileFormat("LightGBM", lightgbm.is_model, lightgbm.read),
    FileFormat("XGBoost", xgboost.is_model, xgboost.read),
)


def format_of(path: str | Path) -> FileFormat | None:
    """Return the format of a file; None if it is not a model of another library.

    A pipe is not looked into, because reading it would consume it.
    """
    if not os.path.isfile(path):
        return None
    start = beginning(path, BEGINNING)
    return next((each for each in FORMATS if each.is_model(start)), None)


def refuse_foreign(path: str | Path) -> None:
    """Refuse a file of another library, and say how to import it."""
    found = format_of(path)
    if found is not None:
        raise ModelFileError(
            f"{path} is a model of {found.library}: import it first, with `treecompile"
            f" import {path} -o model.json`"
        )


def read_foreign(
    path: str | Path,
    target: str = "",
    labels: Sequence[ir.Label] | None = None,
) -> ir.NotedForest:
    """Read the forest in a file of another library."""
    found = format_of(path)
    data = read_bytes(path, ModelFileError, most=MOST_BYTES)
    if found is None:
        refuse_pickle(path, ModelFileError)
        known = ", ".join(each.library for each in FORMATS)
        raise ModelFileError(
            f"{path}: not a model that can be imported: expected a file of {known}"
        )
    try:
        return found.read(data, target, labels=labels)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
