"""A model as text for the terminal.

Whoever prints it may paint parts of a line; nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from treecompile import words
from treecompile.extract import rule_ids
from treecompile.importance import impurity, measure_of, tree_of
from treecompile.ir import (
    Label,
    Leaf,
    Moments,
    Program,
    Rule,
    RuleSet,
    Split,
    Stats,
    Tree,
)

LABELS_SHOWN = 5
ASIDE = -1  # what stands in the place of a label for text beside the point
Paint = Callable[[str, int], str]  # a text, and the place of its label


def plain(text: str, place: int) -> str:
    return text


def show(program: Program, paint: Paint = plain, *, stats: bool = False) -> str:
    """The tree with its branches, or the rules in their order.

    With `stats`, the tree has the cases, impurity and gain of every node.
    """
    body = program.body
    if isinstance(body, RuleSet):
        rules = (*body.rules, body.default)
        lines = [_rule_line(rule, body, program.target, paint) for rule in rules]
    else:
        lines = list(_tree_lines(body, paint, _notes(program) if stats else {}))
    return "\n".join(lines)


def _place(label: Label, labels: tuple[Label, ...]) -> int:
    return labels.index(label) if labels else 0


def _rule_line(rule: Rule, rules: RuleSet, target: str, paint: Paint) -> str:
    said = words.conclusion(rule, rules.labels, target)
    before = words.sentence(rule, rules, target).removesuffix(said)
    return f"{before}{paint(said, _place(rule.value, rules.labels))}"


def _notes(program: Program) -> dict[int, str]:
    """What is known of each node, in brackets."""
    tree, measure = tree_of(program), measure_of(program)
    notes = {}
    for position, node in enumerate(tree.nodes):
        facts = [_cases(node.stats, tree.labels)]
        found = impurity(node.stats, measure) if measure else None
        if found is not None:
            facts.append(f"{measure} {found:.4g}")
        if isinstance(node, Split):
            facts.append(f"gain {node.gain:.4g}")
        elif not node.weight:
            facts = ["no case"]
        notes[position] = f"  [{'; '.join(facts)}]"
    return notes


def _cases(stats: Stats, labels: Sequence[Label]) -> str:
    if isinstance(stats, Moments):
        return (
            f"{words.amount(stats.weight)} {words.plural(stats.weight)},"
            f" mean {stats.mean:.6g}"
        )
    known = [place for place, weight in enumerate(stats.weights) if weight]
    known.sort(key=lambda place: -stats.weights[place])
    shown = [
        f"{words.value(labels[place])} {words.amount(stats.weights[place])}"
        for place in known[:LABELS_SHOWN]
    ]
    return ", ".join(shown + ["..."] * (len(known) > LABELS_SHOWN))


def _tree_lines(tree: Tree, paint: Paint, notes: Mapping[int, str]) -> Iterator[str]:
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
            note = notes.get(position, "")
            yield f"{margin}{test}{arrow}{answer}  {aside}{note}"
            continue
        if test or notes:
            yield f"{margin}{test or 'all'}{notes.get(position, '')}"
        inner = []
        for place, branch in enumerate(node.branches):
            last = place == len(node.branches) - 1
            phrase = words.phrase([branch.when], tree.features[branch.when.feature])
            head, tail = ("└─ ", "   ") if last else ("├─ ", "│  ")
            inner.append((branch.then, below + head, below + tail, phrase))
        stack.extend(reversed(inner))
