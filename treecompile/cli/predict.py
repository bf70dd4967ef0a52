"""Predict for the rows of a table."""

from __future__ import annotations

import click

from treecompile.cli.options import na_option
from treecompile.cli.talk import output, read_model


@click.command("predict")
@click.argument("model")
@click.argument("data")
@na_option
@click.option("-o", "out", metavar="FILE", help="[default: standard output]")
def command(model: str, data: str, na_values: tuple[str, ...], out: str | None) -> None:
    """Write DATA as CSV with a column `prediction`, by the reference evaluator."""
    from treecompile.score import scored_csv

    output(out, scored_csv(read_model(model), data, na_values))
