"""Learn a tree: its model file, or all artefacts in one step."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from treecompile.cli.options import (
    declared,
    given,
    learning_options,
    place_options,
)
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import OptionError


@click.command("learn")
@click.argument("data", required=False)
@learning_options(requires_target=True)
@place_options
@click.option(
    "--validation-table",
    default="",
    metavar="NAME",
    help="With --from: like --validation, but a table in the same database.",
)
@click.option(
    "--no-temporary-tables",
    is_flag=True,
    help="In a database: create no temporary tables. This is slower.",
)
@click.option(
    "-o",
    "out",
    default="model.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
def learn(
    data: str | None,
    target: str,
    url: str,
    table: str,
    memory_limit: str,
    validation: str | None,
    validation_table: str,
    no_temporary_tables: bool,
    out: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn a tree from DATA: CSV, TSV, ARFF, JSON lines, Parquet, or - for CSV.

    DATA can also be a folder of Parquet files or a pattern such as 'events/*.parquet',
    which DuckDB reads, or a table in a database. Neither has to fit into memory.
    """
    from treecompile.api.options import learn_options
    from treecompile.api.rows import learn_from
    from treecompile.cli.terminal import Terminal, output, required_source, resumable
    from treecompile.database.locations import Table, in_database
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import size

    terminal = Terminal(quiet)
    rows = required_source(data, url, table, memory_limit)
    held_out: str | Table | None = validation
    if validation_table:
        if validation:
            raise OptionError("give --validation or --validation-table, not both")
        if not url:
            raise OptionError(
                "--validation-table is a table of the database that --from names:"
                " without --from, use --validation FILE"
            )
        held_out = Table(url, validation_table, memory_limit)
    columns, how = learn_options("learn", target, given(options))
    state = resumable(out) if in_database(rows) else nullcontext()
    with state as journal:
        program = learn_from(
            rows,
            columns,
            how,
            held_out,
            terminal,
            temporary_tables=not no_temporary_tables,
            journal=journal,
        ).program
        output(out, dumps(program))
    terminal.tell(f"{size(program.body)}: wrote {out}")


@click.command("build")
@click.argument("data")
@learning_options(requires_target=False)
@click.option(
    "--out", "folder", required=True, metavar="DIR", help="Folder for the results."
)
@click.option(
    "--rules",
    type=click.Choice(["flat", "validation", "c45rules"]),
    help="Turn the tree into rules: simplified, pruned against the validation rows, or"
    " pruned as c4.5rules does.",
)
@declared(EmitOptions, "dialect", "glossary", "templates")
@click.option(
    "--engine",
    multiple=True,
    metavar="NAME",
    help="Verify the SQL on this engine, too. Repeatable.",
)
@click.option(
    "--url", metavar="URL", help="Address of the database server to verify on."
)
@click.option(
    "--no-verify",
    "verify",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not run the artefacts.",
)
def build(data: str, folder: str, quiet: bool, **options: Any) -> None:
    """Learn from DATA and write model.json, predict.py, predict.sql and RULES.md.

    DATA can also be rules: a .rules file, or a document that contains rules, such as
    RULES.md. Then nothing is learned, and the rules are compiled unchanged.

    The Python module and the SQL are run on every cell of the model and compared with
    it before anything is written.
    """
    from treecompile.api import building
    from treecompile.cli.reports import verification
    from treecompile.cli.terminal import Terminal

    terminal = Terminal(quiet)
    made = building.build(data, folder, feedback=terminal, **given(options))
    for name, report in made.reports.items():
        shown = terminal if report.passed else Terminal(False)
        shown.tell(*verification(name, report))
    if not made.passed:
        raise SystemExit(1)
    terminal.tell(f"wrote {', '.join(made.paths)} in {folder}")
