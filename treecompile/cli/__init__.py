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
from treecompile.cli import emit, inspect, learn, predict
from treecompile.model.errors import TreecompileError

COMMANDS = (
    *(learn.learn, learn.rules, emit.emit, learn.build, emit.verify),
    *(predict.predict, predict.score, predict.evaluate),
    *(inspect.show, inspect.draw, inspect.check, inspect.diff),
)


class CommandGroup(click.Group):
    """Prints every error of the user as one line and exits with code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except (TreecompileError, click.ClickException) as error:
            message = str(error)
            if isinstance(error, click.ClickException):
                message = error.format_message()
            click.echo(f"Error: {' '.join(message.split())}", err=True)
            code = 2
        except click.Abort as abort:
            kept = str(abort.__cause__ or "")  # what is kept of the interrupted work
            click.echo(f"interrupted{kept and f': {kept}'}", err=True)
            code = 130
            # After an interrupt in code that was compiled from text, as the methods of
            # dataclasses are, Python would end by the signal. Running other code from
            # text clears that.
            exec("")
        except BrokenPipeError:
            sys.stderr.close()  # the reader of the output has closed it
            code = 0
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treecompile")
def main() -> None:
    """Compile learned decision trees into Python, SQL and rule documents.

    Every artefact gives exactly the model's answer for every row, and `verify` proves
    it on the real engine. Start with:

        treecompile build data.csv --target COLUMN --out DIR
    """


for command in COMMANDS:
    main.add_command(command)
