"""Predict for a table where it is."""

from __future__ import annotations

import click

from treecompile.cli.learn import is_there
from treecompile.cli.options import na_option, place_options, quiet_option
from treecompile.cli.talk import read_model, tell
from treecompile.errors import OptionError


@click.command("score")
@click.argument("model")
@click.argument("data", required=False)
@place_options
@click.option(
    "--into",
    required=True,
    metavar="NAME",
    help="The table to make; of Parquet files, the file.",
)
@click.option(
    "--output",
    default="label",
    show_default=True,
    metavar="WHAT",
    help="label, probability, rule, or several with commas.",
)
@click.option(
    "--label", default="", metavar="L", help="Whose probability. [default: predicted]"
)
@na_option
@quiet_option
def command(
    model: str,
    data: str | None,
    url: str,
    table: str,
    memory_limit: str,
    into: str,
    output: str,
    label: str,
    na_values: tuple[str, ...],
    quiet: bool,
) -> None:
    """Predict for a table in a database, into a new table there.

    It has all columns and `prediction`, by the SQL that `emit` writes. DATA is a folder
    or a pattern of Parquet files instead, for DuckDB.
    """
    from treecompile.in_database.places import open_place
    from treecompile.in_database.score import score

    if not is_there(data, url, table, memory_limit):
        raise OptionError(
            f"{data!r} is one file: `treecompile predict` writes its predictions; for"
            " many, give a folder or a pattern of Parquet files"
        )
    program = read_model(model, quiet)
    with open_place(data, url, table, memory_limit, writes=True) as there:
        notes = score(program, there, into, output, label, na_values)
    tell(quiet, *(f"note: {note}" for note in notes))
    tell(quiet, f"made {into}")
