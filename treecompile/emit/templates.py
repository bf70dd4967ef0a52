"""Renders the template of a target, and says in one line what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from jinja2 import (
    Environment,
    FunctionLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.loaders import split_template_path

from treecompile.emit.lowering import Lowered
from treecompile.emit.targets import Target, is_path, templates_folder
from treecompile.emit.toml import one_line
from treecompile.model.errors import TargetError
from treecompile.model.files import read_text
from treecompile.model.unicode import is_unicode

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Characters that black formats in about half a second; 20,000 leaves take a minute.
BLACK_UP_TO = 100_000


def render(
    target: Target, lowered: Lowered, overrides: str = "", header: str = ""
) -> str:
    """Return the text of an artefact: the template with the strings of a lowering.

    `header` is for a comment in it, and says how to emit it again.
    `overrides` is a folder of templates that replace the built-in ones, laid out like
    them: DIR/python/module.py.jinja.
    """
    own = Path(target.name) if is_path(target.name) else None
    if overrides and not os.path.isdir(overrides):
        raise TargetError(f"templates={str(overrides)!r}: no such folder")
    if overrides:
        last = own or templates_folder() / target.name
        templates = _environment([Path(overrides) / target.name, last])
    else:
        templates = _environment([own]) if own else _built_in(target.name)
    templates.filters.update(lowered.filters)
    text = _rendered(target.template, templates, lowered.strings, header)
    if target.formatter == "black" and len(text) <= BLACK_UP_TO:
        return _blackened(text, target.template)
    return text


@cache
def _built_in(name: str) -> Environment:
    return _environment([templates_folder() / name])


def _environment(folders: Sequence[Traversable]) -> Environment:
    """Return an environment that loads each template from the first folder with it."""

    def load(name: str) -> tuple[str, str, None] | None:
        for folder in folders:
            file = folder.joinpath(*split_template_path(name))
            if file.is_file():
                return _source(file), str(file), None
        return None

    # PackageLoader would not do: a folder may be inside a zip or beside the package,
    # and importlib.resources reads it in both cases.
    return Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=_is_markup,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _is_markup(name: str | None) -> bool:
    """Whether a template escapes what it places, unless that is finished markup."""
    return (name or "").endswith((".html.jinja", ".svg.jinja"))


def _source(file: Traversable) -> str:
    if isinstance(file, Path):
        return read_text(file, TargetError)
    return file.read_text(encoding="utf-8")  # built in, inside a zip


def _rendered(
    name: str, templates: Environment, strings: DataclassInstance, header: str
) -> str:
    variables = {each.name: getattr(strings, each.name) for each in fields(strings)}
    variables["header"] = header
    try:
        text = templates.get_template(name).render(variables)
    except TargetError:
        raise
    except TemplateNotFound as error:
        raise TargetError(f"template {error.name!r} not found") from None
    except TemplateSyntaxError as error:
        where = f"{error.name}, line {error.lineno}"
        raise TargetError(f"{where}: {one_line(error.message or '')}") from None
    except Exception as error:  # a filter or an operator may raise anything
        frames = extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if Path(f.filename).name == Path(name).name]
        where = f"{name}, line {lines[-1]}" if lines else name
        raise TargetError(f"{where}: {_problem(error)}") from None
    if not is_unicode(text):
        raise TargetError(f"{name}: it makes half a surrogate pair")
    return text


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply, or includes or calls itself"
    if isinstance(error, MemoryError):
        return "it needs too much memory"
    return one_line(str(error)) or type(error).__name__


def _blackened(text: str, name: str) -> str:
    import black

    try:
        return black.format_str(text, mode=black.Mode())
    except Exception as error:  # black does not say which it raises
        problem = f"the template does not produce valid Python: {_problem(error)}"
        raise TargetError(f"{name}: {problem}") from None
