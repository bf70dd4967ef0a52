"""A model as text for the terminal; the caller may colour parts of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from treecompile.inspect.importance import importances, impurity, measure_of
from treecompile.model import ir, words
from treecompile.model.errors import OptionError
from treecompile.model.evidence import Evidence, of_nodes
from treecompile.model.forest_words import steps
from treecompile.model.paths import rule_ids, size

LABELS = 5  # of a node
MOST = 10  # features
LONGEST = 40  # characters of a feature's name in a list
ASIDE = -1  # given to Paint for text that has no label
Paint = Callable[[str, int], str]  # colours a text, given the code of its label


def plain(text: str, code: int) -> str:
    return text


def show(program: ir.Program, paint: Paint = plain, *, stats: bool = False) -> str:
    """The tree with its branches, or the rules in their order.

    `stats` adds the cases, impurity and gain of each node of a tree.
    """
    body = program.body
    if isinstance(body, ir.Tree):
        return "\n".join(_tree_lines(program, body, paint, stats=stats))
    said, lines = words.counts_by_id(program), []
    for rule in (*body.rules, body.default):
        end = words.conclusion(rule, said[rule.id])
        whole = words.sentence(rule, body.features, said[rule.id])
        code = body.labels.index(rule.value) if body.labels else 0
        lines.append(whole.removesuffix(end) + paint(end, code))
    return "\n".join(lines)


def _tree_lines(
    program: ir.Program, tree: ir.Tree, paint: Paint, *, stats: bool
) -> Iterator[str]:
    ids, rows = rule_ids(tree), of_nodes(program, tree)

    def answer(position: int, leaf: ir.Leaf) -> str:
        code = tree.labels.index(leaf.value) if tree.labels else 0
        aside = f"({ids[position]}: {words.evidence(rows[position], tree.labels)})"
        return f"{paint(words.value(leaf.value), code)}  {paint(aside, ASIDE)}"

    measure, notes = measure_of(program), {}
    for position, node in enumerate(tree.nodes) if stats else ():
        facts = [_cases(rows[position], tree)]
        found = impurity(node.stats, measure) if measure else None
        if found is not None:
            facts.append(f"{measure} {found:.4g}")
        if isinstance(node, ir.Split):
            facts.append(f"gain {node.gain:.4g}")
        elif not rows[position].rows:
            facts = [words.NO_CASE]
        notes[position] = f"  [{'; '.join(facts)}]"
    yield from branches(tree, answer, notes)


def _cases(rows: Evidence, tree: ir.Tree) -> str:
    if not rows.answers:
        mean = "" if rows.mean is None else f", mean {rows.mean:.6g}"
        return f"{words.quantity(rows.rows)}{mean}"
    pairs = [pair for pair in zip(tree.labels, rows.answers, strict=True) if pair[1]]
    pairs.sort(key=lambda pair: -pair[1])
    shown = [f"{words.value(one)} {words.amount(weight)}" for one, weight in pairs]
    return words.enumerated(shown, LABELS)


def branches(
    tree: ir.Tree, answer: Callable[[int, ir.Leaf], str], notes: Mapping[int, str]
) -> Iterator[str]:
    """The tree with a line for each node: its test, the answer of a leaf, its note."""
    stack = [(0, "", "", "")]  # position, its margin, its children's margin, its test
    while stack:
        position, margin, below, test = stack.pop()
        node, note = tree.nodes[position], notes.get(position, "")
        if isinstance(node, ir.Leaf):
            arrow = " -> " if test else ""
            yield f"{margin}{test}{arrow}{answer(position, node)}{note}"
            continue
        if test or notes:
            yield f"{margin}{test or 'all'}{note}"
        inner = []
        for branch in node.branches:
            is_last = branch is node.branches[-1]
            phrase = words.phrase([branch.when], tree.features[branch.when.feature])
            head, tail = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            inner.append((branch.then, below + head, below + tail, phrase))
        stack.extend(reversed(inner))


# ---------------------------------------------------------------- forests


def show_forest(program: ir.ForestProgram, *, is_whole: bool = False) -> str:
    """What the forest is, how it answers, and the features that it relies on.

    `is_whole` lists all of these, and not only the main ones.
    """
    forest = program.body
    lines = [f"{words.name(program.target)}, by {program.algorithm}: {size(forest)}"]
    numbered = enumerate(steps(forest), start=1)
    lines += [f"  {number}. {sentence}" for number, sentence in numbered]
    return "\n".join([*lines, "", *importance_lines(program, is_whole=is_whole)])


def importance_lines(program: ir.AnyProgram, *, is_whole: bool) -> Iterator[str]:
    """The features that some split tests, the most important first."""
    yield "importance of the features, which sum to 1:"
    ranked = sorted(importances(program).items(), key=lambda item: -item[1])
    used = [(_cut(words.name(name)), share) for name, share in ranked if share]
    shown = used if is_whole else used[:MOST]
    wide = max((len(name) for name, _ in shown), default=0)
    yield from (f"  {name:<{wide}}  {share:.4f}" for name, share in shown)
    if len(shown) < len(used):
        yield f"  and {len(used) - len(shown):,} more: importance lists them"
    if unused := [words.name(name) for name, share in ranked if not share]:
        yield f"not used: {words.enumerated(unused, MOST)}"


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def show_tree(
    program: ir.ForestProgram, number: int, paint: Paint = plain, *, stats: bool = False
) -> str:
    """A tree of the forest with its branches; a leaf has what it adds to each sum.

    `stats` adds the training weight and the gain of each node.
    """
    forest = program.body
    member = forest.members[number - 1]
    ids = rule_ids(member.tree)

    def added(position: int, leaf: ir.Leaf) -> str:
        assert isinstance(leaf.value, int)
        texts = []
        pairs = zip(member.outputs, member.values[leaf.value], strict=True)
        for output, value in pairs:
            name = f" for {words.value(forest.labels[output])}" if several else ""
            sign = "" if words.number(value).startswith("-") else "+"
            texts.append(f"{sign}{words.number(value)}{name}")
        aside = f"(leaf {ids[position].removeprefix('R')})"
        return f"{paint(', '.join(texts), 0)}  {paint(aside, ASIDE)}"

    several, notes = len(forest.start) > 1, {}
    for position, node in enumerate(member.tree.nodes) if stats else ():
        weight = node.weight if isinstance(node, ir.Leaf) else node.stats.weight
        gain = f"; gain {node.gain:.4g}" if isinstance(node, ir.Split) else ""
        notes[position] = f"  [weight {words.amount(weight)}{gain}]"
    count, sums = f"{len(forest.members):,}", "the sums of the labels"
    what = sums if several else "the sum"
    head = f"tree {number} of {count}, {size(member.tree)}: what it adds to {what}"
    return "\n".join([head, *branches(member.tree, added, notes)])


def check_number(forest: ir.Forest, number: int) -> None:
    """Refuse the number of a tree that is not there."""
    count = len(forest.members)
    if not 1 <= number <= count:
        there = "has no trees" if not count else f"has trees 1 to {count:,}"
        raise OptionError(f"tree={number}: the forest {there}")
