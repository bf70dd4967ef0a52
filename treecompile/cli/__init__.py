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
from treecompile.cli import (
    build,
    emit,
    failures,
    importing,
    inspect,
    learn,
    predict,
    streams,
)
from treecompile.cli.command import HELP, Command, write_rows, write_text

NAME = "treecompile"
COMMANDS: dict[str, tuple[Command, ...]] = {  # by heading, in the order of the work
    "Make a model": (build.build, learn.learn, learn.rules, importing.import_model),
    "Compile and prove": (emit.emit, emit.verify),
    "Predict": (predict.predict,),
    "Examine": (inspect.show, predict.evaluate, inspect.check, inspect.diff),
}


class CommandGroup(click.Group):
    """Prints every error as one line, and nothing else beside it."""

    def format_help(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        self.format_usage(context, formatter)
        write_text(formatter, self.help or "")
        sections = {
            heading: [(each.name or "", each.short_help or "") for each in commands]
            for heading, commands in COMMANDS.items()
        }
        options = (each.get_help_record(context) for each in self.get_params(context))
        sections["Options"] = list(filter(None, options))
        write_rows(formatter, sections)

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
        given = sys.argv[1:] if args is None else list(args)
        try:
            self._main_shell_completion(extra, prog_name)
            with self.make_context(prog_name, given, **extra) as context:
                return self.invoke(context)
        except click.exceptions.Exit as end:
            return end.exit_code
        except SystemExit as end:
            return end.code


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": list(HELP), "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name=NAME)
@click.pass_context
def main(context: click.Context) -> None:
    """Compile learned decision trees into Python, SQL and rule documents.

    Every artefact gives exactly the model's answer for every row, and `verify` proves
    it on the real engine. Start with:

    \b
      treecompile build data.csv --target COLUMN --out DIR

    `treecompile COMMAND --help` shows examples and the options of a command.
    """
    if context.invoked_subcommand is None:
        streams.show(context.get_help())


for commands in COMMANDS.values():
    for each in commands:
        main.add_command(each)
