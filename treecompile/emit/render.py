"""Runs the template of a target, and formats the text."""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2.sandbox import SandboxedEnvironment

from treecompile.emit.confined import confined
from treecompile.emit.targets import Target, is_path, templates_folder
from treecompile.emit.templates import environment, rendered
from treecompile.model.errors import TargetError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def render(target: Target, strings: DataclassInstance, overrides: str = "") -> str:
    """Return the text of an artefact: the template with the fields of `strings`.

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
            raise TargetError(f"--templates {str(overrides)!r}: no such folder")
        folders.insert(0, Path(overrides) / target.name)
    built_in = "" if own else target.name
    return confined(target.template, folders, built_in, target.formatter, strings)


@cache
def _built_in(name: str) -> SandboxedEnvironment:
    return environment([templates_folder() / name])
