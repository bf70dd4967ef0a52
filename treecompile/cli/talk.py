"""What commands say, write and read: messages, progress, files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from treecompile.ir import Program


@contextmanager
def progress_bar(label: str, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """A factory of callbacks: given the whole, it returns what takes each part."""
    bars: list[Any] = []

    def start(length: int) -> Callable[[int], None]:
        # click draws it on a terminal only; for small work it would just flicker
        hidden = quiet or length < 20_000 or not sys.stderr.isatty()
        bar = click.progressbar(
            length=length, label=label, file=sys.stderr, hidden=hidden
        )
        bars.append(bar.__enter__())
        update: Callable[[int], None] = bar.update
        return update

    try:
        yield start
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


def tell(quiet: bool, *lines: str) -> None:
    """Say something on standard error, which leaves standard output to the result."""
    if not quiet:
        for line in lines:
            click.echo(line, err=True)


def output(path: str | None, text: str) -> None:
    """Write a result to a file, or to standard output."""
    from treecompile.render import write_text

    if path is None or path == "-":
        click.echo(text.encode(), nl=False)  # as bytes, nothing in it is changed
    else:
        write_text(Path(path), text)


def read_model(path: str, quiet: bool = False) -> Program:
    """The model in a file: JSON, or rules in the rule language."""
    from treecompile.sources import read_source

    program, notes = read_source(path)
    tell(quiet, *(f"note: {note}" for note in notes))
    return program


def summary(program: Program) -> str:
    from treecompile.api import Model

    model = Model(program)
    leaves = "leaf" if model.n_leaves == 1 else "leaves"
    return f"{model.n_leaves} {leaves}, depth {model.depth}"
