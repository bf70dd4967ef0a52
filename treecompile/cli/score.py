"""Predict for a table where it is."""

from __future__ import annotations

import click

from treecompile.cli.options import quiet_option
from treecompile.cli.talk import read_model, tell


@click.command("score")
@click.argument("model")
@click.option(
    "--from",
    "url",
    required=True,
    metavar="URL",
    help="The database: duckdb://FILE or postgresql://...",
)
@click.option(
    "--table", required=True, metavar="NAME", help="The table to predict for."
)
@click.option("--into", required=True, metavar="NAME", help="The table to make.")
@quiet_option
def command(model: str, url: str, table: str, into: str, quiet: bool) -> None:
    """Predict for a table in a database, into a new table there.

    It has all columns and `prediction`, by the SQL that `emit` writes.
    """
    from treecompile.in_database.score import score

    program = read_model(model, quiet)
    notes = score(program, url, table, into)
    tell(quiet, *(f"note: {note}" for note in notes))
    tell(quiet, f"made {into}")
