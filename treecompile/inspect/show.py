"""A model as text for the terminal; the caller may colour parts of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from treecompile.inspect.importance import impurity, measure_of, tree_of
from treecompile.model import ir, words
from treecompile.model.evidence import Evidence, of_nodes
from treecompile.model.paths import rule_ids

LABELS_SHOWN = 5
ASIDE = -1  # given to Paint for text that has no label
Paint = Callable[[str, int], str]  # colours a text, given the code of its label


def plain(text: str, code: int) -> str:
    return text


def show(program: ir.Program, paint: Paint = plain, *, stats: bool = False) -> str:
    """The tree with its branches, or the rules in their order.

    `stats` adds the cases, impurity and gain of each node of a tree.
    """
    body = program.body
    if isinstance(body, ir.RuleSet):
        rules = (*body.rules, body.default)
        said = words.counts_by_id(program)
        lines = [_rule_line(rule, body, said[rule.id], paint) for rule in rules]
    else:
        lines = list(_tree_lines(program, body, paint, stats=stats))
    return "\n".join(lines)


def _code(label: ir.Label, labels: tuple[ir.Label, ...]) -> int:
    return labels.index(label) if labels else 0


def _rule_line(rule: ir.Rule, rules: ir.RuleSet, said: str, paint: Paint) -> str:
    end = words.conclusion(rule, said)
    before = words.sentence(rule, rules.features, said).removesuffix(end)
    return f"{before}{paint(end, _code(rule.value, rules.labels))}"


def _notes(program: ir.Program, rows: Sequence[Evidence]) -> dict[int, str]:
    """The statistics of each node: "  [yes 9, no 5; gini 0.459; gain 0.116]"."""
    tree, measure = tree_of(program), measure_of(program)
    notes = {}
    for position, node in enumerate(tree.nodes):
        facts = [_cases(rows[position], tree.labels)]
        found = impurity(node.stats, measure) if measure else None
        if found is not None:
            facts.append(f"{measure} {found:.4g}")
        if isinstance(node, ir.Split):
            facts.append(f"gain {node.gain:.4g}")
        elif not rows[position].rows:
            facts = ["no case"]
        notes[position] = f"  [{'; '.join(facts)}]"
    return notes


def _cases(rows: Evidence, labels: Sequence[ir.Label]) -> str:
    if not rows.answers:
        mean = "" if rows.mean is None else f", mean {rows.mean:.6g}"
        return f"{words.quantity(rows.rows)}{mean}"
    pairs = [pair for pair in zip(labels, rows.answers, strict=True) if pair[1]]
    pairs.sort(key=lambda pair: -pair[1])
    shown = [f"{words.value(one)} {words.amount(weight)}" for one, weight in pairs]
    return ", ".join(shown[:LABELS_SHOWN] + ["..."] * (len(shown) > LABELS_SHOWN))


def _tree_lines(
    program: ir.Program, tree: ir.Tree, paint: Paint, *, stats: bool
) -> Iterator[str]:
    ids, rows = rule_ids(tree), of_nodes(program, tree)

    def answer(position: int, leaf: ir.Leaf) -> str:
        said = words.evidence(rows[position], tree.labels)
        shown = paint(words.value(leaf.value), _code(leaf.value, tree.labels))
        return f"{shown}  {paint(f'({ids[position]}: {said})', ASIDE)}"

    yield from branches(tree, answer, _notes(program, rows) if stats else {})


def branches(
    tree: ir.Tree, answer: Callable[[int, ir.Leaf], str], notes: Mapping[int, str]
) -> Iterator[str]:
    """The tree with a line for each node: its test, the answer of a leaf, its note."""
    stack = [(0, "", "", "")]  # position, its margin, its children's margin, its test
    while stack:
        position, margin, below, test = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, ir.Leaf):
            arrow = " -> " if test else ""
            note = notes.get(position, "")
            yield f"{margin}{test}{arrow}{answer(position, node)}{note}"
            continue
        if test or notes:
            yield f"{margin}{test or 'all'}{notes.get(position, '')}"
        inner = []
        for branch in node.branches:
            is_last = branch is node.branches[-1]
            phrase = words.phrase([branch.when], tree.features[branch.when.feature])
            head, tail = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            inner.append((branch.then, below + head, below + tail, phrase))
        stack.extend(reversed(inner))
