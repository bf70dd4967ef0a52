"""Look at models: show, check, and the difference of two."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from treecompile.cli import streams
from treecompile.cli.command import command, option
from treecompile.cli.options import (
    budget_option,
    flag_of,
    force_option,
    given,
    json_option,
    list_option,
    reading_options,
    value,
)
from treecompile.model.errors import OptionError
from treecompile.model.options import DATA, PICTURE, SEARCH
from treecompile.pictures.options import LAYOUTS, MOST, DrawOptions

if TYPE_CHECKING:
    from treecompile.model.ir import ForestProgram, Program

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")
INDENT = "    "  # of the further lines of a rule
FAULTS = ("unreachable", "shadowed", "conflict", "overlap", "incomplete")


def has_colours() -> bool:
    """On a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def coloured(text: str, place: int) -> str:
    if place < 0:
        return click.style(text, dim=True)
    return click.style(text, fg=COLOURS[place % len(COLOURS)], bold=True)


def wrapped(line: str) -> str:
    """A line that the terminal would break anywhere, broken between words."""
    width = shutil.get_terminal_size().columns
    lines, used = [""], 0
    for word in line.split(" "):
        length = len(click.unstyle(word))
        if used and used + 1 + length > width:
            lines.append(INDENT)
            used = len(INDENT)
        elif used:
            lines[-1] += " "
            used += 1
        lines[-1] += word
        used += length
    return "\n".join(lines)


@command(
    "show",
    "Show the tree, the rules or the forest, in the terminal.",
    "treecompile show model.json\n"
    "treecompile show model.json --importance\n"
    "treecompile show model.json --svg tree.svg",
    "The tree to standard output; with --svg, a picture instead.",
)
@click.argument("model")
@option("--stats", is_flag=True, help="Cases, impurity and gain of every node.")
@option("--importance", is_flag=True, help="The importance of every feature.")
@option(
    "--alphas",
    is_flag=True,
    help="The sequence of trees that cost-complexity pruning would make.",
)
@value("--tree", "N", "Show this tree of a forest; the first is 1.", type=int)
@json_option
@value(
    "--svg out", "FILE", "Draw the tree as SVG; - for standard output.", group=PICTURE
)
@value("--row", "JSON", "Highlight the path of this row, a JSON object.", group=PICTURE)
@value("--max-depth", "N", "Draw only the first N levels.", type=int, group=PICTURE)
@value(
    "--max-leaves",
    "N",
    "Draw at most N leaves. The branches with the fewest cases are summarised."
    f" [default: as many as are readable, up to {MOST}]",
    type=int,
    group=PICTURE,
)
@value(
    "--layout",
    "WAY",
    "The direction in which a tree grows: down or right. [default: down if the picture"
    " then fits the width of a notebook]",
    type=click.Choice(LAYOUTS),
    group=PICTURE,
)
@force_option
def show(
    model: str,
    stats: bool,
    importance: bool,
    alphas: bool,
    tree: int | None,
    as_json: bool,
    out: str | None,
    force: bool,
    **picture: Any,
) -> None:
    """Show the tree, or the rules, in the terminal.

    Each leaf has the id of its rule and the training cases that reach it. For a forest,
    the command shows how the sum of the trees becomes an answer, and the importance of
    the features.

    In a picture, leaves have the colour of their answer, paler if the answer is less
    certain.
    """
    if out is not None:
        _draw(model, out, force, picture)
        return
    for name in picture:
        if picture[name] is not None:
            raise OptionError(f"{flag_of(name)} is for a picture: add --svg FILE")
    from treecompile.cli.terminal import read_model
    from treecompile.inspect.importance import tree_of
    from treecompile.inspect.show import importance_lines, plain
    from treecompile.inspect.show import show as text_of
    from treecompile.model.ir import ForestProgram, RuleSet
    from treecompile.model.paths import size

    program = read_model(model)
    if isinstance(program, ForestProgram):
        _show_forest(program, stats, importance, alphas, tree, as_json)
        return
    if tree is not None:
        raise OptionError("--tree is for forests, and this is one tree or rules")
    if stats or importance or alphas:
        tree_of(program)  # refuses a list of rules before anything is printed
    if as_json:
        _show_json(program, stats, importance, alphas)
        return
    streams.show(f"{program.target}, by {program.algorithm}: {size(program.body)}")
    text = text_of(program, coloured if has_colours() else plain, stats=stats)
    if sys.stdout.isatty() and isinstance(program.body, RuleSet):
        text = "\n".join(map(wrapped, text.split("\n")))
    streams.show(text)
    if importance:
        streams.show("\n".join(["", *importance_lines(program, is_whole=True)]))
    if alphas:
        from treecompile.cli.reports import pruning_sequence
        from treecompile.learning.pruning import weakest_links

        streams.show("\ncost-complexity pruning at each alpha:")
        streams.show("\n".join(pruning_sequence(weakest_links(tree_of(program)))))


def _show_forest(
    program: ForestProgram,
    stats: bool,
    importance: bool,
    alphas: bool,
    tree: int | None,
    as_json: bool,
) -> None:
    from treecompile.inspect.show import (
        check_number,
        importance_lines,
        plain,
        show_forest,
        show_tree,
    )
    from treecompile.model.forests import single

    if alphas:
        single(program, "--alphas")
    if tree is not None:
        check_number(program.body, tree)
    elif stats:
        raise OptionError("--stats is about the nodes of one tree: add --tree N")
    if as_json:
        from treecompile.cli import json_reports

        json_reports.write(json_reports.shown_forest(program, tree))
        return
    paint = coloured if has_colours() else plain
    if tree is None:
        text = show_forest(program, is_whole=importance)
    else:
        text = show_tree(program, tree, paint, stats=stats)
    lines = text.split("\n")
    if sys.stdout.isatty() and tree is None:
        lines = list(map(wrapped, lines))
    streams.show("\n".join(lines))
    if importance and tree is not None:
        streams.show("\n".join(["", *importance_lines(program, is_whole=True)]))


def _show_json(program: Program, stats: bool, importance: bool, alphas: bool) -> None:
    from treecompile.cli import json_reports
    from treecompile.inspect.importance import importances, tree_of

    steps = None
    if alphas:
        from treecompile.learning.pruning import weakest_links

        steps = weakest_links(tree_of(program))
    found = importances(program) if importance else None
    json_reports.write(json_reports.shown(program, found, steps, stats=stats))


def _draw(model: str, path: str, force: bool, options: dict[str, Any]) -> None:
    from treecompile.cli.terminal import check_output, output, read_single
    from treecompile.emit.svg import draw as picture_of

    check_output(path, force=force)
    row = options.pop("row")
    how = DrawOptions(**options, row=None if row is None else _row(row))
    output(path, picture_of(read_single(model, "draw"), how))
    if path != "-":
        streams.tell(f"wrote {path}")


def _row(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--row: this is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise OptionError('--row: expected a JSON object: {"column": value, ...}')
    return found


@command(
    "check",
    "Find rules that overlap, conflict or never decide.",
    "treecompile check RULES.md\n"
    "treecompile check rules.json --strict --allow overlap --json",
    "No file. The report goes to standard output.",
)
@click.argument("model")
@option(
    "--allow",
    multiple=True,
    metavar="KIND",
    type=click.Choice(FAULTS),
    help="Ignore this kind of finding: unreachable, shadowed, conflict, overlap or"
    " incomplete. Repeatable.",
    group=SEARCH,
)
@option(
    "--strict",
    is_flag=True,
    help="Also count and list overlaps, conflicts, and rows that only the default"
    " decides, which are normal in an ordered list.",
    group=SEARCH,
)
@budget_option
@list_option
@json_option
def check(
    model: str,
    allow: tuple[str, ...],
    strict: bool,
    budget: int,
    most: int | None,
    as_json: bool,
) -> None:
    """Find rules that never decide; with --strict also those that overlap or conflict.

    Each comes with an example row. The search is exact and does not sample.

    The exit code is 1 if anything is found, and 3 if nothing is found but something is
    undecided within the budget.
    """
    from treecompile.cli import analysis_reports as reports
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import read_single
    from treecompile.inspect.check import LISTED, OF_ORDER, Fault
    from treecompile.inspect.check import check as checked

    shown = most if most is not None else LISTED if as_json else reports.SHOWN
    accepted = frozenset(map(Fault, allow)) | (frozenset() if strict else OF_ORDER)
    result = checked(read_single(model, "check"), budget, shown)
    if as_json:
        json_reports.write(json_reports.checked(result, shown, accepted))
    else:
        streams.show("\n".join(reports.checked(model, result, shown, accepted)))
    if not result.passed(accepted):
        raise SystemExit(1)
    raise SystemExit(3 if result.undecided else 0)


@command(
    "diff",
    "Show where two models decide differently.",
    "treecompile diff old.json new.json\n"
    "treecompile diff model.json RULES.md --data data.csv",
    "No file. The report goes to standard output.",
)
@click.argument("old")
@click.argument("new")
@value("--data", "FILE", "Count the rows of this file in each region.", group=DATA)
@reading_options
@budget_option
@list_option
@json_option
def diff(
    old: str,
    new: str,
    data: str | None,
    budget: int,
    most: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show where two models decide differently.

    Each region comes with an example row. Features are matched by name.

    The exit code is 0 if the models are the same everywhere, 1 if they differ, and 3 if
    that is undecided within the budget.
    """
    from treecompile.api.options import read_options
    from treecompile.cli import analysis_reports as reports
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import read_single
    from treecompile.inspect.diff import diff as differences
    from treecompile.tables.read import read_table

    how = read_options("diff", given(options))
    table = read_table(data, how) if data else None
    na_values = how.na_values
    programs = read_single(old, "diff"), read_single(new, "diff")
    result = differences(*programs, table, budget, na_values)
    if as_json:
        shown = len(result.regions) if most is None else most
        json_reports.write(json_reports.compared(result, shown))
    else:
        source = table.source if table else ""
        lines = reports.differing(result, source, most or reports.SHOWN)
        streams.show("\n".join(lines))
    if result.regions:
        raise SystemExit(1)
    raise SystemExit(0 if result.complete else 3)
