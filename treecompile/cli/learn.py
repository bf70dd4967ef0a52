"""Learn a tree and write its model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from treecompile.cli.options import learn_options, read_options
from treecompile.cli.talk import output, progress_bar, summary, tell

if TYPE_CHECKING:
    from treecompile.training import Learned


def learn_with(data: str, quiet: bool, options: dict[str, Any]) -> Learned:
    from treecompile import training
    from treecompile.reports import sequence

    if options["target"] is None:  # not needed where rules are compiled
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    validation = options.pop("validation")
    columns, how = read_options(options)
    with progress_bar("learning", quiet) as start:
        learned = training.learn(data, columns, how, validation, start)
    tell(quiet, *learned.notes)
    if learned.choice is not None:
        table = learned.choice.table
        steps = [entry.step for entry in table]
        tell(quiet, *sequence(steps, table, learned.choice.place))
    return learned


@click.command("learn")
@click.argument("data")
@learn_options
@click.option(
    "-o",
    "out",
    default="model.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
def command(data: str, out: str, quiet: bool, **options: Any) -> None:
    """Learn a tree from DATA: CSV, TSV, ARFF, JSON lines, Parquet, or - for CSV."""
    from treecompile.model_file import dumps

    learned = learn_with(data, quiet, options)
    output(out, dumps(learned.program))
    tell(quiet, f"{summary(learned.program)}: wrote {out}")
