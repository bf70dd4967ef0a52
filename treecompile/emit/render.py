"""Run the template of a target, and format the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from jinja2 import (
    FunctionLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.loaders import split_template_path
from jinja2.sandbox import SandboxedEnvironment

from treecompile.emit.targets import Target, is_path, templates_folder
from treecompile.model.errors import TargetError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Lowering already formats as black does; running black too is a safety net for unusual
# names, and only affordable for small modules (20,000 leaves would take a minute).
BLACK_UP_TO = 40_000


def render(target: Target, strings: DataclassInstance, overrides: str = "") -> str:
    """The text of an artefact: the template with the fields of `strings` placed.

    `overrides` is a folder of templates that replace the built-in ones, laid out like
    them: DIR/python/module.py.jinja.
    """
    text = _rendered(target.template, _environment(target, overrides), strings)
    if target.formatter == "black" and len(text) <= BLACK_UP_TO:
        text = _blackened(text, target.name)
    return text


def _environment(target: Target, overrides: str) -> SandboxedEnvironment:
    if not overrides and not is_path(target.name):
        return _built_in(target.name)
    folders: list[Traversable] = [target.folder]
    if overrides:
        if not Path(overrides).is_dir():
            raise TargetError(f"--templates {overrides}: no such folder")
        folders.insert(0, Path(overrides) / target.name)
    return _templates_in(folders)


@cache
def _built_in(name: str) -> SandboxedEnvironment:
    return _templates_in([templates_folder() / name])


def _templates_in(folders: Sequence[Traversable]) -> SandboxedEnvironment:
    """Templates from the first folder that has them.

    Not with PackageLoader: a folder may be inside a zip or beside the package, and
    importlib.resources reads it in both cases.
    """

    def load(name: str) -> tuple[str, str, None] | None:
        for folder in folders:
            file = folder.joinpath(*split_template_path(name))
            if file.is_file():
                return file.read_text(encoding="utf-8"), str(file), None
        return None

    return SandboxedEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _rendered(
    name: str, environment: SandboxedEnvironment, strings: DataclassInstance
) -> str:
    """Run a template; the message about an error in it names the line."""
    variables = {entry.name: getattr(strings, entry.name) for entry in fields(strings)}
    try:
        return environment.get_template(name).render(variables)
    except TemplateNotFound as error:
        raise TargetError(f"template {error.name!r} not found") from None
    except TemplateSyntaxError as error:
        where = f"{error.name}, line {error.lineno}"
        raise TargetError(f"{where}: {error.message}") from None
    except (TemplateError, ArithmeticError, LookupError, TypeError) as error:
        frames = extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if Path(f.filename).name == Path(name).name]
        where = f"{name}, line {lines[-1]}: " if lines else ""
        raise TargetError(f"{where}{error}") from None


def _blackened(text: str, name: str) -> str:
    import black
    from black.parsing import InvalidInput

    try:
        return black.format_str(text, mode=black.Mode())
    except InvalidInput as error:
        problem = "the template does not produce valid Python"
        raise TargetError(f"{name}: {problem}: {error}") from None
