"""Defines what all lowerings share: their input and their result.

A lowering turns a program into the strings of an artefact, and decides everything:
names, quoting, order, line breaks. It returns finished strings in a dataclass of its
own, whose fields are the variables of the template. The template only loops over them
and places them. Warnings travel beside the strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import Target
from treecompile.model import ir, words
from treecompile.rules.language.printer import print_rules

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class CompilerInput:
    """The input of a lowering."""

    program: ir.Program
    sha256: str  # of the program, which the artefact carries
    version: str  # of treecompile
    target: Target


@dataclass(frozen=True, slots=True)
class ForestInput:
    """The input of a forest's lowering."""

    program: ir.ForestProgram
    sha256: str
    version: str
    target: Target


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a lowering returns."""

    strings: DataclassInstance  # what the template places: a SqlText
    warnings: tuple[str, ...] = ()  # ("DuckDB is slow to read ... 20000 leaves",)
    beside: str = ""  # a second file: a dbt model's YAML
    # More warnings, about the finished text; TargetError if nothing can read it.
    checked: Callable[[str], Iterable[str]] = lambda text: ()
    # Of the template: {"literal": ...}
    filters: Mapping[str, Callable[..., str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulesText:
    """The strings of a `.rules` file."""

    target: str  # play
    rules: str  # the rules in the rule language, ending in a line end


def lower_rules(source: CompilerInput, options: EmitOptions) -> Lowered:
    """Program -> the text of a `.rules` file: rules as a source language."""
    program = source.program
    rules = print_rules(program)
    name = words.name(program.target)
    return Lowered(RulesText(name, rules))
