"""Turn a model into rules, and prune them."""

from __future__ import annotations

import click

from treecompile.cli.options import na_option, quiet_option
from treecompile.cli.talk import output, progress_bar, read_model, tell
from treecompile.errors import OptionError


@click.command("rules")
@click.argument("model")
@click.option(
    "--validation",
    metavar="FILE",
    help="Prune each rule against these rows, with the target, and sort them.",
)
@click.option(
    "--training",
    metavar="FILE",
    help="Prune as c4.5rules does, by the rows that the model was learned from.",
)
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
    na_values: tuple[str, ...],
    out: str,
    quiet: bool,
) -> None:
    """Make an ordered list of simplified rules of a tree, and prune it if asked."""
    from treecompile.model_file import dumps
    from treecompile.pruning import flattening_notes, prune, simplify

    if validation is not None and training is not None:
        raise OptionError("give --validation or --training, not both")
    program = read_model(model, quiet)
    if validation is None and training is None:
        made, notes = simplify(program), flattening_notes(program)
    else:
        with progress_bar("pruning", quiet) as start:
            pruned = prune(program, validation, training, na_values, start)
        made, notes = pruned.program, pruned.notes
    output(out, dumps(made))
    tell(quiet, *(f"note: {note}" for note in notes))
    tell(quiet, f"{counted(made)}: wrote {out}")


def counted(program: object) -> str:
    """How many rules there are now."""
    from treecompile.ir import Program, RuleSet

    assert isinstance(program, Program)
    assert isinstance(program.body, RuleSet)
    count = len(program.body.rules)
    return "1 rule" if count == 1 else f"{count} rules"
