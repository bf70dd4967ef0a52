"""Program -> the text of a `.rules` file: rules as a source language."""

from __future__ import annotations

from treecompile import words
from treecompile.lower import Context, EmitOptions, Source
from treecompile.rule_language.printer import print_rules


def lower(source: Source, options: EmitOptions) -> Context:
    program = source.program
    return {
        "target": words.name(program.target),
        "sha256": source.sha256,
        "version": source.version,
        "rules": print_rules(program),
    }
