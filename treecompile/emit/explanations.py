"""Collects what a generated module says about its model and rules, as plain values."""

from __future__ import annotations

from collections.abc import Mapping

from treecompile.emit.lowering import CompilerInput
from treecompile.model import ir, words
from treecompile.rules.extract import extract
from treecompile.rules.passes import apply_rule_passes

# Up to this many rules, each is written out as a sentence. Beyond that, `explain`
# builds the sentence from the tests on the way to the leaf, which needs far less text.
SENTENCES = 1000


def identity(source: CompilerInput, rules: int) -> dict[str, str | int]:
    """Return the entries of the constant MODEL of a generated module."""
    program = source.program
    known: dict[str, str | int] = {
        "name": program.target,
        "algorithm": program.algorithm,
        "version": source.version,
        "sha256": source.sha256,
        "rules": rules,
    }
    if program.training is not None:
        known["rows"] = program.training.rows
    return known


def sentences(program: ir.Program, decided: Mapping[int, ir.Rule]) -> dict[str, str]:
    """Return what `explain` says about each rule; empty if there are too many rules."""
    body, counts = program.body, words.counts_by_id(program)
    if isinstance(body, ir.Tree) and len(decided) > SENTENCES:
        return {}
    rules = apply_rule_passes(extract(body))
    said = {
        rule.id: words.sentence(rule, rules.features, counts[rule.id])
        for rule in (*rules.rules, rules.default)
    }
    return {rule.id: said[rule.id] for rule in decided.values() if rule.id in said}


def conclusions(
    program: ir.Program, decided: Mapping[int, ir.Rule]
) -> dict[str, tuple[int, str]]:
    """Return, for each rule, its leaf and what it says."""
    counts = words.counts_by_id(program)
    return {
        rule.id: (position, words.conclusion(rule, counts[rule.id]))
        for position, rule in decided.items()
    }
