"""Show a model in the terminal."""

from __future__ import annotations

import click

from treecompile.cli.talk import read_model, summary


@click.command("show")
@click.argument("model")
def command(model: str) -> None:
    """Show the tree, or the rules, in the terminal."""
    from treecompile.semantics import is_fractional
    from treecompile.show import show

    program = read_model(model)
    click.echo(f"{program.target}, by {program.algorithm}: {summary(program)}")
    if is_fractional(program.body):
        click.echo("missing and unseen values are divided among the branches")
    click.echo(show(program))
