"""Turn a model into rules, and prune them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from treecompile.cli.options import (
    memory_option,
    na_option,
    quiet_option,
    url_option,
)
from treecompile.cli.talk import output, progress_bar, read_model, tell
from treecompile.errors import OptionError

if TYPE_CHECKING:
    from treecompile.in_database.places import Place


@click.command("rules")
@click.argument("model")
@click.option(
    "--validation",
    metavar="FILE",
    help="Prune each rule against these rows, with the target, and sort them. A folder"
    " or a pattern of Parquet files is read by DuckDB.",
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
    help="With --from: prune against the rows of this table, where it is.",
)
@click.option(
    "--training-table",
    default="",
    metavar="NAME",
    help="With --from: prune as c4.5rules does, by the rows of this table.",
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
    na_values: tuple[str, ...],
    out: str,
    quiet: bool,
) -> None:
    """Make an ordered list of simplified rules of a tree, and prune it if asked."""
    from treecompile.model_file import dumps
    from treecompile.pruning import flattening_notes, prune, simplify

    given = {
        "--validation": validation is not None,
        "--training": training is not None,
        "--validation-table": bool(validation_table),
        "--training-table": bool(training_table),
    }
    several = [name for name, is_given in given.items() if is_given]
    if several[1:]:
        raise OptionError(f"give {several[0]} or {several[1]}, not both")
    table = validation_table or training_table
    there = _there(validation or training, url, table, memory_limit)
    program = read_model(model, quiet)
    if there is not None:
        from treecompile.in_database import rules

        is_training = training is not None or bool(training_table)
        prune_there = rules.prune_by_validation_there
        if is_training:
            prune_there = rules.prune_by_training_there
        with there as place, progress_bar("pruning", quiet) as start:
            pruned = prune_there(program, place, na_values, start)
        made, notes = pruned.program, pruned.notes
    elif validation is None and training is None:
        made, notes = simplify(program), flattening_notes(program)
    else:
        with progress_bar("pruning", quiet) as start:
            pruned = prune(program, validation, training, na_values, start)
        made, notes = pruned.program, pruned.notes
    output(out, dumps(made))
    tell(quiet, *(f"note: {note}" for note in notes))
    tell(quiet, f"{counted(made)}: wrote {out}")


def _there(
    file: str | None, url: str, table: str, memory_limit: str
) -> AbstractContextManager[Place] | None:
    """Where the rows are, if not in a file that is read into memory."""
    from treecompile.in_database.places import is_many_files, open_place

    if bool(url) != bool(table):
        wanted = "--validation-table or --training-table" if url else "--from URL"
        raise OptionError(f"--from and a table there belong together: add {wanted}")
    if url:
        return open_place(None, url, table, memory_limit)
    if file is not None and is_many_files(file):
        return open_place(file, "", "", memory_limit)
    if memory_limit:
        raise OptionError(
            "--memory-limit is for DuckDB: use it with --from duckdb://FILE, or with"
            " Parquet files by pattern or folder"
        )
    return None


def counted(program: object) -> str:
    """How many rules there are now."""
    from treecompile.ir import Program, RuleSet

    assert isinstance(program, Program)
    assert isinstance(program.body, RuleSet)
    count = len(program.body.rules)
    return "1 rule" if count == 1 else f"{count} rules"
