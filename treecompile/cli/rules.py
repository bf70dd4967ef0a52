"""Flatten a model into rules."""

from __future__ import annotations

import click

from treecompile.cli.options import quiet_option
from treecompile.cli.talk import output, read_model, tell


@click.command("rules")
@click.argument("model")
@click.option(
    "-o",
    "out",
    default="rules.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
@quiet_option
def command(model: str, out: str, quiet: bool) -> None:
    """Flatten a tree into an ordered list of simplified rules."""
    from treecompile.compiler import flatten, flattening_notes
    from treecompile.model_file import dumps

    program = read_model(model, quiet)
    flat = flatten(program)
    output(out, dumps(flat))
    tell(quiet, *(f"note: {note}" for note in flattening_notes(program)))
    tell(quiet, f"{len(flat.body.rules)} rules: wrote {out}")  # type: ignore[union-attr]
