"""What commands say, write and read: messages, progress, files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from treecompile.ir import Program


def _bar(label: str, length: int, quiet: bool, work: int) -> Any:
    # click draws it on a terminal only; for small work it would just flicker
    hidden = quiet or work < 20_000 or not sys.stderr.isatty()
    bar = click.progressbar(length=length, label=label, file=sys.stderr, hidden=hidden)
    return bar.__enter__()


@contextmanager
def progress_bar(label: str, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """A factory of callbacks: given the whole, it returns what takes each part."""
    bars: list[Any] = []

    def start(length: int) -> Callable[[int], None]:
        bars.append(_bar(label, length, quiet, length))
        update: Callable[[int], None] = bars[-1].update
        return update

    try:
        yield start
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


class LevelBar:
    """Shows a tree that grows level by level, with what is known of its size."""

    def __init__(self, quiet: bool, most_levels: int | None) -> None:
        self.quiet, self.most_levels = quiet, most_levels
        self.bar: Any = None
        self.length, self.done = 0, 0
        self.rows, self.since = 0, 0.0  # of the level that is being counted

    def start(self, rows: int) -> Callable[[int], None]:
        """Given the rows of the table, it makes itself seen."""
        self.length = rows * (self.most_levels or 1)
        self.bar = _bar("reading the table", self.length, self.quiet, rows)
        return lambda settled: None  # `level` tells all

    def level(self, number: int, nodes: int, rows: int) -> None:
        """So many nodes with so many rows are counted now."""
        now = monotonic()
        speed = ""
        if self.rows:
            rate = self.rows / max(now - self.since, 1e-3)
            speed = f", {round(rate, 2 - len(str(int(rate)))):,.0f} rows/s"
        self.rows, self.since = rows, now
        of = f" of at most {self.most_levels}" if self.most_levels else ""
        counted = f"{nodes:,} node{'s' * (nodes > 1)}"
        self.bar.label = f"level {number}{of}: {counted}{speed}"
        # Rows that are settled pass over all further levels.
        levels = self.most_levels - number + 1 if self.most_levels else 1
        done = max(self.length - rows * levels, self.done)
        self.bar.update(done - self.done)
        self.done = done
        self.bar.render_progress()

    def __enter__(self) -> LevelBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.__exit__(None, None, None)

    def finish(self) -> None:
        """All levels are done, or there was none to be counted."""
        self.bar.update(self.length - self.done)


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
