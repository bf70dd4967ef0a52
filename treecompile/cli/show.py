"""Show a model in the terminal."""

from __future__ import annotations

import os
import sys

import click

from treecompile.cli.talk import read_model, summary

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")


def has_colours() -> bool:
    """On a terminal, unless NO_COLOR says otherwise (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def coloured(text: str, place: int) -> str:
    if place < 0:
        return click.style(text, dim=True)
    return click.style(text, fg=COLOURS[place % len(COLOURS)], bold=True)


@click.command("show")
@click.argument("model")
def command(model: str) -> None:
    """Show the tree, or the rules, in the terminal."""
    from treecompile.semantics import is_fractional
    from treecompile.show import plain, show

    program = read_model(model)
    click.echo(f"{program.target}, by {program.algorithm}: {summary(program)}")
    if is_fractional(program.body):
        click.echo("missing and unseen values are divided among the branches")
    click.echo(show(program, coloured if has_colours() else plain))
