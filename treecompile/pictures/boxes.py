"""Which nodes of a tree are drawn, and what stands in their boxes.

A picture of hundreds of leaves is not readable. Where there are more than wanted, the
branches with most rows are drawn, and each of the others is one box that says how many
leaves it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from treecompile.model import words
from treecompile.model.evidence import Evidence, of_nodes
from treecompile.model.ir import Condition, Label, Leaf, Program, Split, Tree
from treecompile.model.paths import leaves_below, rule_ids
from treecompile.model.semantics import answer, conditions
from treecompile.model.words import Rounding
from treecompile.pictures import svg

PADDING = 8.0
HIGH = 42.0  # the height of a box
LABEL = 16.0  # the height of the test above it
LONGEST, LONGEST_TEST = 26, 30  # characters
SHORTER = ("(or any other, or missing)", "(or other, missing)")


@dataclass(slots=True, eq=False)
class Box:
    """A node that is drawn: its texts, and where it stands."""

    position: int
    rows: Evidence
    answer: Label  # of a leaf; the most frequent one, for a split
    parent: Box | None
    depth: int
    is_leaf: bool
    hidden: int = 0  # leaves below that are not drawn
    test: str = ""  # above it: "= sunny"
    exact: str = ""  # the same, neither rounded nor shortened
    is_rounded: bool = False
    head: str = ""  # the feature of a split: "outlook"; or the answer of a leaf
    foot: str = ""  # "R3: 4 of 5"
    whole: str = ""  # head and foot, neither rounded nor shortened
    lit: bool = False  # on the path of the row
    children: list[Box] = field(default_factory=list)
    across: float = 0.0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        head = svg.width(self.head) * svg.BOLD
        return max(head, svg.width(self.foot, svg.SMALL), 30.0) + 2 * PADDING

    @property
    def test_width(self) -> float:
        return svg.width(self.test, svg.SMALL) * (svg.BOLD if self.lit else 1.0)


def boxes_of(
    program: Program,
    tree: Tree,
    limits: tuple[float, float],
    lit: frozenset[int],
) -> list[Box]:
    """The nodes that are drawn, parents before their children, in reading order.

    `limits` are the most leaves, and the most tests above one; lit nodes are drawn all
    the same.
    """
    rows, leaves, ids = of_nodes(program, tree), leaves_below(tree), rule_ids(tree)
    opened = _opened(tree, rows, limits, lit)
    rounding = Rounding(conditions(tree))
    target = words.name(program.target)
    boxes: list[Box] = []
    stack: list[tuple[int, Box | None, Condition | None]] = [(0, None, None)]
    while stack:
        position, parent, when = stack.pop()
        node = tree.nodes[position]
        is_leaf = isinstance(node, Leaf)
        value = (
            node.value if isinstance(node, Leaf) else answer(node.stats, tree.labels)
        )
        depth = 0 if parent is None else parent.depth + 1
        box = Box(position, rows[position], value, parent, depth, is_leaf)
        box.lit = position in lit
        boxes.append(box)
        if parent is not None and when is not None:
            parent.children.append(box)
            feature, figure = tree.features[when.feature], rounding.figure(when.feature)
            test = words.branch_test(when, feature, figure)
            box.exact = words.branch_test(when, feature)
            box.is_rounded = test != box.exact
            box.test = svg.cut(test.replace(*SHORTER), LONGEST_TEST)
        said = words.evidence(box.rows, tree.labels)
        if isinstance(node, Leaf):
            box.head = svg.cut(words.answer(value, tree.labels), LONGEST)
            box.foot = f"{ids[position]}: {_short(box.rows, tree.labels)}"
            box.whole = f"{ids[position]}: {target} = {words.value(value)} ({said})"
            continue
        head = words.name(tree.features[node.branches[0].when.feature].name)
        cases = words.quantity(box.rows.rows)
        box.head, box.foot, box.whole = (
            svg.cut(head, LONGEST),
            cases,
            f"{head}, {cases}",
        )
        if position in opened:
            stack += [(b.then, box, b.when) for b in reversed(node.branches)]
        else:
            box.hidden = leaves[position]
            box.foot = f"{box.hidden:,} leaves"
            box.whole += f": {box.foot} below are not drawn"
    return boxes


def _short(rows: Evidence, labels: Sequence[Label]) -> str:
    """The cases behind a leaf in few words: "4 of 5", "12, sd 0.3", "no case"."""
    said = words.evidence(rows, labels)
    noun = words.quantity(rows.rows).removeprefix(words.amount(rows.rows))
    return said.replace(noun, "") if rows.rows else said


def _opened(
    tree: Tree,
    rows: Sequence[Evidence],
    limits: tuple[float, float],
    lit: frozenset[int],
) -> set[int]:
    """The splits that are drawn with their branches: lit ones, then by most rows."""
    opened: set[int] = set()
    (most, deepest), ends = limits, 1
    waiting: list[tuple[bool, float, int, int]] = []  # by importance; position, depth

    def meet(position: int, depth: int) -> None:
        is_lit = position in lit
        if (is_lit or depth < deepest) and isinstance(tree.nodes[position], Split):
            heappush(waiting, (not is_lit, -rows[position].rows, position, depth))

    meet(0, 0)
    while waiting:
        is_dark, _, position, depth = heappop(waiting)
        node = tree.nodes[position]
        assert isinstance(node, Split)
        more = len(node.branches) - 1
        if is_dark and ends + more > most:
            continue
        opened.add(position)
        ends += more
        for branch in node.branches:
            meet(branch.then, depth + 1)
    return opened
