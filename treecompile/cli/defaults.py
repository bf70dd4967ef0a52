"""Defaults of options from the pyproject.toml in the current folder.

    [tool.treecompile.build]
    dialect = "snowflake"
    max-depth = 4
    na-value = ["?", "unknown"]

A table belongs to one command, and its keys are the long names of options. What is on
the command line comes first. Every command says in a note which defaults it takes from
there, its help shows them, and an error about such an option says where it was set.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from treecompile.model.errors import OptionError
from treecompile.model.files import read_text
from treecompile.model.suggestions import similar

FILE = "pyproject.toml"
TOOL = "treecompile"
MOST_BYTES = 1 << 24
# No file is overwritten, and no help shown, because a file in the folder says so.
NEVER = ("--force", "--help", "--version")


def defaults_of(command: click.Command, parent: click.Context | None) -> dict[str, Any]:
    """The defaults of a command, by the names of its parameters."""
    tables = _tables()
    group = parent.command if parent else None
    commands = group.commands if isinstance(group, click.Group) else {command.name: 0}
    for name, table in tables.items():
        if name not in commands:
            raise OptionError(
                f"{FILE}: [tool.{TOOL}] has {name!r}, which is not a command: put"
                f" options into the table of a command, such as [tool.{TOOL}.build]"
            )
        if not isinstance(table, dict):
            raise OptionError(
                f"{FILE}: [tool.{TOOL}] {name}: expected a table with options of this"
                f" command: [tool.{TOOL}.{name}]"
            )
    options = _settable(command)
    found = {}
    for key, given in tables.get(command.name or "", {}).items():
        if key not in options:
            near = similar(key, options)
            known = ", ".join(sorted(options))
            hint = f"did you mean {near[0]!r}?" if near else f"expected {known}"
            raise OptionError(f"{_place(command)}: no option {key!r}: {hint}")
        each = options[key]
        assert each.name is not None
        found[each.name] = _value(each, given, f"{_place(command)}: {key}")
    return found


def _tables() -> Mapping[str, Any]:
    """The tables by command; {} if the file has none, or is about something else."""
    path = Path(FILE)
    if not path.is_file():
        return {}
    text = read_text(path, OptionError, most=MOST_BYTES)
    if TOOL not in text:
        return {}
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise OptionError(f"{FILE}: not a TOML file: {reason}") from None
    for name in ("tool", TOOL):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise OptionError(f"{FILE}: {name} = {table!r}: expected a table")
    return table


def _place(command: click.Command) -> str:
    return f"{FILE}, [tool.{TOOL}.{command.name}]"


def _settable(command: click.Command) -> dict[str, click.Option]:
    """The options that can be set, by their long names without dashes."""
    return {
        flag.removeprefix("--"): each
        for each in command.params
        if isinstance(each, click.Option)
        for flag in each.opts
        if flag.startswith("--") and flag not in NEVER
    }


def _value(option: click.Option, given: Any, where: str) -> Any:
    """A value of TOML as click takes it from the command line."""
    if option.is_flag:
        if given is not True:
            raise OptionError(f"{where} = {_shown(given)}: expected true")
        return option.flag_value
    values = given if option.multiple and isinstance(given, list) else [given]
    for each in values:
        if isinstance(each, bool) or not isinstance(each, (str, int, float)):
            many = ", or a list of them" if option.multiple else ""
            raise OptionError(
                f"{where} = {_shown(given)}: expected a text or a number{many}"
            )
    texts = [each if isinstance(each, str) else repr(each) for each in values]
    return texts if option.multiple else texts[0]


def _shown(given: Any) -> str:
    return str(given).lower() if isinstance(given, bool) else repr(given)


# ---------------------------------------------------------------- where a value is from


def applied(context: click.Context) -> Iterator[tuple[str, str]]:
    """The flags that have their value from the file, and the values."""
    values = context.default_map or {}
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if each.name in values and source is not ParameterSource.COMMANDLINE:
            shown = _text(values[each.name])
            yield max(each.opts, key=len), "" if getattr(each, "is_flag", 0) else shown


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def note(context: click.Context) -> str:
    """What the file has set; "" if nothing."""
    said = [f"{flag} {value}".rstrip() for flag, value in applied(context)]
    return f"note: {FILE} sets {', '.join(said)}" if said else ""


def located(message: str, context: click.Context) -> str:
    """A message that says, of the options and values it names, which the file sets."""
    flags = [
        flag
        for flag, value in applied(context)
        if re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", message)
        or (value and repr(value) in message)
    ]
    if not flags:
        return message
    place = _place(context.command)
    return f"{message.rstrip('.')} ({' and '.join(flags)}: set in {place})"
