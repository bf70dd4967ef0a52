"""Runs a Jinja template, and says in one line what is wrong with it.

Templates run in Jinja's sandbox. They read only files of their own folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from math import inf
from pathlib import Path
from traceback import extract_tb
from typing import Any

from jinja2 import (
    FunctionLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.loaders import split_template_path
from jinja2.sandbox import SandboxedEnvironment

from treecompile.emit.toml import one_line
from treecompile.model.errors import TargetError
from treecompile.model.files import read_text

MOST_BYTES = 1 << 20  # bytes of a template
# Lowering already formats as black does; running black too is a safety net for unusual
# names, and only affordable for small modules (20,000 leaves would take a minute).
BLACK_UP_TO = 40_000


def environment(folders: Sequence[Traversable]) -> SandboxedEnvironment:
    """Return an environment that loads each template from the first folder with it."""

    def load(name: str) -> tuple[str, str, None] | None:
        for folder in folders:
            file = folder.joinpath(*split_template_path(name))
            if file.is_file():
                return _source(file, folder), str(file), None
        return None

    # PackageLoader would not do: a folder may be inside a zip or beside the package,
    # and importlib.resources reads it in both cases.
    return SandboxedEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _source(file: Traversable, folder: Traversable) -> str:
    if not isinstance(file, Path) or not isinstance(folder, Path):
        return file.read_text(encoding="utf-8")  # built in, inside a zip
    if not file.resolve().is_relative_to(folder.resolve()):
        raise TargetError(
            f"template {str(file)!r} is a link that leads out of its folder: copy the"
            " file instead"
        )
    return read_text(file, TargetError, most=MOST_BYTES)


def rendered(
    name: str,
    templates: SandboxedEnvironment,
    variables: Mapping[str, Any],
    formatter: str = "",
    most: float = inf,
) -> str:
    """Return the text that a template makes, of at most `most` characters."""
    try:
        chunks = templates.get_template(name).generate(variables)
        text = "".join(_limited(chunks, most))
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
    if formatter == "black" and len(text) <= BLACK_UP_TO:
        return _blackened(text, name)
    return text


def _limited(chunks: Iterable[str], most: float) -> Iterator[str]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise ValueError(f"its text has more than {most:,} characters")
        yield chunk


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
