"""Passes over rules: each takes a RuleSet and gives one with the same answers.

A pass is one file. To add one, write the file and name it in a list here; the passes of
a list are applied in its order.

RULE_PASSES rewrite the tests of a rule and drop rules that no row can match. Every row
is still decided by the rule of the same id, with the same answer and probabilities. So
these passes can be used to show a tree as rules.

The command `rules` applies SIMPLIFYING_PASSES, which then shorten the list. The result
is a model of its own with a hash of its own. Every row keeps its answer, but another
rule may give it, and siblings that were merged have the probabilities of all their
cases together.
"""

from __future__ import annotations

from collections.abc import Callable

from treecompile.model.ir import RuleSet
from treecompile.rules.passes.dead import dead
from treecompile.rules.passes.duplicates import duplicates
from treecompile.rules.passes.known import known
from treecompile.rules.passes.merge import merge
from treecompile.rules.passes.number import number
from treecompile.rules.passes.order import order
from treecompile.rules.passes.shadowed import shadowed
from treecompile.rules.passes.siblings import siblings

RulePass = Callable[[RuleSet], RuleSet]

RULE_PASSES: tuple[RulePass, ...] = (merge,)
SIMPLIFYING_PASSES: tuple[RulePass, ...] = (
    *RULE_PASSES,
    *(known, duplicates, siblings, dead, order, number),
)
# After post-pruning no rules are merged: each keeps the estimate it was sorted by.
PRUNED_PASSES: tuple[RulePass, ...] = (
    *RULE_PASSES,
    *(known, duplicates, dead, shadowed, number),
)


def apply_rule_passes(
    rules: RuleSet, passes: tuple[RulePass, ...] = RULE_PASSES
) -> RuleSet:
    for rule_pass in passes:
        rules = rule_pass(rules)
    return rules
