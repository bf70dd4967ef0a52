"""Which nodes of a tree are drawn, and what stands in their boxes.

A picture of hundreds of leaves is not readable. Where there are more than wanted, the
branches with most rows are drawn, and each of the others is one box that says how many
leaves it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from treecompile.model import words
from treecompile.model.evidence import Evidence, of_nodes
from treecompile.model.ir import Branch, Label, Leaf, Program, Split, Tree
from treecompile.model.paths import depths, leaves_below, rule_ids
from treecompile.model.semantics import conditions
from treecompile.pictures import text

PADDING = 8
HIGH = 42  # the height of a box
LABEL = 16  # the height of the test above it
LONGEST, LONGEST_TEST = 26, 34  # characters


class Band(NamedTuple):
    """A part of the bar in a box."""

    x: int
    width: int
    colour: str


@dataclass(slots=True, eq=False)
class Box:
    """A node that is drawn: its texts; then where it stands, and its colours."""

    position: int  # of the node
    rows: Evidence
    answer: Label | None  # of a leaf
    parent: Box | None
    depth: int
    lit: bool  # on the path of the row
    hidden: int = 0  # leaves below that are not drawn
    test: str = ""  # above it: "= sunny"
    exact: str = ""  # the same, neither rounded nor shortened
    is_rounded: bool = False
    head: str = ""  # the feature of a split: "outlook"; or the answer of a leaf
    foot: str = ""  # "R3: 4 of 5 cases"
    whole: str = ""  # head and foot, neither rounded nor shortened
    children: list[Box] = field(default_factory=list)
    across: float = 0.0  # from its parent, while the boxes are placed
    x: int = 0
    y: int = 0
    edge: str = ""  # from its parent: M251 140 C251 155 51 155 51 170
    test_x: int = 0
    fill: str = "#f6f8fa"
    bands: list[Band] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """A leaf, a split, or hidden: a split without what is below."""
        return "hidden" if self.hidden else "split" if self.answer is None else "leaf"

    @property
    def test_y(self) -> int:
        return self.y - 4

    @property
    def width(self) -> int:
        head = round(text.width(self.head) * text.BOLD)
        return max(head, text.width(self.foot, text.SMALL), 30) + 2 * PADDING

    @property
    def test_width(self) -> int:
        bold = text.BOLD if self.lit else 1.0
        return round(text.width(self.test, text.SMALL) * bold)


def boxes_of(
    program: Program, tree: Tree, limits: tuple[float, float], lit: frozenset[int]
) -> list[Box]:
    """The nodes that are drawn, parents before their children, in reading order.

    `limits` are the most leaves, and the most tests above one; lit nodes are drawn all
    the same.
    """
    rows, leaves, ids = of_nodes(program, tree), leaves_below(tree), rule_ids(tree)
    opened = _opened(tree, rows, limits, lit)
    rounding = words.Rounding(conditions(tree))
    boxes: list[Box] = []
    stack: list[tuple[int, Box | None, Branch | None]] = [(0, None, None)]
    while stack:
        position, parent, branch = stack.pop()
        node, own = tree.nodes[position], rows[position]
        answer = node.value if isinstance(node, Leaf) else None
        depth = parent.depth + 1 if parent else 0
        box = Box(position, own, answer, parent, depth, position in lit)
        boxes.append(box)
        if parent is not None and branch is not None:
            parent.children.append(box)
            index = branch.when.feature
            feature, figure = tree.features[index], rounding.figure(index)
            box.exact = words.branch_test(branch.when, feature)
            box.test = words.branch_test(branch.when, feature, figure)
            box.is_rounded = box.test != box.exact
        if isinstance(node, Leaf):
            box.head = words.answer(node.value, tree.labels)
            box.foot = f"{ids[position]}: {words.evidence(own, tree.labels)}"
            box.whole = f"{words.name(program.target)} = {words.value(node.value)}"
        else:
            name = tree.features[node.branches[0].when.feature].name
            box.head = box.whole = words.name(name)
            box.foot = words.quantity(own.rows)
            if position in opened:
                stack += [(b.then, box, b) for b in reversed(node.branches)]
            else:
                box.hidden = leaves[position]
                box.foot = f"{box.hidden:,} leaves"
        box.whole += f", {box.foot}{' below are not drawn' if box.hidden else ''}"
        box.test = text.cut(box.test, LONGEST_TEST)
        box.head = text.cut(box.head, LONGEST)
    return boxes


def _opened(
    tree: Tree,
    rows: Sequence[Evidence],
    limits: tuple[float, float],
    lit: frozenset[int],
) -> set[int]:
    """The splits that are drawn with their branches: lit ones, then by most rows.

    A split stands before those below it, which have no more rows.
    """
    (most, deepest), ends, depth = limits, 1, depths(tree)
    opened, drawn = set[int](), {0}
    splits = {
        position: [branch.then for branch in node.branches]
        for position, node in enumerate(tree.nodes)
        if isinstance(node, Split)
    }
    for position in sorted(splits, key=lambda p: (p not in lit, -rows[p].rows)):
        below = splits[position]
        fits = depth[position] < deepest and ends + len(below) - 1 <= most
        if position in lit or (fits and position in drawn):
            opened.add(position)
            drawn.update(below)
            ends += len(below) - 1
    return opened
