"""Passes over the IR: each takes one and gives one that decides every row alike.

The order is the order of application. A pass is one file; adding one means writing the
file and naming it here.

There are two lists. RULE_PASSES rewrite the tests of a rule and drop rules that no row
can match: every row is still decided by the rule of the same id, with the same answer
and the same probabilities. So they are fit for showing a tree as rules.

SIMPLIFYING_PASSES go on from there and make a shorter list, which is a model of its
own with a hash of its own. Every row keeps its answer, but which rule gives it changes,
and where siblings are merged the probabilities of the labels are those of all their
cases together. They are what the command `rules` does. Rules after post-pruning are not
merged: each stands there with the estimate that it was sorted by.
"""

from __future__ import annotations

from collections.abc import Callable

from treecompile.ir import RuleSet
from treecompile.passes.dead import dead
from treecompile.passes.duplicates import duplicates
from treecompile.passes.known import known
from treecompile.passes.merge import merge
from treecompile.passes.number import number
from treecompile.passes.order import order
from treecompile.passes.siblings import siblings

RulePass = Callable[[RuleSet], RuleSet]

RULE_PASSES: tuple[RulePass, ...] = (merge,)
SIMPLIFYING_PASSES: tuple[RulePass, ...] = (
    *RULE_PASSES,
    *(known, duplicates, siblings, dead, order, number),
)
# What post-pruning leaves is made plain without merging any rule with another.
PRUNED_PASSES: tuple[RulePass, ...] = (*RULE_PASSES, known, duplicates, dead, number)


def apply_rule_passes(
    rules: RuleSet, passes: tuple[RulePass, ...] = RULE_PASSES
) -> RuleSet:
    for rule_pass in passes:
        rules = rule_pass(rules)
    return rules
