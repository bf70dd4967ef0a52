"""The verbs from the shell: commands parse, call `api` and print.

They import what is heavy inside their functions, so that help appears at once. An error
of the user is a TreecompileError, which becomes one line and exit code 2. Exit code 1
means that the answer is no.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from treecompile import __version__
from treecompile.cli import emit, failures, inspect, learn, predict, streams

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
            try:
                code = super().main(*args, **{**extra, "standalone_mode": False})
            except SystemExit as end:
                code = end.code
            streams.finish()
        except BaseException as error:
            code = failures.report(error)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, BrokenPipeError) as error:
            # Not for click, which prints an empty line and ends the process.
            raise failures.EndedError from error


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="treecompile")
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
