"""Compile a model into an artefact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from treecompile.cli.options import (
    glossary_option,
    pairs,
    quiet_option,
    templates_option,
)
from treecompile.cli.talk import output, read_model, tell


@click.command("emit")
@click.argument("model")
@click.option(
    "--to",
    "target",
    required=True,
    help="python, sql, markdown, rules, or the folder of your own target: ./FOLDER.",
)
@click.option("-o", "out", metavar="FILE", help="[default: standard output]")
@click.option(
    "--style",
    default="standard",
    show_default=True,
    help="Python: standard (a row at a time) or numpy (whole columns).",
)
@click.option(
    "--dialect",
    default="sqlite",
    show_default=True,
    help="SQL: the database; a name that is none lists all.",
)
@click.option(
    "--as",
    "form",
    default="expression",
    show_default=True,
    help="SQL: expression, select, view, function or dbt.",
)
@click.option("--table", default="", help="SQL: the table that a query reads.")
@click.option(
    "--name",
    default="",
    help="SQL: the name of the view or the dbt model [predictions], or of the"
    " function [predict].",
)
@click.option(
    "--output",
    "result",
    default="label",
    show_default=True,
    help="SQL: label, probability or rule; in a query several, with commas.",
)
@click.option(
    "--label", default="", help="SQL: whose probability. [the predicted label's]"
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FEATURE=COLUMN",
    help="SQL: a feature that has another name in the table. Repeatable.",
)
@click.option(
    "--alias", default="", help="SQL: what the table is called in the query around it."
)
@click.option(
    "--no-comments",
    "comments",
    is_flag=True,
    flag_value=False,
    default=True,
    help="SQL: without the hash of the model, the ids of the rules and their cases.",
)
@glossary_option
@templates_option
@quiet_option
def command(
    model: str,
    target: str,
    out: str | None,
    columns: tuple[str, ...],
    result: str,
    glossary: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Compile a model into an artefact that predicts on its own."""
    from treecompile import compiler
    from treecompile.glossary import read_glossary
    from treecompile.lower import EmitOptions
    from treecompile.render import write_texts

    if options["form"] == "dbt" and not options["name"] and out not in (None, "-"):
        options["name"] = Path(out).stem  # as dbt names its models
    renamed = pairs("--column", columns)
    told = read_glossary(glossary) if glossary else {}
    choices = EmitOptions(output=result, columns=renamed, glossary=told, **options)
    artefact = compiler.emit(read_model(model, quiet), target, choices)
    tell(quiet, *(f"Warning: {warning}" for warning in artefact.warnings))
    tell(quiet, *(f"note: {note}" for note in artefact.notes))
    if out in (None, "-"):
        output(out, artefact.text)
        return
    texts = {Path(out): artefact.text}
    if artefact.beside:
        texts[Path(out).with_suffix(".yml")] = artefact.beside
    write_texts(texts)
    tell(quiet, f"wrote {' and '.join(map(str, texts))}")
