"""Make a model: learn a tree, or turn it into rules."""

from __future__ import annotations

from time import monotonic
from typing import Any

import click

from treecompile.cli.command import command
from treecompile.cli.options import (
    estimate_option,
    given,
    json_option,
    learning_options,
    model_option,
    place_options,
    quiet_option,
    reading_options,
    value,
)
from treecompile.model.errors import OptionError
from treecompile.model.options import (
    COMMON,
    DATABASE,
    PRUNING,
)


@command(
    "learn",
    "Learn a tree from a table.",
    "treecompile learn data.csv --target play\n"
    "treecompile learn 'events/*.parquet' --target late -o late.json\n"
    "treecompile learn --from duckdb://shop.db --table orders --target late",
    "The model file, by default model.json. Notes about the choices made go to standard"
    " error.",
)
@click.argument("data", required=False)
@learning_options(requires_target=True)
@place_options
@value(
    "--validation-table",
    "NAME",
    "With --from: like --validation, but a table in the same database.",
    "",
    group=DATABASE,
)
@estimate_option
@model_option("model.json", COMMON)
@json_option
def learn(
    data: str | None,
    target: str,
    url: str,
    table: str,
    memory_limit: str,
    validation: str | None,
    validation_table: str,
    estimate: bool,
    out: str,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn a tree from DATA, and write it as a model file.

    DATA is a CSV, TSV, Excel, Parquet or JSON lines file, or - for CSV on
    standard input. It can also be a folder or a pattern of Parquet files, which DuckDB
    reads, or a table in a database. These need not fit into memory.
    """
    from treecompile.api.estimating import estimated
    from treecompile.api.options import learn_options
    from treecompile.api.rows import learn_from
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import (
        Terminal,
        check_json,
        check_output,
        output,
        required_source,
    )
    from treecompile.database.locations import Table
    from treecompile.model.file.write import dumps

    check_json(out, as_json=as_json)
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
    began = monotonic()
    learned = learn_from(rows, columns, how, held_out, terminal)
    program = learned.program
    if estimate:
        program = estimated(program, learned, how)
    output(out, dumps(program))
    terminal.made(program, monotonic() - began)
    terminal.tell(f"wrote {out}")
    if as_json:
        json_reports.write(json_reports.made(program, [out], learned.notes))


@command(
    "rules",
    "Turn a tree into an ordered list of rules, and prune it.",
    "treecompile rules model.json\n"
    "treecompile rules model.json --validation held_out.csv -o rules.json",
    "A model file with the rules, by default rules.json. Every command accepts it.",
)
@click.argument("model")
@value(
    "--validation",
    "FILE",
    "Prune every rule against these rows, which have known targets, and sort the"
    " rules.",
    group=PRUNING,
)
@value(
    "--training",
    "FILE",
    "Prune as c4.5rules does, by the rows that the model was learned from.",
    group=PRUNING,
)
@reading_options
@model_option("rules.json")
@json_option
@quiet_option
def rules(
    model: str,
    validation: str | None,
    training: str | None,
    out: str,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Turn a tree into an ordered list of simplified rules, and prune it if asked.

    Without --validation and --training, every row keeps its answer. MODEL may also be a
    list of rules.
    """
    from treecompile.api.options import read_options
    from treecompile.api.rows import prune_rules
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import (
        Terminal,
        check_json,
        check_output,
        output,
        read_single,
    )
    from treecompile.measure.summary import quality_line
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import size
    from treecompile.rules import pruning

    check_json(out, as_json=as_json)
    check_output(out, force=force)
    reading = read_options("rules", given(options))
    if validation and training:
        raise OptionError("give --validation or --training, not both")
    rows = validation or training
    terminal = Terminal(quiet)
    program = read_single(model, "rules")
    made = pruning.simplify(program)
    notes: tuple[str, ...] = ()
    if rows is not None:
        how = pruning.C45RULES if training else pruning.VALIDATION
        made, notes = prune_rules(program, how, rows, reading, terminal)
    output(out, dumps(made))
    terminal.notes(notes)
    if line := quality_line(made):
        terminal.tell(line)
    terminal.tell(f"{size(made.body)}: wrote {out}")
    if as_json:
        json_reports.write(json_reports.made(made, [out], notes))
