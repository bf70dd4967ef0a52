"""Defines what all lowerings share: their input and result, and the forms of tests.

A lowering turns a program into the strings of an artefact, and decides everything:
names, quoting, order, line breaks. It returns finished strings in a dataclass of its
own, whose fields are the variables of the template. The template only loops over them
and places them. Warnings and notes travel beside the strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import Target
from treecompile.model import ir, words
from treecompile.model.semantics import membership
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
    notes: tuple[str, ...] = ()  # ("the document shows the most frequent of ...",)
    beside: str = ""  # a second file: a dbt model's YAML


def form_of(
    test: ir.Condition, feature: ir.Feature
) -> tuple[str, tuple[ir.Category, ...]]:
    """Return the form of a test, by the name that targets use, and its categories.

    A number is compared: at_most, above. A category is looked up: within, without. Each
    has a variant that also holds for a missing value: at_most_or_missing. The other
    forms compare nothing: missing, known, always, never.
    """
    chosen: tuple[ir.Category, ...] = ()
    if feature.kind is ir.Kind.NUMERIC:
        inside, missing = test.op is ir.Op.GT, test.missing
        name, is_trivial = ("above" if inside else "at_most"), test.value == inf
    else:
        inside, chosen, missing = membership(test, feature)
        name, is_trivial = ("within" if inside else "without"), not chosen
    if not is_trivial:
        return (f"{name}_or_missing" if missing else name), chosen
    # No number is above inf, and no category is in an empty set.
    if missing == inside:
        return ("missing" if missing else "known"), ()
    return ("always" if missing else "never"), ()


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
