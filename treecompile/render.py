"""Run the template of a target, finish the text, write it whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from errno import EISDIR
from functools import cache
from pathlib import Path

from jinja2 import BaseLoader, FunctionLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from treecompile.errors import TreecompileError
from treecompile.lower import Context
from treecompile.targets import Target, templates_folder

# Lowering prints what black would print; running black as well is a safety net for odd
# names, which small modules can afford (20,000 leaves would take it a minute).
BLACK_UP_TO = 40_000


def render(name: str, target: Target, context: Context) -> str:
    """The finished text of an artefact."""
    template = _environment().get_template(f"{name}/{target.template}")
    text = template.render(context)
    if target.formatter == "black" and len(text) <= BLACK_UP_TO:
        import black

        text = black.format_str(text, mode=black.Mode())
    return text


@cache
def _environment() -> SandboxedEnvironment:
    return SandboxedEnvironment(
        loader=_loader(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _loader() -> BaseLoader:
    # Not PackageLoader: the folder may lie inside a zip or beside the package, and
    # importlib.resources reads it wherever it is.
    return FunctionLoader(
        lambda name: templates_folder().joinpath(*name.split("/")).read_text("utf-8")
    )


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: another process sees the old one or the new one."""
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files, all of them or none if one cannot be written.

    A link is followed; a pipe or a device is written to as it is.
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
