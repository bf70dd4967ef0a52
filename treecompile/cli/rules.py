"""Turn a model into rules, and prune them."""

from __future__ import annotations

import click

from treecompile.cli.options import memory_option, na_option, quiet_option, url_option
from treecompile.model.errors import OptionError


@click.command("rules")
@click.argument("model")
@click.option(
    "--validation",
    metavar="FILE",
    help="Prune every rule against these rows, which have known targets, and sort the"
    " rules. DuckDB reads a folder or a pattern of Parquet files.",
)
@click.option(
    "--training",
    metavar="FILE",
    help="Prune as c4.5rules does, by the rows that the model was learned from.",
)
@url_option
@click.option(
    "--validation-table",
    default="",
    metavar="NAME",
    help="With --from: like --validation, but a table in the database.",
)
@click.option(
    "--training-table",
    default="",
    metavar="NAME",
    help="With --from: like --training, but a table in the database.",
)
@memory_option
@na_option
@click.option(
    "-o",
    "out",
    default="rules.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
@quiet_option
def command(
    model: str,
    validation: str | None,
    training: str | None,
    url: str,
    validation_table: str,
    training_table: str,
    memory_limit: str,
    na_value: tuple[str, ...],
    out: str,
    quiet: bool,
) -> None:
    """Turn a tree into an ordered list of simplified rules, and prune it if asked."""
    from treecompile.api.rows import prune_rules
    from treecompile.cli.terminal import Terminal, output, read_model, source_of
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import leaf_count
    from treecompile.rules.pruning import (
        C45RULES,
        VALIDATION,
        flattening_notes,
        simplify,
    )
    from treecompile.tables.raw import counted

    given = {
        "--validation": validation,
        "--training": training,
        "--validation-table": validation_table,
        "--training-table": training_table,
    }
    several = [name for name, value in given.items() if value]
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
        made, notes = simplify(program), flattening_notes(program)
    else:
        how = C45RULES if training or training_table else VALIDATION
        pruned = prune_rules(program, how, rows, na_value, terminal)
        made, notes = pruned.program, pruned.notes
    output(out, dumps(made))
    terminal.notes(notes)
    rules = counted(leaf_count(made.body), "rule")
    terminal.tell(f"{rules}: wrote {out}")
