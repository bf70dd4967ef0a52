"""A model as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from treecompile import words
from treecompile.extract import rule_ids
from treecompile.ir import Leaf, Program, RuleSet, Tree


def show(program: Program) -> str:
    """The tree with its branches, or the rules in their order."""
    body = program.body
    if isinstance(body, RuleSet):
        rules = (*body.rules, body.default)
        lines = [words.sentence(rule, body, program.target) for rule in rules]
    else:
        lines = list(_tree_lines(body))
    return "\n".join(lines)


def _tree_lines(tree: Tree) -> Iterator[str]:
    ids = rule_ids(tree)
    # A node with what stands in front of it, in front of its children, and its test.
    stack = [(0, "", "", "")]
    while stack:
        position, margin, below, test = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            said = words.evidence(node.stats, node.weight, node.value, tree.labels)
            arrow = " -> " if test else ""
            answer = words.value(node.value)
            yield f"{margin}{test}{arrow}{answer}  ({ids[position]}: {said})"
            continue
        if test:
            yield f"{margin}{test}"
        inner = []
        for place, branch in enumerate(node.branches):
            last = place == len(node.branches) - 1
            phrase = words.phrase([branch.when], tree.features[branch.when.feature])
            head, tail = ("└─ ", "   ") if last else ("├─ ", "│  ")
            inner.append((branch.then, below + head, below + tail, phrase))
        stack.extend(reversed(inner))
