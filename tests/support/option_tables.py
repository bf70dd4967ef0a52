"""The tables of options in docs/commands.md, from the declarations.

A table stands between `<!-- NAME -->` and `<!-- end -->`. `python -m tests.record_docs`
writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import click

from tests.support.samples import ROOT
from treecompile.cli import main
from treecompile.cli.options import help_of
from treecompile.emit.options import EmitOptions
from treecompile.learning.options import C45, LearnOptions
from treecompile.model.options import Option, options_of
from treecompile.tables.options import DataOptions, ReadOptions

PAGE = ROOT / "docs" / "commands.md"
MARKED = r"(?s)<!-- {} -->\n.*?<!-- end -->"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    lines.insert(1, f"|{'---|' * len(heads)}")
    return "\n".join((*lines, ""))


def option(each: Option) -> list[str]:
    spelt = f"`{each.flag} {each.metavar}`" if each.metavar else f"`{each.flag}`"
    text = help_of(each, says_where=False)
    return [spelt, re.sub(r"\[default: (.*)\]$", r"Default: \1.", text)]


def algorithms(names: Sequence[str]) -> str:
    return ", ".join(sorted(names, key=("id3", "c45", "cart").index))


def reading_table() -> str:
    rows = [option(each) for each in options_of(ReadOptions).values()]
    return table(["option", "meaning"], rows)


def learn_table() -> str:
    rows = []
    for kind in (DataOptions, LearnOptions):
        for each in options_of(kind).values():
            if each.name in options_of(ReadOptions):
                continue
            own = algorithms(each.algorithms) or "all"
            is_there = each.in_database and each.algorithms != (C45,)
            rows.append([*option(each), own, own if is_there else "none"])
    return table(["option", "meaning", "algorithms", "in a database"], rows)


def emit_table() -> str:
    rows = [
        [*option(each), ", ".join(each.targets) or "all"]
        for each in options_of(EmitOptions).values()
    ]
    return table(["option", "meaning", "target"], rows)


def command_table(command: str, *, without: Sequence[str] = ()) -> str:
    """The options of a command, except those that are in a table of their own."""
    elsewhere, reading = {*without}, {*_declared(ReadOptions)}
    if reading <= {*_flags(command)}:
        elsewhere |= reading
    rows = [command_option(o) for o in _options(command) if _flag(o) not in elsewhere]
    return table(["option", "meaning"], rows)


def command_option(each: click.Option) -> list[str]:
    value = f" {each.metavar}" if each.metavar else ""
    spelt = ", ".join(f"`{name}{value}`" for name in sorted(each.opts, key=len))
    text = re.sub(r"\[default: (.*)\]$", r"Default: \1.", (each.help or "").strip())
    if each.show_default:
        is_number = isinstance(each.default, int | float)
        text += f" Default: {f'{each.default:,g}' if is_number else each.default}."
    text = re.sub(r"(?<![\w`-])--[a-z-]+", r"`\g<0>`", text)
    return [spelt, text + " Required." * each.required]


def _options(command: str) -> list[click.Option]:
    found = main.commands[command].params
    return [
        each for each in found if isinstance(each, click.Option) and not each.hidden
    ]


def _flag(each: click.Option) -> str:
    return max(each.opts, key=len)


def _flags(command: str) -> list[str]:
    return [_flag(each) for each in _options(command)]


def _declared(*kinds: type, without: Sequence[str] = ()) -> list[str]:
    declared = [each for kind in kinds for each in options_of(kind).values()]
    return [each.flag for each in declared if each.name not in without]


TABLES: dict[str, Callable[[], str]] = {
    "files": reading_table,
    "learn": learn_table,
    "learn, other options": lambda: command_table(
        "learn", without=_declared(DataOptions, LearnOptions)
    ),
    "build": lambda: command_table("build", without=_flags("learn")),
    "emit": emit_table,
    "emit, other options": lambda: command_table(
        "emit", without=_declared(EmitOptions)
    ),
    "evaluate": lambda: command_table(
        "evaluate", without=_declared(DataOptions, LearnOptions)
    ),
    **{
        name: lambda name=name: command_table(name)  # type: ignore[misc]
        for name in main.commands
        if name not in ("learn", "build", "emit", "evaluate") and _options(name)
    },
}


def written(page: str) -> str:
    """The page with the tables as they must be."""
    for name, made in TABLES.items():
        (old,) = re.findall(MARKED.format(name), page)
        page = page.replace(old, f"<!-- {name} -->\n{made()}<!-- end -->")
    return page
