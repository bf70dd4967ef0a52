"""Measure a model on data, or a way of learning by cross-validation."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from treecompile.cli.learn import is_there
from treecompile.cli.options import how_options, place_options, read_options
from treecompile.cli.talk import progress_bar, read_model, tell
from treecompile.errors import OptionError

FOLDS = 10  # if only the target is given
# What a model and learning have in common, and what is for a model.
BOTH = ("files", "na_values", "quiet", "url", "table", "memory_limit")


@click.command("evaluate")
@click.argument("files", nargs=-1, metavar="[MODEL] DATA")
@click.option(
    "--cv",
    "folds",
    type=int,
    metavar="K",
    help="Learn from DATA, K times without one K-th of it, and measure on that."
    " [default: 10, if there is a --target]",
)
@click.option("--target", metavar="COL", help="The column to predict, without a MODEL.")
@how_options
@place_options
@click.pass_context
def command(
    context: click.Context,
    /,
    files: tuple[str, ...],
    url: str,
    table: str,
    memory_limit: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure a model on DATA that has the target: accuracy, confusion, each rule.

    The rows may be in a database (--from, --table), or DATA a folder or a pattern of
    Parquet files: they are counted there.

    Without a MODEL, measure by cross-validation how well one is learned from DATA; the
    options for that are those of `learn`.
    """
    given = [
        parameter
        for parameter in context.command.params
        if parameter.name not in BOTH
        and context.get_parameter_source(str(parameter.name))
        is ParameterSource.COMMANDLINE
    ]
    folds, target = options.pop("folds"), options.pop("target")
    if len(files) == 2 or (files and (url or table)):
        if given:
            raise OptionError(
                f"{given[0].opts[0]} is for learning, and {files[0]!r} is a model: to"
                " cross-validate give --cv, --target and DATA alone"
            )
        model, data = files[0], files[1] if files[1:] else None
        if is_there(data, url, table, memory_limit):
            _measure_there(model, data, url, table, memory_limit, options["na_values"])
        else:
            assert data is not None
            _measure(model, data, options["na_values"])
    elif len(files) != 1:
        wanted = "MODEL and DATA, or DATA alone with --target to cross-validate"
        if url:
            wanted = "MODEL beside --from and --table"
        raise OptionError(f"{len(files)} files: expected {wanted}")
    elif target is None:
        raise OptionError(
            "one file: to measure a model add the DATA, to cross-validate on"
            f" {files[0]!r} add --target COL"
        )
    elif is_there(files[0], url, table, memory_limit):
        raise OptionError(
            f"cross-validation needs the rows in memory, and {files[0]!r} are many"
            " files: take a part of them in one"
        )
    else:
        count = FOLDS if folds is None else folds
        _cross_validate(files[0], count, quiet, {**options, "target": target})


def _measure(model: str, data: str, na_values: tuple[str, ...]) -> None:
    from treecompile.quality import evaluate_on
    from treecompile.read import read_table
    from treecompile.reports import evaluation

    program = read_model(model)
    result = evaluate_on(program, read_table(data), na_values)
    for line in evaluation(program, result):
        click.echo(line)


def _measure_there(
    model: str,
    data: str | None,
    url: str,
    table: str,
    memory_limit: str,
    na_values: tuple[str, ...],
) -> None:
    from treecompile.in_database.evaluate import evaluate
    from treecompile.in_database.places import open_place
    from treecompile.reports import evaluation

    program = read_model(model)
    with open_place(data, url, table, memory_limit) as there:
        result = evaluate(there.store, there.relation, program, na_values)
    for line in evaluation(program, result):
        click.echo(line)


def _cross_validate(
    data: str, folds: int, quiet: bool, options: dict[str, Any]
) -> None:
    from treecompile import reports
    from treecompile.cross_validation import cross_validate

    if options.pop("validation"):
        raise OptionError(
            "--cv measures on its folds: leave --validation out (to prune by rows of"
            " their own, --validation-fraction holds some out of each)"
        )
    columns, how = read_options(options)
    with progress_bar("cross-validating", quiet) as start:
        result = cross_validate(data, columns, how, folds, start)
    tell(quiet, *result.notes)
    for line in reports.cross_validation(result):
        click.echo(line)
