"""Import a model of another library."""

from __future__ import annotations

import click

from treecompile.cli.command import command
from treecompile.cli.options import (
    force_option,
    json_option,
    quiet_option,
    value,
)
from treecompile.model.options import COMMON


@command(
    "import",
    "Import a model of LightGBM or XGBoost.",
    "treecompile import booster.txt -o model.json\n"
    "treecompile import booster.json --target churn --labels no,yes -o model.json",
    "A model file. build FILE --out DIR writes code and a document as well.",
)
@click.argument("file")
@value("-o --out out", "FILE", "The model file.", required=True, group=COMMON)
@value(
    "--target", "NAME", "What the model predicts. [default: prediction]", group=COMMON
)
@value(
    "--labels",
    "A,B,C",
    "The labels, in the order of the classes. [default: the numbers from" " 0]",
    group=COMMON,
)
@force_option
@quiet_option
@json_option
def import_model(
    file: str,
    out: str,
    target: str | None,
    labels: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Import FILE, a model saved by another library, whose format is detected.

    \b
    LightGBM: the text file of save_model
    XGBoost: the .json file of save_model

    The library need not be installed. The model's margins equal the library's bit for
    bit, and the labels are derived from them. Models that cannot be exact are refused.
    """
    from treecompile.api.importing import import_model as imported
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import Terminal, check_output, output
    from treecompile.model.file.write import dumps
    from treecompile.model.paths import size

    check_output(out, force=force)
    terminal = Terminal(quiet)
    names = None if labels is None else [each.strip() for each in labels.split(",")]
    model = imported(file, target=target, labels=names)
    program = model.any_program
    output(out, dumps(program))
    terminal.notes(model.notes)
    terminal.tell(f"{program.algorithm}: {size(program.body)}: wrote {out}")
    if as_json:
        json_reports.write(json_reports.made(program, [out], model.notes))
