"""Command-line options: those that are declared elsewhere, and those of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from treecompile.cli.command import option
from treecompile.learning.options import BALANCED, LearnOptions
from treecompile.model.errors import OptionError
from treecompile.model.options import (
    COMMON,
    DATABASE,
    FILES,
    OUTPUT,
    PRUNING,
    RULES,
    SEARCH,
    Option,
    options_of,
    sentence,
)
from treecompile.tables.options import DataOptions, ReadOptions

READ = ("FILE", "DIR", "URL", "TARGET")  # metavars
WRITTEN = ("out", "folder")  # parameters

F = TypeVar("F", bound=Callable[..., Any])


def apply(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


# ---------------------------------------------------------------- declared options


def declared(kind: type, *names: str) -> Callable[[F], F]:
    """The options that a dataclass declares, or some of them, for click."""
    options = options_of(kind)
    shown = [options[name] for name in names or options]
    return apply(*map(_click_option, shown))


def _click_option(each: Option) -> Callable[[F], F]:
    more: dict[str, Any] = {}
    if each.type is bool:
        more = {"is_flag": True, "flag_value": not each.default, "default": None}
    else:
        kinds = {int: int, int | None: int, float: float, float | None: float}
        more = {"metavar": each.metavar, "multiple": each.repeatable}
        more |= {"type": kinds.get(each.type, str)}
        if each.choices:
            more["type"] = click.Choice(each.choices)
    return option(
        each.flag,
        each.keyword,
        group=COMMON if each.is_common else each.group or OUTPUT,
        help=help_of(each).replace("`", ""),
        **more,
    )


def help_of(each: Option, *, says_where: bool = True) -> str:
    """The help of an option, with what follows from its declaration."""
    parts = [each.help]
    if not all(choice in each.help for choice in each.choices):
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in each.choices)}.")
    if each.values:
        parts.append(f"{values_text(each.values)}; the first is the default.")
    if says_where and each.algorithms:
        parts.append(f"Only for {sentence(each.algorithms, 'and')}.")
    if says_where and not each.in_database and each.group != FILES:
        parts.append("Not in a database.")
    if each.repeatable:
        parts.append("Repeatable.")
    default = each.shown or each.default
    if default not in (None, "", (), {}) and not isinstance(default, bool):
        number = f"{default:g}" if isinstance(default, float) else default
        parts.append(f"[default: {number}]")
    return " ".join(parts)


def values_text(values: Mapping[str, tuple[str, ...]]) -> str:
    """`id3: a or b; c45 and cart: b or c`: what each algorithm offers."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for algorithm, offered in values.items():
        groups.setdefault(offered, []).append(algorithm)
    return "; ".join(
        f"{sentence(algorithms, 'and')}: {sentence(offered)}"
        for offered, algorithms in groups.items()
    )


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that the user has set, parsed into keywords of Python."""
    context = click.get_current_context()
    return {
        name: PARSERS[name](value) if name in PARSERS else value
        for name, value in options.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }


def named_inputs() -> list[str]:
    """The files, folders and addresses that the current command reads."""
    context = click.get_current_context()
    found: list[str] = []
    for each in context.command.params:
        is_read = isinstance(each, click.Argument) or each.metavar in READ
        given = context.params.get(each.name or "")
        if is_read and each.name not in WRITTEN and given:
            found += [given] if isinstance(given, str) else given
    return found


def flag_of(name: str) -> str:
    """How the current command spells a parameter."""
    parameters = click.get_current_context().command.params
    return next(each.opts[0] for each in parameters if each.name == name)


def pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE, split at the last sign: a name may contain one, a value rarely."""
    result = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not value:
            raise OptionError(f"{flag} {text!r}: expected NAME=VALUE")
        result[name] = value
    return result


def _class_weight(texts: tuple[str, ...]) -> dict[str, float] | str:
    """LABEL=NUMBER, each label once; or balanced."""
    if texts == (BALANCED,):
        return BALANCED
    flag = "--class-weight"
    if BALANCED in texts:
        raise OptionError(f"{flag}: give weights or balanced, not both")
    found: dict[str, float] = {}
    for text in texts:
        ((name, number),) = pairs(flag, (text,)).items()
        if name in found:
            raise OptionError(f"{flag} names the label {name!r} twice")
        try:
            found[name] = float(number)
        except ValueError:
            raise OptionError(f"{flag} {text!r}: {number!r} is not a number") from None
    return found


def _costs(path: str) -> dict[str, float]:
    from treecompile.learning.costs import read_costs

    return dict(read_costs(path))


def _alpha(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


PARSERS: dict[str, Callable[[Any], Any]] = {
    "labels": lambda text: text.split(",") if text else (),
    "ordinal": lambda texts: {
        name: order.split(",") for name, order in pairs("--ordinal", texts).items()
    },
    "costs": _costs,
    "class_weight": _class_weight,
    "alpha": _alpha,
    "columns": lambda texts: pairs("--column", texts),
}

# ---------------------------------------------------------------- shared by commands


def value(
    names: str, metavar: str, help: str, default: Any = None, **more: Any
) -> Callable[[F], F]:
    """An option that takes a value, such as `value("--from url", "URL", "...")`."""
    if default is not None:  # click takes an explicit None as given
        more |= {"default": default}
        shown = f"{default:,g}" if isinstance(default, (int, float)) else default
        help = f"{help} [default: {shown}]" if default != "" else help
    return option(*names.split(), metavar=metavar, help=help, **more)


POSITIVE = click.IntRange(min=1)

force_option = option("--force", is_flag=True, help="Overwrite existing files.")
out_option = apply(
    value("-o out", "FILE", "Output file. [default: standard output]"), force_option
)
quiet_option = option("-q", "--quiet", is_flag=True, help="Print only errors.")
estimate_option = option(
    "--no-estimate",
    "estimate",
    is_flag=True,
    flag_value=False,
    default=True,
    group=PRUNING,
    help="Do not estimate the quality on new rows. By default it is estimated by"
    " cross-validation or on held-out rows, if that takes only a few seconds.",
)
rules_option = option(
    "--rules",
    metavar="NAME",
    type=click.Choice(["flat", "validation", "c45rules"]),
    help="Turn the tree into rules: simplified (flat), pruned against the validation"
    " rows (validation), or pruned as c4.5rules does (c45rules).",
    group=RULES,
)
reading_options = declared(ReadOptions)
budget_option = value(
    "--budget",
    "N",
    "Maximum number of search steps.",
    100_000,
    type=POSITIVE,
    group=SEARCH,
)
list_option = value(
    "--list most", "N", "List at most N of each kind. [default: 10]", type=POSITIVE
)
json_option = option(
    "--json", "as_json", is_flag=True, help="Print the report as JSON."
)
url_option = value(
    "--from url",
    "URL",
    "The database that holds the table: duckdb://FILE, postgresql://... or spark:, and"
    " except for learning sqlite://FILE or mysql://HOST/NAME. The rows stay there.",
    "",
    group=DATABASE,
)
memory_option = value(
    "--memory-limit",
    "SIZE",
    "DuckDB: maximum memory, such as 1GB. Beyond that it uses the disk.",
    "",
    group=DATABASE,
)
place_options = apply(  # where the rows are, if not in a file
    url_option,
    value(
        "--table",
        "NAME",
        "The table in the database, or SCHEMA.NAME.",
        "",
        group=DATABASE,
    ),
    memory_option,
)


def how_options(*, shows_validation: bool = True) -> Callable[[F], F]:
    """How to read and learn. What a command hides, it refuses in words of its own."""
    return apply(
        declared(DataOptions),
        declared(LearnOptions),
        value(
            "--validation",
            "FILE",
            "Rows with known targets, to measure the quality or to prune by.",
            group=PRUNING,
            hidden=not shows_validation,
        ),
        quiet_option,
    )


def model_option(default: str, group: str = OUTPUT) -> Callable[[F], F]:
    help = "The model file to write; - for standard output."
    return apply(value("-o out", "FILE", help, default, group=group), force_option)


def learning_options(*, requires_target: bool) -> Callable[[F], F]:
    help = "The column to predict."
    target = value("--target", "COL", help, required=requires_target, group=COMMON)
    return apply(target, how_options())
