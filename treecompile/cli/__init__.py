"""The commands, one file each.

Heavy modules are imported inside their functions, so that help answers at once.

What a user does wrong raises a TreecompileError somewhere below; here it becomes one
line and exit code 2. Exit code 1 means that the answer is no.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from treecompile import __version__
from treecompile.cli import (
    build,
    check,
    diff,
    draw,
    emit,
    evaluate,
    learn,
    predict,
    rules,
    score,
    show,
    verify,
)
from treecompile.errors import TreecompileError

COMMANDS = (
    *(learn, rules, emit, build, verify),
    *(predict, score, evaluate, show, draw, check, diff),
)


class Group(click.Group):
    """Turns every error of a user into one line and exit code 2."""

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
            kept = str(abort.__cause__ or "")  # what the interrupted work has to say
            click.echo(f"interrupted{kept and f': {kept}'}", err=True)
            code = 130
            # Python remembers an interrupt of code that is run from text, as that of
            # dataclasses is, and would end by the signal. Other such code clears that.
            exec("")
        except BrokenPipeError:
            sys.stderr.close()  # whoever read the output has had enough of it
            code = 0
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treecompile")
def main() -> None:
    """Compile learned decision trees into Python, SQL and rule documents.

    Every artefact gives exactly the model's answer, for every row, and `verify` proves
    it on the real engine. Start with:

        treecompile build data.csv --target COLUMN --out DIR
    """


for module in COMMANDS:
    main.add_command(module.command)
