"""Draw a model."""

from __future__ import annotations

import click

from treecompile.cli.options import quiet_option
from treecompile.cli.talk import output, read_model, tell


@click.command("draw")
@click.argument("model")
@click.option("-o", "out", metavar="FILE", help="[default: standard output]")
@click.option(
    "--max-depth", type=int, metavar="N", help="Draw a tree only so many tests deep."
)
@quiet_option
def command(model: str, out: str | None, max_depth: int | None, quiet: bool) -> None:
    """Draw the tree, or a table of the rules, as an SVG file."""
    from treecompile.draw import draw

    output(out, draw(read_model(model, quiet), max_depth))
    if out not in (None, "-"):
        tell(quiet, f"wrote {out}")
