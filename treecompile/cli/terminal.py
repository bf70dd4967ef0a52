"""What commands read, write and show. They import this only when they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from treecompile.cli import streams
from treecompile.cli.options import named_inputs
from treecompile.model.errors import ModelFileError, OptionError

if TYPE_CHECKING:
    from treecompile.api.rows import Data
    from treecompile.database.grow.source import LevelProgress
    from treecompile.database.learn import OnLevel
    from treecompile.learning.training import Learned
    from treecompile.model.ir import AnyProgram, Program
    from treecompile.rules.pruning import Start

STANDARD_OUTPUT = (None, "-", "/dev/stdout")
SMALL = 20_000  # rows: with fewer, a progress bar would only flicker


class Terminal:
    """What verbs say while they work (see `api.rows.Feedback`), on standard error.

    Standard output is for the result.
    """

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def tell(self, *lines: str) -> None:
        if not self.quiet:
            for line in lines:
                streams.tell(line)

    def notes(self, notes: Iterable[str]) -> None:
        self.tell(*(f"note: {note}" for note in notes))

    def made(self, program: Program, seconds: float) -> None:
        from treecompile.cli.reports import finished

        self.tell(*finished(program, seconds))

    def learned(self, result: Learned) -> None:
        from treecompile.cli.reports import pruning_sequence

        self.tell(*result.notes)
        if result.choice is not None and "alpha" in dict(result.program.options):
            table = result.choice.table
            steps = [entry.step for entry in table]
            self.tell(*pruning_sequence(steps, table, result.choice.place))

    def bar(self, label: str, length: int, rows: int) -> Any:
        hidden = self.quiet or rows < SMALL or not sys.stderr.isatty()
        return click.progressbar(
            length=length, label=label, file=sys.stderr, hidden=hidden
        )

    @contextmanager
    def progress(self, label: str) -> Iterator[Start]:
        with ExitStack() as bars:

            def start(length: int) -> Callable[[int], None]:
                bar = bars.enter_context(self.bar(label, length, length))
                update: Callable[[int], None] = bar.update
                return update

            yield start

    @contextmanager
    def levels(self, max_depth: int | None) -> Iterator[tuple[Start, OnLevel]]:
        with ExitStack() as bars:
            shown = LevelBar(self, max_depth, bars)
            yield shown.start, shown.level
            shown.advance(to=shown.bar.length)


class LevelBar:
    """The progress of a tree that grows level by level."""

    def __init__(
        self, terminal: Terminal, max_depth: int | None, bars: ExitStack
    ) -> None:
        self.terminal, self.max_depth, self.bars = terminal, max_depth, bars
        self.bar: Any = None
        self.rows, self.since = 0, 0.0  # of the current level

    def start(self, rows: int) -> Callable[[int], None]:
        length = rows * (self.max_depth or 1)
        bar = self.terminal.bar("reading the table", length, rows)
        self.bar = self.bars.enter_context(bar)
        return lambda settled: None  # `level` shows everything

    def level(self, level: LevelProgress) -> None:
        now = monotonic()
        speed = ""
        if self.rows:
            rate = self.rows / max(now - self.since, 1e-3)
            speed = f", {round(rate, 2 - len(str(int(rate)))):,.0f} rows/s"
        self.rows, self.since = level.rows, now
        of = f" of at most {self.max_depth}" if self.max_depth else ""
        counted = f"{level.nodes:,} node{'s' * (level.nodes > 1)}"
        self.bar.label = f"level {level.number}{of}: {counted}{speed}"
        # A row that has reached its leaf counts as done for all further levels.
        levels = self.max_depth - level.number + 1 if self.max_depth else 1
        self.advance(to=self.bar.length - level.rows * levels)
        self.bar.render_progress()

    def advance(self, to: int) -> None:
        self.bar.update(max(to - self.bar.pos, 0))


# ---------------------------------------------------------------- input and output


def read_model(path: str) -> AnyProgram:
    """The model in a file: JSON, or rules in the rule language."""
    from treecompile.rules.language.document import read_any_model

    try:
        return read_any_model(path)
    except ModelFileError:
        from treecompile.importers.formats import refuse_foreign

        refuse_foreign(path)
        raise


def read_single(path: str, what: str) -> Program:
    """The same for a command that needs one tree or rules."""
    from treecompile.model.forests import single

    return single(read_model(path), what)


def output(path: str | None, text: str) -> None:
    """Write a result to a file, or to standard output."""
    if path in STANDARD_OUTPUT:
        streams.write(text)
    else:
        from treecompile.model.files import write_text

        write_text(Path(str(path)), text)


def check_output(*paths: str | Path | None, force: bool) -> None:
    """Refuse to overwrite an input of the command, or without `force` any file."""
    from treecompile.api.outputs import check_outputs

    files = [path for path in paths if path is not None and path != "-"]
    check_outputs(files, named_inputs(), force=force)


def check_json(out: str, *, as_json: bool) -> None:
    """Refuse to write a model and a report to one stream."""
    if as_json and out in STANDARD_OUTPUT:
        raise OptionError(
            f"--json and -o {out} both write to standard output: name a file with -o"
        )


def required_source(data: str | None, url: str, table: str, memory_limit: str) -> Data:
    """The rows that a command names: a file, many files, or a table in a database."""
    from treecompile.database.locations import Table, in_database

    if url and data is not None:
        raise OptionError(f"give {data!r} or --from, not both")
    if bool(url) != bool(table):
        if url:
            raise OptionError("--from needs a table: add --table NAME")
        raise OptionError("a table needs a database: add --from URL")
    if url:
        return Table(url, table, memory_limit)
    if data is None:
        raise OptionError(
            "missing argument DATA: name a file, or use --from and --table"
        )
    return in_database(data, memory_limit) or data
