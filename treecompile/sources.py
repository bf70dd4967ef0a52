"""Wherever a model is read from: a model file, a file of rules, a rule document."""

from __future__ import annotations

from pathlib import Path

from treecompile.ir import Program
from treecompile.model_file import read_program

RULES = (".rules", ".md", ".markdown")


def is_rules(path: str | Path) -> bool:
    """Whether a file holds rules in the rule language, by its name."""
    return Path(path).suffix.lower() in RULES


def read_source(path: str | Path) -> tuple[Program, tuple[str, ...]]:
    """The program in a file, and what its author should know."""
    if not is_rules(path):
        return read_program(path), ()
    from treecompile.rule_language.document import read_rules

    source = read_rules(path)
    return source.program, source.notes
