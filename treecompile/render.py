"""Run the template of a target, finish the text, write it whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name[:40]}.", dir=path.parent
        )
    except OSError as error:
        raise TreecompileError(f"cannot write {path}: {error.strerror}") from None
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise TreecompileError(f"cannot write {path}: {error.strerror}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
