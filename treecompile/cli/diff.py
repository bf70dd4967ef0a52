"""Show where two models decide differently."""

from __future__ import annotations

import click

from treecompile.cli.options import budget_option, json_option, list_option, na_option
from treecompile.cli.talk import output, read_model


@click.command("diff")
@click.argument("old")
@click.argument("new")
@click.option(
    "--data", default="", metavar="FILE", help="Count the rows of this in each region."
)
@na_option
@budget_option
@list_option
@json_option
def command(
    old: str,
    new: str,
    data: str,
    na_values: tuple[str, ...],
    budget: int,
    most: int | None,
    as_json: bool,
) -> None:
    """Show where two models decide differently, with a row for each region.

    Features are matched by name. Exit code 0 if the models are the same everywhere, 1
    if they differ, 3 if that is undecided within the budget.
    """
    from treecompile.analysis import reports
    from treecompile.analysis.diff import diff
    from treecompile.read import read_table

    table = read_table(data) if data else None
    result = diff(read_model(old), read_model(new), table, budget, na_values)
    if as_json:
        shown = len(result.regions) if most is None else most
        output(None, reports.differing_json(result, shown))
    else:
        source = table.source if table else ""
        for line in reports.differing(result, source, most or reports.SHOWN):
            click.echo(line)
    if result.regions:
        raise SystemExit(1)
    raise SystemExit(0 if result.complete else 3)
