"""Measure a model on data."""

from __future__ import annotations

import click

from treecompile.cli.options import na_option
from treecompile.cli.talk import read_model


@click.command("evaluate")
@click.argument("model")
@click.argument("data")
@na_option
def command(model: str, data: str, na_values: tuple[str, ...]) -> None:
    """Measure a model on DATA that has the target: accuracy, confusion, each rule."""
    from treecompile.quality import evaluate_on
    from treecompile.read import read_table
    from treecompile.reports import evaluation

    program = read_model(model)
    result = evaluate_on(program, read_table(data), na_values)
    for line in evaluation(program, result):
        click.echo(line)
