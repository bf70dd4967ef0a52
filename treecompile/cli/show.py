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
@click.option("--stats", is_flag=True, help="Cases, impurity and gain of every node.")
@click.option("--importance", is_flag=True, help="What each feature is worth.")
@click.option(
    "--alphas", is_flag=True, help="The sequence of trees that pruning would make."
)
def command(model: str, stats: bool, importance: bool, alphas: bool) -> None:
    """Show the tree, or the rules, in the terminal."""
    from treecompile.importance import importances, tree_of
    from treecompile.reports import importance_table, sequence
    from treecompile.semantics import is_fractional
    from treecompile.show import plain, show

    program = read_model(model)
    if stats or importance or alphas:
        tree_of(program)  # which refuses a list of rules, before anything is said
    click.echo(f"{program.target}, by {program.algorithm}: {summary(program)}")
    if is_fractional(program.body):
        click.echo("missing and unseen values are divided among the branches")
    click.echo(show(program, coloured if has_colours() else plain, stats=stats))
    if importance:
        click.echo("\nimportance of the features:")
        for line in importance_table(importances(program)):
            click.echo(line)
    if alphas:
        from treecompile.learners.prune import weakest_links

        click.echo("\ncost-complexity pruning at each alpha:")
        for line in sequence(weakest_links(tree_of(program))):
            click.echo(line)
