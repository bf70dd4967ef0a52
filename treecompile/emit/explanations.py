"""What `explain` of a generated module says about each rule.

Up to a number of rules, each is a sentence. Beyond, a module puts the sentence together
from the tests on the way to the leaf, which needs far less text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from treecompile.model import ir, words
from treecompile.model.evidence import by_id
from treecompile.model.paths import outcomes
from treecompile.rules.extract import extract
from treecompile.rules.passes import apply_rule_passes

SENTENCES = 1000  # rules


class Explanations:
    """Made when a template asks for them."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.rules = outcomes(program.body)
        found = by_id(program)
        self.counts = words.counts_by_id(program, found)  # {"R1": "4 of 4"}
        self.support = words.evidence_by_id(program, found)  # {"R1": "4 of 4 cases"}

    @cached_property
    def sentences(self) -> Mapping[str, str]:
        """The sentence of each rule, by its id; empty if there are too many."""
        body = self.program.body
        if isinstance(body, ir.Tree) and len(self.rules) > SENTENCES:
            return {}
        found = apply_rule_passes(extract(body))
        said = {
            rule.id: words.sentence(rule, found.features, self.counts[rule.id])
            for rule in (*found.rules, found.default)
        }
        return {r.id: said[r.id] for r in self.rules.values() if r.id in said}

    @cached_property
    def steps(self) -> list[tuple[int, str]]:
        """For each node of a tree, the node above it and the test between them."""
        return words.tests_above(self.program.body)

    @cached_property
    def ends(self) -> Mapping[str, tuple[int, str]]:
        """For each rule its leaf, and its conclusion: "yes [4 of 4]"."""
        return {
            rule.id: (place, words.conclusion(rule, self.counts[rule.id]))
            for place, rule in self.rules.items()
        }
