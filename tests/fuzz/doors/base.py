"""What a door is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import click

from tests.fuzz.case import Case
from tests.fuzz.oracle import Check, Outcome
from treecompile.cli import main


def nothing_more(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """For doors whose cases have no answer to compare."""


@dataclass(frozen=True)
class Door:
    name: str
    make: Callable[[Random], Case]
    check: Check = nothing_more
    usual: int = 100  # cases in an ordinary test run, about four seconds


@cache
def flags_of(command: str) -> tuple[tuple[str, bool], ...]:
    """The options of a command, and whether each takes a value."""
    options = [p for p in main.commands[command].params if isinstance(p, click.Option)]
    return tuple((max(o.opts, key=len), not o.is_flag) for o in options)


def option_after(arguments: tuple[str, ...], flag: str, default: str = "") -> str:
    """The value of an option on a command line."""
    if flag in arguments[:-1]:
        return arguments[arguments.index(flag) + 1]
    return default
