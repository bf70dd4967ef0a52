"""Tree -> RuleSet: every path from the root to a leaf becomes a rule."""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Condition, RuleSet, Split, Tree
from treecompile.model.paths import default_rule, outcomes, stand_ins


def extract(tree: Tree) -> RuleSet:
    """Flatten a tree into rules of which exactly one holds for every row.

    Every rule set ends with a default. Here the default never decides.
    """
    paths: list[tuple[Condition, ...]] = [()] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                paths[branch.then] = (*paths[position], branch.when)
    borrowed = stand_ins(tree)
    rules = []
    for position, rule in outcomes(tree).items():
        stats = borrowed.get(position, rule.stats)
        rules.append(replace(rule, conditions=paths[position], stats=stats))
    return RuleSet(tree.features, tree.labels, tuple(rules), default_rule(tree))
