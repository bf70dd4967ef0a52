"""Learn a tree, or take a model, and make all artefacts at once."""

from __future__ import annotations

import itertools
from typing import Any

import click

from treecompile.cli.command import command, option
from treecompile.cli.options import (
    declared,
    estimate_option,
    force_option,
    given,
    json_option,
    learning_options,
    rules_option,
    value,
)
from treecompile.emit.options import EmitOptions
from treecompile.model.options import COMMON, REVIEWING, TESTING

# The options of `build` that are not for learning.
EMITTING = ("dialect", "columns", "templates")


@command(
    "build",
    "Learn a tree and write all artefacts, verified.",
    "treecompile build data.csv --target play --out out\n"
    "treecompile build data.csv --target play --dialect duckdb --out out\n"
    "treecompile build RULES.md --data data.csv --out new\n"
    "treecompile build booster.txt --target churn --out out",
    "model.json, predict.py, predict.sql, RULES.md and review.html, into the folder"
    " DIR. If anything fails, none of them is written.",
)
@click.argument("data")
@learning_options(requires_target=False)
@value(
    "--out folder",
    "DIR",
    "Folder for the results. It is created if necessary.",
    required=True,
    group=COMMON,
)
@rules_option
@value(
    "--data rows",
    "FILE",
    "With a model or rules: rows with known targets, to measure the rules. Edited rules"
    " are counted on them.",
    group=REVIEWING,
)
@estimate_option
@declared(EmitOptions, *EMITTING)
@value(
    "--engine",
    "NAME",
    "Verify the SQL on this engine, too. Repeatable.",
    multiple=True,
    group=TESTING,
)
@value("--url", "URL", "Address of the database server to verify on.", group=TESTING)
@option(
    "--no-verify",
    "verify",
    group=TESTING,
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not run the artefacts.",
)
@force_option
@json_option
def build(
    data: str, folder: str, force: bool, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Learn a tree from DATA, compile it to Python, SQL and a document, and verify it.

    Before anything is written, the Python module and the SQL are run on every cell of
    the model and compared with it.

    DATA can also be a model: a model file, a .rules file, a document with rules such as
    RULES.md, or a file of LightGBM or XGBoost (see `import`). The model
    is then compiled as it is, and options for learning are refused. --data measures it
    again; --validation and options for reading files can be added.
    """
    from treecompile.api import building
    from treecompile.api.importing import holds_forest
    from treecompile.cli import json_reports
    from treecompile.cli.reports import verification
    from treecompile.cli.terminal import Terminal, check_output

    is_forest = holds_forest(data)
    paths = building.paths_in(folder, is_forest=is_forest)
    check_output(*paths.values(), force=force)
    terminal = Terminal(quiet)
    made = building.build(
        data,
        folder,
        force=force,
        feedback=terminal,
        **given(options),
    )
    for name, report in made.reports.items():
        shown = terminal if report.passed else Terminal(False)
        shown.tell(*verification(name, report))
    if as_json:
        reports = itertools.starmap(json_reports.verified, made.reports.items())
        files = map(str, made.paths.values())
        program, notes = made.model.any_program, made.model.notes
        json_reports.write(json_reports.made(program, files, notes, reports))
    if not made.passed:
        raise SystemExit(1)
    terminal.tell(f"wrote {', '.join(made.paths)} in {folder}")
