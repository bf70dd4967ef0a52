"""Learn a tree and write its model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treecompile.cli.learn_there import There, learning_there
from treecompile.cli.options import learn_options, place_options, read_options
from treecompile.cli.talk import output, progress_bar, summary, tell
from treecompile.errors import OptionError

if TYPE_CHECKING:
    from treecompile.training import Learned


def learn_with(data: str, quiet: bool, options: dict[str, Any]) -> Learned:
    from treecompile import training
    from treecompile.reports import sequence

    require_target(options)
    validation = options.pop("validation")
    if options.pop("validation_table", ""):
        raise OptionError(
            "--validation-table is a table of the database that --from names: with"
            " DATA in a file, use --validation FILE"
        )
    columns, how = read_options(options)
    with progress_bar("learning", quiet) as start:
        learned = training.learn(data, columns, how, validation, start)
    tell(quiet, *learned.notes)
    if learned.choice is not None:
        table = learned.choice.table
        steps = [entry.step for entry in table]
        tell(quiet, *sequence(steps, table, learned.choice.place))
    return learned


def require_target(options: dict[str, Any]) -> None:
    if options["target"] is None:  # not needed where rules are compiled
        raise click.MissingParameter(param_hint="'--target'", param_type="option")


def state_path(out: str) -> Path | None:
    """Where a long run keeps its state: beside the file to which the model goes."""
    path = Path(out)
    if out == "-" or (path.exists() and not path.is_file()):
        return None
    return path.with_name(f"{path.name}.state")


def is_there(data: str | None, url: str, table: str, memory_limit: str) -> bool:
    """Whether what to learn from is in a database; refuses what is neither nor."""
    from treecompile.in_database.places import is_many_files

    if url and data is not None:
        raise OptionError(f"give {data!r} or --from, not both")
    if bool(url) != bool(table):
        wanted = "--table NAME" if url else "--from URL"
        raise OptionError(f"--from and --table belong together: add {wanted}")
    if url:
        return True
    if data is None:
        raise click.MissingParameter(param_hint="'DATA'", param_type="argument")
    is_many = is_many_files(data)
    if memory_limit and not is_many:
        raise OptionError(
            "--memory-limit is for DuckDB: use it with --from duckdb://FILE, or with"
            " Parquet files by pattern or folder"
        )
    return is_many


@click.command("learn")
@click.argument("data", required=False)
@learn_options
@place_options
@click.option(
    "--validation-table",
    default="",
    metavar="NAME",
    help="With --from: a table there, to measure the quality on or to prune by.",
)
@click.option(
    "--no-temporary-tables",
    is_flag=True,
    help="In a database: make none, which is slower.",
)
@click.option(
    "-o",
    "out",
    default="model.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
def command(
    data: str | None,
    url: str,
    table: str,
    memory_limit: str,
    no_temporary_tables: bool,
    out: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn a tree from DATA: CSV, TSV, ARFF, JSON lines, Parquet, or - for CSV.

    A folder of Parquet files, or a pattern as 'events/*.parquet', is learned from by
    DuckDB, and a table in a database where it is: neither needs to fit into memory.
    """
    from treecompile.model_file import dumps

    if is_there(data, url, table, memory_limit):
        require_target(options)
        place = (data, url, table, memory_limit)
        there = There(place, no_temporary_tables, state_path(out))
        with learning_there(there, quiet, options) as program:
            output(out, dumps(program))
    else:
        if no_temporary_tables:
            raise OptionError(
                "--no-temporary-tables is for learning in a database, with --from"
            )
        assert data is not None
        program = learn_with(data, quiet, options).program
        output(out, dumps(program))
    tell(quiet, f"{summary(program)}: wrote {out}")
