"""Rounds the numbers that a regression answers, in the model itself.

So every artefact gives the same rounded answer, and the document shows it.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Body, Label, Leaf, Node, Rule, Tree


def rounded(body: Body, digits: int) -> Body:
    """The same decisions, with answers of so many decimals."""
    if isinstance(body, Tree):
        return rounded_tree(body, digits)
    rules = tuple(_rule(rule, digits) for rule in body.rules)
    return replace(body, rules=rules, default=_rule(body.default, digits))


def rounded_tree(tree: Tree, digits: int) -> Tree:
    def node(each: Node) -> Node:
        if not isinstance(each, Leaf):
            return each
        return replace(each, value=_number(each.value, digits))

    return replace(tree, nodes=tuple(map(node, tree.nodes)))


def _rule(rule: Rule, digits: int) -> Rule:
    return replace(rule, value=_number(rule.value, digits))


def _number(value: Label, digits: int) -> Label:
    assert isinstance(value, float)
    return round(value, digits) + 0.0  # never -0.0
