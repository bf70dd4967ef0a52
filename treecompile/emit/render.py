"""Run the template of a target, format the text, write files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from errno import EISDIR
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2.sandbox import SandboxedEnvironment

from treecompile.emit.confined import confined
from treecompile.emit.targets import Target, is_path, templates_folder
from treecompile.emit.templates import environment, rendered
from treecompile.model.errors import TargetError, TreecompileError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def render(target: Target, strings: DataclassInstance, overrides: str = "") -> str:
    """The text of an artefact: the template with the fields of `strings` placed.

    `overrides` is a folder of templates that replace the built-in ones, laid out like
    them: DIR/python/module.py.jinja. Templates that are not built in may come from
    anybody, and run confined.
    """
    own = is_path(target.name)
    if not overrides and not own:
        variables = {e.name: getattr(strings, e.name) for e in fields(strings)}
        found = _built_in(target.name)
        return rendered(target.template, found, variables, target.formatter)
    folders = [Path(target.name)] if own else []
    if overrides:
        if not os.path.isdir(overrides):  # Path.is_dir() fails for a long name
            raise TargetError(f"--templates {overrides}: no such folder")
        folders.insert(0, Path(overrides) / target.name)
    built_in = "" if own else target.name
    return confined(target.template, folders, built_in, target.formatter, strings)


@cache
def _built_in(name: str) -> SandboxedEnvironment:
    return environment([templates_folder() / name])


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: other processes see the old file or the new one."""
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files: all of them, or none if one cannot be written.

    Symbolic links are followed. A pipe or a device is written to directly.
    """
    waiting: list[tuple[str, Path]] = []
    named = Path()
    try:
        for named, text in texts.items():
            path = named.resolve()
            if path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            if path.exists() and not path.is_file():
                path.write_text(text, encoding="utf-8")
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(
                prefix=".treecompile-", dir=path.parent
            )
            waiting.append((temporary, path))
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(temporary, 0o666 & ~_umask())
        while waiting:
            temporary, named = waiting[0]
            os.replace(temporary, named)
            del waiting[0]
    except OSError as error:
        raise TreecompileError(f"cannot write {named}: {error.strerror}") from None
    finally:
        for temporary, _ in waiting:
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
