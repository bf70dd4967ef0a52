"""Commands and their options, and the help.

The help of a command has examples, says what the command writes, and lists the options
under headings. `command` makes none without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import click

from treecompile.model.options import HEADINGS, OUTPUT

HELP = ("-h", "--help")
WIDEST = 24  # characters: `--validation-fraction F` has 23
Row = tuple[str, str]


class CommandOption(click.Option):
    """An option under a heading."""

    def __init__(self, *names: Any, group: str = OUTPUT, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group

    def get_help_record(self, context: click.Context) -> Row | None:
        if self.hidden:
            return None
        help = self.help or ""
        if self.required:
            help += " [required]"
        names = ", ".join(self.opts)
        return f"{names} {self.metavar}" if self.metavar else names, help


class Command(click.Command):
    def __init__(
        self, *args: Any, examples: Sequence[str], writes: str, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.examples, self.writes = examples, writes

    def format_help(
        self, context: click.Context, formatter: click.HelpFormatter
    ) -> None:
        self.format_usage(context, formatter)
        write_text(formatter, self.help or "")
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        with formatter.section("Writes"):
            formatter.write_text(self.writes)
        groups: dict[str, list[Row]] = {heading: [] for heading in HEADINGS}
        for each in self.get_params(context):
            record = each.get_help_record(context)
            if record and isinstance(each, click.Option):
                groups[getattr(each, "group", OUTPUT)].append(record)
        write_rows(formatter, groups)


def command(
    name: str, short: str, examples: str, writes: str
) -> Callable[[Callable[..., Any]], Command]:
    """A command. `short` is its line in the list of all; one example per line."""
    return click.command(
        name,
        cls=Command,
        short_help=short,
        examples=examples.splitlines(),
        writes=writes,
    )


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=CommandOption, **settings)


def write_text(formatter: click.HelpFormatter, text: str) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(cleandoc(text).replace("`", ""))


def write_rows(
    formatter: click.HelpFormatter, groups: Mapping[str, Sequence[Row]]
) -> None:
    """Two columns under each heading; the second starts at the same place in all."""
    names = [name for rows in groups.values() for name, _ in rows]
    width = max(len(name) for name in names if len(name) <= WIDEST)
    for heading, rows in groups.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl([(n.ljust(width), t) for n, t in rows], width)
