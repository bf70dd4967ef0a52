"""What a shell completes behind an option or an argument, and the command for it.

Only what completes is imported: a shell waits for this whenever the tab key is pressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem, get_completion_class

from treecompile.cli import streams
from treecompile.cli.command import command
from treecompile.learning.options import ALGORITHMS, BALANCED, CV, ONE_SE

Complete: TypeAlias = Callable[
    [click.Context, click.Parameter, str], list[CompletionItem]
]
SHELLS = ("bash", "zsh", "fish")
TARGETS = ("python", "javascript", "sql", "markdown", "rules")
FORMS = ("expression", "select", "view", "function", "dbt")
OUTPUTS = ("label", "probability", "margin", "rule")
LONGEST = 1 << 20  # characters of the line with the names of columns
# In a zsh that is not set up, what registers a completion has to be loaded first.
REGISTER = "    compdef _treecompile_completion treecompile"
COMPINIT = "    (( $+functions[compdef] )) || { autoload compinit && compinit -i }\n"
PLAIN = re.compile(r"[\w.-]+")  # a name that needs no quotes in a shell


def path(kind: str) -> Complete:
    """Names of files, or of folders, which the shell itself completes."""
    return lambda context, parameter, start: [CompletionItem(start, type=kind)]


FILE, DIR = path("file"), path("dir")


def words(known: Callable[[], Iterable[str]], kind: str = "") -> Complete:
    """Some words; or paths of this kind, if the text looks like a path."""

    def complete(
        context: click.Context, parameter: click.Parameter, start: str
    ) -> list[CompletionItem]:
        if kind and start.startswith((".", "/", "~")):
            return [CompletionItem(start, type=kind)]
        return [CompletionItem(word) for word in known() if word.startswith(start)]

    return complete


def some(*known: str) -> Complete:
    return words(lambda: known)


def dialects() -> Iterable[str]:
    from treecompile.emit.sql.dialect import dialect_names

    return dialect_names()


def engines() -> Iterable[str]:
    from treecompile.engines.addresses import ENGINES

    return ENGINES


def columns(
    context: click.Context, parameter: click.Parameter, start: str
) -> list[CompletionItem]:
    """The columns of DATA, if it is a CSV file that stands before this option."""
    files = [name for name in context.args if name.lower().endswith((".csv", ".tsv"))]
    if not files:
        return []
    import csv

    data = files[0]
    try:
        with open(data, encoding="utf-8-sig", newline="") as file:
            line = file.readline(LONGEST)
        separator = "\t" if data.lower().endswith(".tsv") else ","
        names = next(csv.reader([line], delimiter=separator), [])
    except (OSError, ValueError, csv.Error):
        return []
    found = (name for name in names if PLAIN.fullmatch(name))
    return [CompletionItem(name) for name in found if name.startswith(start)]


BY_FLAG: dict[str, Complete] = {
    "--algorithm": some(*ALGORITHMS),
    "--alpha": some(CV, ONE_SE),
    "--as": some(*FORMS),
    "--class-weight": some(BALANCED),
    "--dialect": words(dialects, "file"),
    "--engine": words(lambda: ("python", "node", *engines())),
    "--output": some(*OUTPUTS),
    "--to": words(lambda: TARGETS, "dir"),
}
BY_METAVAR: dict[str, Complete] = {"FILE": FILE, "DIR": DIR, "COL": columns}


def completion_of(
    flag: str, metavar: str, values: Sequence[str] = ()
) -> Complete | None:
    """What completes the value of an option; None if nothing does."""
    return some(*values) if values else BY_FLAG.get(flag, BY_METAVAR.get(metavar))


@command(
    "completion",
    "Complete commands, options, files and columns in a shell.",
    "treecompile completion bash >> ~/.bashrc\n"
    "treecompile completion zsh >> ~/.zshrc\n"
    "treecompile completion fish > ~/.config/fish/completions/treecompile.fish",
    "A script for the shell, to standard output. It works in the next shell that is"
    " started.",
)
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes a shell complete commands of treecompile.

    SHELL is bash (4.4 or later), zsh or fish. The tab key then completes commands,
    options and their values, files, dialects, engines, and after `--target` the
    columns of a CSV file.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    name = "treecompile"
    made = kind(click.Group(name), {}, name, "_TREECOMPILE_COMPLETE")
    streams.write(made.source().replace(REGISTER, COMPINIT + REGISTER))
