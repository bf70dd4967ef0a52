"""Check the rules of a model."""

from __future__ import annotations

import click

from treecompile.cli.options import budget_option, json_option, list_option
from treecompile.cli.talk import output, read_model

FAULTS = ("unreachable", "shadowed", "conflict", "overlap", "incomplete")


@click.command("check")
@click.argument("model")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(FAULTS),
    help="Do not count this as a finding. Repeatable.",
)
@budget_option
@list_option
@json_option
def command(
    model: str, allow: tuple[str, ...], budget: int, most: int | None, as_json: bool
) -> None:
    """Tell which rules overlap, conflict, or never decide, with a row that shows it.

    Exactly, not by sampling. Exit code 1 if anything is found, 3 if nothing is found
    but something is undecided within the budget.
    """
    from treecompile.analysis import reports
    from treecompile.analysis.check import LISTED, Fault, check

    shown = most if most is not None else LISTED if as_json else reports.SHOWN
    result = check(read_model(model), budget, shown)
    if as_json:
        output(None, reports.checked_json(result, shown))
    else:
        for line in reports.checked(model, result, shown):
            click.echo(line)
    if not result.passed(frozenset(map(Fault, allow))):
        raise SystemExit(1)
    raise SystemExit(3 if result.undecided else 0)
