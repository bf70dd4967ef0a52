"""From a program to an artefact.

Tree -> extract -> RuleSet -> passes -> lower -> template -> text
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treecompile import __version__
from treecompile.collector import paused
from treecompile.errors import OptionError, TargetError
from treecompile.extract import extract
from treecompile.ir import Program, Tree
from treecompile.lower import (
    Context,
    EmitOptions,
    Lowering,
    Source,
    code,
    markdown,
    python,
    python_numpy,
    rules,
    sql,
)
from treecompile.model_file import sha256
from treecompile.passes import apply_rule_passes
from treecompile.render import render
from treecompile.targets import read_target

# An explicit table: a target.toml can name these and nothing else.
LOWERINGS: dict[str, Lowering] = {
    "python": python.lower,
    "numpy": python_numpy.lower,
    "sql": sql.lower,
    "markdown": markdown.lower,
    "rules": rules.lower,
    "code": code.lower,
}
STYLES = {"standard": "python", "numpy": "numpy"}


@dataclass(frozen=True, slots=True)
class Artefact:
    text: str
    suffix: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was chosen
    beside: str = ""  # a YAML file that goes with a dbt model


def flatten(program: Program) -> Program:
    """The same decisions as an ordered list of simplified rules."""
    body = program.body
    rules = extract(body) if isinstance(body, Tree) else body
    return replace(program, body=apply_rule_passes(rules))


def emit(
    program: Program,
    target: str = "python",
    options: EmitOptions = EmitOptions(),
    identity: str = "",
) -> Artefact:
    """Compile a program for a target; `identity` is its SHA-256, where it is known."""
    if target == "python":
        target = _style(options.style)
    description = read_target(target)
    if description.lowering not in LOWERINGS:
        raise TargetError(
            f"{target}: target.toml: lowering = {description.lowering!r}:"
            f" there are {', '.join(LOWERINGS)}"
        )
    lowering = LOWERINGS[description.lowering]
    with paused():
        source = Source(program, identity or sha256(program), __version__, description)
        context = lowering(source, options)
        text = render(description, context, options.templates)
    return Artefact(
        text,
        description.suffix,
        _lines(context, "warnings"),
        _lines(context, "notes"),
        "".join(f"{line}\n" for line in _lines(context, "beside")),
    )


def _lines(context: Context, key: str) -> tuple[str, ...]:
    lines = context.get(key, ())
    assert isinstance(lines, (list, tuple))
    return tuple(lines)


def _style(style: str) -> str:
    """The target folder of a style of Python."""
    if style not in STYLES:
        raise OptionError(f"--style {style!r}: expected one of {', '.join(STYLES)}")
    return STYLES[style]
