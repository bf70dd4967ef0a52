"""A model as text for the terminal.

Whoever prints it may paint parts of a line; nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treecompile import words
from treecompile.extract import rule_ids
from treecompile.ir import Label, Leaf, Program, Rule, RuleSet, Tree

ASIDE = -1  # what stands in the place of a label for text beside the point
Paint = Callable[[str, int], str]  # a text, and the place of its label


def plain(text: str, place: int) -> str:
    return text


def show(program: Program, paint: Paint = plain) -> str:
    """The tree with its branches, or the rules in their order."""
    body = program.body
    if isinstance(body, RuleSet):
        rules = (*body.rules, body.default)
        lines = [_rule_line(rule, body, program.target, paint) for rule in rules]
    else:
        lines = list(_tree_lines(body, paint))
    return "\n".join(lines)


def _place(label: Label, labels: tuple[Label, ...]) -> int:
    return labels.index(label) if labels else 0


def _rule_line(rule: Rule, rules: RuleSet, target: str, paint: Paint) -> str:
    said = words.conclusion(rule, rules.labels, target)
    before = words.sentence(rule, rules, target).removesuffix(said)
    return f"{before}{paint(said, _place(rule.value, rules.labels))}"


def _tree_lines(tree: Tree, paint: Paint) -> Iterator[str]:
    ids = rule_ids(tree)
    # A node with what stands in front of it, in front of its children, and its test.
    stack = [(0, "", "", "")]
    while stack:
        position, margin, below, test = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            said = words.evidence(node.stats, node.weight, node.value, tree.labels)
            arrow = " -> " if test else ""
            answer = paint(words.value(node.value), _place(node.value, tree.labels))
            aside = paint(f"({ids[position]}: {said})", ASIDE)
            yield f"{margin}{test}{arrow}{answer}  {aside}"
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
