"""Predict for the rows of a table, or measure the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treecompile.cli import streams
from treecompile.cli.command import command
from treecompile.cli.options import (
    flag_of,
    given,
    how_options,
    json_option,
    out_option,
    place_options,
    quiet_option,
    reading_options,
    value,
)
from treecompile.model.errors import OptionError
from treecompile.model.options import COMMON, DATABASE, options_of
from treecompile.tables.options import ReadOptions

if TYPE_CHECKING:
    from treecompile.cli.terminal import Terminal
    from treecompile.learning.cross_validation import CrossValidation

FOLDS = 10  # if only the target is given
READING = [each.keyword for each in options_of(ReadOptions).values()]


@command(
    "predict",
    "Predict for the rows of a file, or of a table in a database.",
    "treecompile predict model.json new.csv -o predicted.csv\n"
    "treecompile predict model.json --from duckdb://shop.db --table orders"
    " --into late\n"
    "treecompile predict model.json 'events/*.parquet' --into predicted.parquet",
    "DATA as CSV with a last column prediction, by default to standard output; or a new"
    " table in the database, or one Parquet file.",
)
@click.argument("model")
@click.argument("data", required=False)
@reading_options
@out_option
@place_options
@value(
    "--into",
    "NAME",
    "In a database: the table to create; for Parquet files, the file. Nothing is"
    " overwritten.",
    "",
    group=DATABASE,
)
@value(
    "--output",
    "WHAT",
    "With --into: the columns to add: label (as prediction), probability, rule, the"
    " margin of a forest, or several, separated by commas. [default: label]",
    group=DATABASE,
)
@value(
    "--label",
    "L",
    "With --into: the label whose probability, or margin, to compute. [default: the"
    " predicted label]",
    group=DATABASE,
)
@quiet_option
def predict(
    model: str,
    data: str | None,
    out: str | None,
    force: bool,
    url: str,
    table: str,
    memory_limit: str,
    into: str,
    output: str | None,
    label: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Predict for every row of DATA, by the reference evaluator.

    DATA is a CSV, TSV, Parquet, Excel or JSON lines file, or - for CSV on
    standard input.

    With --into, the database predicts, by the SQL that `emit` writes. The rows are a
    table (--from, --table), or DATA is a folder or a pattern of Parquet files, which
    DuckDB reads. The new table has all columns and `prediction`.
    """
    from treecompile.api.options import read_options
    from treecompile.cli.terminal import Terminal, read_model, required_source

    how, terminal = read_options("predict", given(options)), Terminal(quiet)
    source = required_source(data, url, table, memory_limit)
    if into:
        from treecompile.api import rows

        if out is not None:
            raise OptionError("give -o or --into, not both")
        what = (into, output or "label", label or "")
        terminal.notes(rows.score(read_model(model), source, *what, how))
        terminal.tell(f"created {into}")
        return
    if not isinstance(source, str):
        raise OptionError("the database writes the predictions: add --into NAME")
    for flag, found in (("--output", output), ("--label", label)):
        if found is not None:
            raise OptionError(f"{flag} is for --into: leave it out")
    _predict_file(model, source, how, terminal, out, force)


def _predict_file(
    model: str,
    data: str,
    how: ReadOptions,
    terminal: Terminal,
    out: str | None,
    force: bool,
) -> None:
    from treecompile.cli.terminal import check_output, output, read_model
    from treecompile.measure.quality import scored_csv
    from treecompile.tables.read import read_table

    check_output(out, force=force)
    program = read_model(model)
    table = read_table(data, how)
    terminal.notes(table.notes)
    output(out, scored_csv(program, table, how.na_values))


@command(
    "evaluate",
    "Measure a model on rows with known targets, or cross-validate.",
    "treecompile evaluate model.json held_out.csv\n"
    "treecompile evaluate data.csv --target play --cv 10",
    "No file. The report goes to standard output.",
)
@click.argument("files", nargs=-1, metavar="[MODEL] DATA")
@value(
    "--cv folds",
    "K",
    "Cross-validate: K times, learn from all but one K-th of the rows, and measure on"
    " that part. [default: 10, if there is a --target]",
    type=int,
    group=COMMON,
)
@value("--target", "COL", "The column to predict, without a MODEL.", group=COMMON)
@how_options(shows_validation=False)
@place_options
@json_option
def evaluate(
    files: tuple[str, ...],
    url: str,
    table: str,
    memory_limit: str,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a model on rows with known targets: accuracy, confusion, each rule.

    The rows may be in a database (--from, --table), and DATA may be a folder or a
    pattern of Parquet files, which DuckDB reads.

    Without a MODEL, cross-validate the trees learned from DATA, with the options of
    `learn`.
    """
    from treecompile.api import rows
    from treecompile.api.options import read_options
    from treecompile.cli import json_reports
    from treecompile.cli.reports import cross_validation, evaluation
    from treecompile.cli.terminal import Terminal, read_model, required_source

    has_model = len(files) == 2 or bool(files and (url or table))
    keywords = given(options)
    if has_model:
        reading = {name: keywords.pop(name) for name in READING if name in keywords}
        for name in keywords:
            raise OptionError(
                f"{flag_of(name)} is for learning, and {files[0]!r} is a model: leave"
                " the option out, or to cross-validate, leave the model out"
            )
        data = files[1] if files[1:] else None
        source = required_source(data, url, table, memory_limit)
        program = read_model(files[0])
        how = read_options("evaluate", reading)
        measured = rows.evaluate(program, source, how, Terminal(quiet))
        if as_json:
            json_reports.write(json_reports.evaluated(program, measured))
        else:
            streams.show("\n".join(evaluation(program, measured)))
    elif len(files) != 1:
        wanted = "MODEL and DATA, or DATA alone with --target to cross-validate"
        if url:
            wanted = "MODEL beside --from and --table"
        raise OptionError(f"{len(files)} files: expected {wanted}")
    elif "target" not in keywords:
        raise OptionError(
            f"only {files[0]!r} is given: to measure a model, add DATA; to"
            " cross-validate, add --target COL"
        )
    else:
        result = _cross_validate(files[0], memory_limit, quiet, keywords)
        if as_json:
            json_reports.write(json_reports.cross_validated(result))
        else:
            streams.show("\n".join(cross_validation(result)))


def _cross_validate(
    data: str, memory_limit: str, quiet: bool, keywords: dict[str, Any]
) -> CrossValidation:
    from treecompile.api.options import learn_options
    from treecompile.cli.terminal import Terminal
    from treecompile.database.locations import check_found, in_database
    from treecompile.learning.cross_validation import cross_validate

    check_found(data)
    if in_database(data, memory_limit):
        raise OptionError(
            f"cross-validation needs the rows in memory, and {data!r} names many files:"
            " put a sample of the rows into one file"
        )
    if keywords.pop("validation", None):
        raise OptionError(
            "--validation cannot be used in cross-validation, which measures on its"
            " folds: leave it out (to prune by held-out rows of each fold, use"
            " --validation-fraction)"
        )
    folds = keywords.pop("folds", FOLDS)
    columns, how = learn_options("evaluate", keywords.pop("target"), keywords)
    terminal = Terminal(quiet)
    with terminal.progress("cross-validating") as start:
        result = cross_validate(data, columns, how, folds, start)
    terminal.tell(*result.notes)
    return result
