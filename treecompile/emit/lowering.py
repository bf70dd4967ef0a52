"""The contract between lowering and templates.

A lowering decides everything: names, quoting, order, line breaks. It returns finished
strings in a dataclass of its own, whose fields are the variables of the template. The
template only loops over them and places them. What else there is to say travels beside
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treecompile.emit.options import CompilerInput, EmitOptions
from treecompile.model import words
from treecompile.rules.language.printer import print_rules

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a lowering returns."""

    strings: DataclassInstance  # what the template places: a SqlText
    warnings: tuple[str, ...] = ()  # ("DuckDB is slow to read ... 20000 leaves",)
    notes: tuple[str, ...] = ()  # ("12 ordered rules ... are run as one nested ...",)
    beside: str = ""  # the text of a second file: the YAML of a dbt model


@dataclass(frozen=True, slots=True)
class RulesText:
    """The strings of a `.rules` file."""

    target: str  # play
    sha256: str  # of the model
    version: str  # of treecompile: 0.9
    rules: str  # the rules in the rule language, ending in a line end


def lower_rules(source: CompilerInput, options: EmitOptions) -> Lowered:
    """Program -> the text of a `.rules` file: rules as a source language."""
    program = source.program
    rules = print_rules(program)
    name = words.name(program.target)
    return Lowered(RulesText(name, source.sha256, source.version, rules))
