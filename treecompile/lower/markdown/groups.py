"""Many rules in groups that a reader can take in, with a table of contents.

The rules of a tree are grouped by where they stand in it: a group is a branch with few
leaves, or neighbouring ones below one split. An ordered list is cut into parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.ir import Branch, Condition, Leaf, Rule, Split, Tree
from treecompile.lower.markdown.rules import Writer
from treecompile.lower.markdown.text import listing, shown_value, table
from treecompile.passes.flatten import Tests

FEW = 25  # rules that need no grouping, and the most in a group


@dataclass(frozen=True, slots=True)
class Group:
    title: str  # "R26 to R50"
    where: str  # what all of its rules have in common
    table: str


@dataclass(frozen=True, slots=True)
class Part:
    """Rules that stand behind one another, and tests that all of them make."""

    rules: tuple[Rule, ...]
    common: tuple[Condition, ...]


def grouped(writer: Writer, parts: Sequence[Part]) -> list[Group]:
    """The groups as text."""
    heads = writer.heads()
    groups, done = [], 0
    for part in parts:
        first, last = done + 1, done + len(part.rules)
        done = last
        rows = [writer.row(rule, part.common) for rule in part.rules]
        if writer.ordered:
            title = f"Rules {first} to {last}" if last > first else f"Rule {first}"
            rows = [[str(n), *row] for n, row in enumerate(rows, start=first)]
            text = table(["Order", *heads], rows)
        else:
            ids = [rule.id for rule in part.rules]
            title = f"{ids[0]} to {ids[-1]}" if len(ids) > 1 else ids[0]
            text = table(heads, rows)
        where = writer.brief(part.common)
        where = f"All of these hold only where {where}, and further:" if where else ""
        groups.append(Group(title, where, text))
    return groups


def contents(writer: Writer, parts: Sequence[Part], groups: Sequence[Group]) -> str:
    """Where to find which rules."""
    rows = []
    for part, group in zip(parts, groups, strict=True):
        anchor = group.title.lower().replace(" ", "-")
        row = [f"[{group.title}](#{anchor})"]
        if not writer.ordered:
            row.append(writer.brief(part.common) or "any")
        rows.append([*row, _answers(part.rules)])
    where = [] if writer.ordered else ["Cases where"]
    return table(["Rules", *where, "Answers"], rows)


def _answers(rules: Sequence[Rule]) -> str:
    """How many rules give which answer, or the range of numbers."""
    values = [rule.value for rule in rules]
    numbers = [value for value in values if type(value) is float]
    if len(numbers) == len(values):
        low, high = shown_value(min(numbers)), shown_value(max(numbers))
        return f"{low} to {high}" if low != high else low
    counted = Counter(shown_value(value) for value in values)
    return listing([f"{value}: {count}" for value, count in counted.most_common()])


# ---------------------------------------------------------------- where to cut


def parts_of_list(rules: Sequence[Rule]) -> list[Part]:
    """An ordered list in parts of equal size."""
    return [
        Part(tuple(rules[start : start + FEW]), ())
        for start in range(0, len(rules), FEW)
    ]


def parts_of_tree(
    tree: Tree, tests: Sequence[Tests | None], rules: Sequence[Rule]
) -> list[Part]:
    """Branches with few leaves, as large as they come; small neighbours together."""
    spans = _spans(tree, tests)
    parents = {
        branch.then: position
        for position, node in enumerate(tree.nodes)
        if isinstance(node, Split)
        for branch in node.branches
    }
    cuts: list[tuple[int, int, int]] = []  # a node, the first rule, behind the last
    stack = [0]
    while stack:
        position = stack.pop()
        node, (start, stop) = tree.nodes[position], spans[position]
        if stop == start:
            continue
        if stop - start > FEW and isinstance(node, Split):
            stack.extend(branch.then for branch in reversed(node.branches))
            continue
        if cuts and stop - cuts[-1][1] <= FEW:
            # Together if they lie below one split, which is not the root: that would
            # say nothing of them.
            above = cuts[-1][0]
            if not _within(spans[above], start, stop):
                above = parents.get(above, 0)
            if above and _within(spans[above], start, stop):
                cuts[-1] = (above, cuts[-1][1], stop)
                continue
        cuts.append((position, start, stop))
    return [
        Part(tuple(rules[start:stop]), _flat(tests[position]))
        for position, start, stop in cuts
    ]


def _within(span: tuple[int, int], start: int, stop: int) -> bool:
    return span[0] <= start and stop <= span[1]


def _flat(tests: Tests | None) -> tuple[Condition, ...]:
    return tuple(c for merged in (tests or {}).values() for c in merged)


def _spans(tree: Tree, tests: Sequence[Tests | None]) -> list[tuple[int, int]]:
    """The rules below each node: those that some row can meet, in reading order."""
    counts = [0] * len(tree.nodes)
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            counts[position] = int(tests[position] is not None)
        else:
            counts[position] = sum(counts[b.then] for b in node.branches)
    spans = [(0, counts[0])] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        start = spans[position][0]
        branches: tuple[Branch, ...] = getattr(node, "branches", ())
        for branch in branches:
            spans[branch.then] = (start, start + counts[branch.then])
            start += counts[branch.then]
    return spans
