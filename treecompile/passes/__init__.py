"""Passes over the IR: each takes one and gives one that decides every row alike.

The order is the order of application. A pass is one file; adding one means writing the
file and naming it here.
"""

from __future__ import annotations

from collections.abc import Callable

from treecompile.ir import RuleSet
from treecompile.passes.merge import merge

RulePass = Callable[[RuleSet], RuleSet]

RULE_PASSES: tuple[RulePass, ...] = (merge,)


def apply_rule_passes(rules: RuleSet) -> RuleSet:
    for rule_pass in RULE_PASSES:
        rules = rule_pass(rules)
    return rules
