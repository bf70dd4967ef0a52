"""What a user can ask of an artefact.

Every option of `emit` is declared here, with the lowerings that use it. A target takes
the options of its lowering and refuses all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from treecompile.model.errors import OptionError
from treecompile.model.options import (
    IN_SQL,
    TEMPLATES,
    option,
    options_of,
    sentence,
)

# The lowerings that have options.
SQL = ("sql",)


@dataclass(frozen=True, slots=True)
class EmitOptions:
    dialect: str = option(
        "sqlite",
        "The database, such as `duckdb` or `snowflake`, or your own dialect:"
        " `./FILE.toml`.",
        "NAME",
        targets=SQL,
        group=IN_SQL,
    )
    form: str = option(
        "expression",
        "What to write: `expression`, `select`, `view` or `dbt`.",
        "FORM",
        flag="--as",
        targets=SQL,
        group=IN_SQL,
    )
    table: str = option(
        "", "The table that a query reads.", "NAME", targets=SQL, group=IN_SQL
    )
    name: str = option(
        "",
        "The name of the view or the dbt model.",
        "NAME",
        shown="`predictions`",
        targets=SQL,
        group=IN_SQL,
    )
    output: str = option(
        "label",
        "What to compute: `label`, `probability`, `rule`, or the `margin` of a forest;"
        " in a query several, separated by commas.",
        "WHAT",
        targets=SQL,
        group=IN_SQL,
    )
    label: str = option(
        "",
        "The label whose probability, or margin, to compute.",
        "L",
        shown="the predicted label",
        targets=SQL,
        group=IN_SQL,
    )
    columns: Mapping[str, str] = option(
        {},
        "The column of a feature, if it has a different name in the table.",
        "FEATURE=COLUMN",
        flag="--column",
        repeatable=True,
        targets=SQL,
        group=IN_SQL,
    )
    comments: bool = option(
        True,
        "Leave out the model's hash, the rule ids and the numbers of cases.",
        flag="--no-comments",
        targets=SQL,
        group=IN_SQL,
    )
    templates: str = option(
        "",
        "Folder with templates that replace built-in ones of the same path, such as"
        " `DIR/python/module.py.jinja`. `build` and `verify` run the code that they"
        " write.",
        "DIR",
        group=TEMPLATES,
    )


def emit_options(target: str, given: Mapping[str, Any]) -> EmitOptions:
    """The options from the keywords that were given; None counts as not given."""
    values = {name: value for name, value in given.items() if value is not None}
    _check_given(target, values)
    if "columns" in values:
        values["columns"] = dict(values["columns"])
    if "templates" in values:
        values["templates"] = str(values["templates"])
    return EmitOptions(**values)


def check_choice(option: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise OptionError(f"{option}={value!r}: expected one of {', '.join(known)}")


def taken_by(target: str) -> set[str]:
    """The names of the options that a target has."""
    from treecompile.emit.targets import read_target  # not needed for --help

    lowering = read_target(target).lowering
    declared = options_of(EmitOptions).items()
    return {
        name for name, each in declared if not each.targets or lowering in each.targets
    }


def _check_given(target: str, given: Iterable[str]) -> None:
    """Refuse options that the target does not have."""
    declared = options_of(EmitOptions)
    for name in given:
        if name not in declared:
            raise TypeError(f"emit() got an unexpected keyword argument {name!r}")
    taken = taken_by(target)
    for name in given:
        each = declared[name]
        if name not in taken:
            own = sentence(each.targets)
            raise OptionError(
                f"{each.keyword} is for {own}, not {target}: leave it out, or use"
                f" to={each.targets[0]}"
            )
