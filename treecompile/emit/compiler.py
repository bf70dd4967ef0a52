"""Compiles a program into an artefact: `emit` is the entry point of the room.

Tree -> extract -> RuleSet -> passes -> lower -> template -> text
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from treecompile import __version__
from treecompile.emit import document, header, html, svg
from treecompile.emit.languages import lower_language
from treecompile.emit.lowering import (
    CompilerInput,
    ForestInput,
    Lowered,
    lower_rules,
)
from treecompile.emit.options import EmitOptions
from treecompile.emit.python import lower_python
from treecompile.emit.sql import lower as sql
from treecompile.emit.targets import Target, read_target
from treecompile.emit.templates import render
from treecompile.model.collector import paused
from treecompile.model.errors import TargetError
from treecompile.model.file.limits import SMALLER
from treecompile.model.file.write import sha256
from treecompile.model.ir import AnyProgram, ForestProgram
from treecompile.model.options import sentence

HTML = "html"
# The lowerings that a target.toml can name.
LOWERINGS: dict[str, Callable[[CompilerInput, EmitOptions], Lowered]] = {
    "python": lower_python,
    "sql": sql.lower,
    "markdown": document.lower,
    HTML: html.lower,
    "svg": svg.lower,
    "rules": lower_rules,
    "language": lower_language,
}
FOREST_LOWERINGS: dict[str, Callable[[ForestInput, EmitOptions], Lowered]] = {
    "python": lower_python,
    "language": lower_language,
    "sql": sql.lower,
    "markdown": document.lower,
}


@dataclass(frozen=True, slots=True)
class Artefact:
    text: str
    suffix: str  # of its file: .py
    warnings: tuple[str, ...] = ()
    beside: str = ""  # the second file: a dbt model's YAML
    # Of a language of several files: all of them, by their names.
    files: Mapping[str, str] = field(default_factory=dict)


def emit(
    program: AnyProgram,
    target: str = "python",
    options: EmitOptions = EmitOptions(),
    identity: str = "",
) -> Artefact:
    """Compile a program for a target.

    `identity` is its SHA-256, if already known.
    """
    with paused():
        identity = identity or sha256(program)
        description, lowered = _lowered(program, target, options, identity)
        head = header.written(identity, target, options)
        text = render(description, lowered, options.templates, head)
    if 0 < description.longest < len(text):
        raise TargetError(
            f"the text has {len(text):,} characters, and what reads it takes at most"
            f" {description.longest:,}: {SMALLER}"
        )
    files = {description.file: text} if description.file else {}
    for name in description.beside:
        other = replace(description, template=f"{name}.jinja")
        files[name] = render(other, lowered, options.templates, head)
    warnings = (*lowered.checked(text), *lowered.warnings)
    return Artefact(text, description.suffix, warnings, lowered.beside, files)


def driver(program: AnyProgram, target: str, options: EmitOptions) -> str:
    """Return the program that runs an artefact of a language, for `verify`."""
    description, lowered = _lowered(program, target, options, "")
    own = replace(description, template=description.driver)
    return render(own, lowered, options.templates)


def _lowered(
    program: AnyProgram, target: str, options: EmitOptions, identity: str
) -> tuple[Target, Lowered]:
    """Return the target, with the template for the program, and what it places."""
    description = read_target(target)
    lower = _lowering(description)
    if isinstance(program, ForestProgram):
        lower_forest = _forest_lowering(description)
        description = replace(description, template=description.forest)
        forest = ForestInput(program, identity, __version__, description)
        return description, lower_forest(forest, options)
    source = CompilerInput(program, identity, __version__, description)
    return description, lower(source, options)


def _lowering(target: Target) -> Callable[[CompilerInput, EmitOptions], Lowered]:
    if target.lowering not in LOWERINGS:
        raise TargetError(
            f"{target.name}: target.toml: lowering = {target.lowering!r}:"
            f" choose from {', '.join(LOWERINGS)}"
        )
    return LOWERINGS[target.lowering]


def _forest_lowering(target: Target) -> Callable[[ForestInput, EmitOptions], Lowered]:
    if target.lowering == "language" and not target.forest:
        raise TargetError(
            f"{target.name}: target.toml has no template for a forest: add the key"
            " forest"
        )
    if target.lowering not in FOREST_LOWERINGS or not target.forest:
        raise TargetError(
            f"a forest cannot become {target.name}: use {sentence(FOREST_LOWERINGS)},"
            " or learn one tree from its answers"
        )
    return FOREST_LOWERINGS[target.lowering]
