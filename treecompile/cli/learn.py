"""Make a model: learn a tree, turn it into rules, or build all artefacts at once."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from treecompile.cli.options import (
    declared,
    force_option,
    given,
    learning_options,
    memory_option,
    model_option,
    na_option,
    place_options,
    quiet_option,
    url_option,
    value,
)
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import OptionError


@click.command("learn")
@click.argument("data", required=False)
@learning_options(requires_target=True)
@place_options
@value(
    "--validation-table",
    "NAME",
    "With --from: like --validation, but a table in the same database.",
    "",
)
@click.option(
    "--no-temporary-tables",
    is_flag=True,
    help="In a database: create no temporary tables. This is slower.",
)
@model_option("model.json")
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
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn a tree from DATA: CSV, TSV, ARFF, JSON lines, Parquet, or - for CSV.

    DATA can also be a folder of Parquet files or a pattern such as 'events/*.parquet',
    which DuckDB reads, or a table in a database. Neither has to fit into memory.
    """
    from treecompile.api.options import learn_options
    from treecompile.api.rows import learn_from
    from treecompile.cli.terminal import (
        Terminal,
        check_output,
        output,
        required_source,
        resumable,
        state_file,
    )
    from treecompile.database.locations import Table, in_database
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import size

    check_output(out, force=force)
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
    is_resumable = in_database(rows) is not None
    if is_resumable:
        check_output(state_file(out), force=force)
    state = resumable(out) if is_resumable else nullcontext()
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


@click.command("rules")
@click.argument("model")
@value(
    "--validation",
    "FILE",
    "Prune every rule against these rows, which have known targets, and sort the"
    " rules. DuckDB reads a folder or a pattern of Parquet files.",
)
@value(
    "--training",
    "FILE",
    "Prune as c4.5rules does, by the rows that the model was learned from.",
)
@url_option
@value(
    "--validation-table",
    "NAME",
    "With --from: like --validation, but a table in the database.",
    "",
)
@value(
    "--training-table",
    "NAME",
    "With --from: like --training, but a table in the database.",
    "",
)
@memory_option
@na_option
@model_option("rules.json")
@quiet_option
def rules(
    model: str,
    validation: str | None,
    training: str | None,
    url: str,
    validation_table: str,
    training_table: str,
    memory_limit: str,
    na_value: tuple[str, ...],
    out: str,
    force: bool,
    quiet: bool,
) -> None:
    """Turn a tree into an ordered list of simplified rules, and prune it if asked."""
    from treecompile.api.rows import prune_rules
    from treecompile.cli.terminal import (
        Terminal,
        check_output,
        output,
        read_model,
        source_of,
    )
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import leaf_count
    from treecompile.rules import pruning
    from treecompile.tables.raw import counted

    check_output(out, force=force)
    named = {
        "--validation": validation,
        "--training": training,
        "--validation-table": validation_table,
        "--training-table": training_table,
    }
    several = [name for name, value in named.items() if value]
    if several[1:]:
        raise OptionError(f"give {several[0]} or {several[1]}, not both")
    rows = source_of(
        validation or training,
        url,
        validation_table or training_table,
        memory_limit,
        wanted="--validation-table or --training-table",
    )
    terminal = Terminal(quiet)
    program = read_model(model, terminal)
    if rows is None:
        made = pruning.simplify(program)
        notes = pruning.flattening_notes(program)
    else:
        is_training = training or training_table
        how = pruning.C45RULES if is_training else pruning.VALIDATION
        made, notes = prune_rules(program, how, rows, na_value, terminal)
    output(out, dumps(made))
    terminal.notes(notes)
    terminal.tell(f"{counted(leaf_count(made.body), 'rule')}: wrote {out}")


@click.command("build")
@click.argument("data")
@learning_options(requires_target=False)
@value("--out folder", "DIR", "Folder for the results.", required=True)
@click.option(
    "--rules",
    type=click.Choice(["flat", "validation", "c45rules"]),
    help="Turn the tree into rules: simplified, pruned against the validation rows, or"
    " pruned as c4.5rules does.",
)
@declared(EmitOptions, "dialect", "glossary", "templates")
@value(
    "--engine", "NAME", "Verify the SQL on this engine, too. Repeatable.", multiple=True
)
@value("--url", "URL", "Address of the database server to verify on.")
@click.option(
    "--no-verify",
    "verify",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not run the artefacts.",
)
@force_option
def build(data: str, folder: str, force: bool, quiet: bool, **options: Any) -> None:
    """Learn from DATA and write model.json, predict.py, predict.sql and RULES.md.

    DATA can also be a model: a model file, a .rules file, or a document with rules
    such as RULES.md. Then nothing is learned, and it is compiled as it is.

    The Python module and the SQL are run on every cell of the model and compared with
    it before anything is written.
    """
    from treecompile.api import building
    from treecompile.cli.reports import verification
    from treecompile.cli.terminal import Terminal, check_output

    check_output(*building.paths_in(folder).values(), force=force)
    terminal = Terminal(quiet)
    made = building.build(
        data, folder, force=force, feedback=terminal, **given(options)
    )
    for name, report in made.reports.items():
        shown = terminal if report.passed else Terminal(False)
        shown.tell(*verification(name, report))
    if not made.passed:
        raise SystemExit(1)
    terminal.tell(f"wrote {', '.join(made.paths)} in {folder}")
