"""The verbs from the shell: commands parse, call `api` and print.

They import what is heavy inside their functions, so that help appears at once. An error
of the user is a TreecompileError, which becomes one line and exit code 2. Exit code 1
means that the answer is no.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from treecompile import __version__
from treecompile.cli import emit, failures, inspect, learn, predict, streams

NAME = "treecompile"
COMMANDS = (
    *(learn.learn, learn.rules, emit.emit, learn.build, emit.verify),
    *(predict.predict, predict.score, predict.evaluate),
    *(inspect.show, inspect.draw, inspect.check, inspect.diff),
)


class CommandGroup(click.Group):
    """Prints every error as one line, and nothing else beside it."""

    def main(self, *args: Any, **extra: Any) -> Any:
        streams.begin()
        try:
            code = self._run(*args, **extra)
            streams.finish()
        except BaseException as error:
            code = failures.report(error)
        sys.exit(code if isinstance(code, int) else 0)

    def _run(
        self, args: Sequence[str] | None = None, prog_name: str = NAME, **extra: Any
    ) -> Any:
        """What click does, except for its own way with interrupts and pipes."""
        self._main_shell_completion(extra, prog_name)
        given = sys.argv[1:] if args is None else list(args)
        try:
            with self.make_context(prog_name, given, **extra) as context:
                return self.invoke(context)
        except click.exceptions.Exit as end:
            return end.exit_code
        except SystemExit as end:
            return end.code


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name=NAME)
@click.pass_context
def main(context: click.Context) -> None:
    """Compile learned decision trees into Python, SQL and rule documents.

    Every artefact gives exactly the model's answer for every row, and `verify` proves
    it on the real engine. Start with:

        treecompile build data.csv --target COLUMN --out DIR
    """
    if context.invoked_subcommand is None:
        streams.show(context.get_help())


for command in COMMANDS:
    main.add_command(command)
