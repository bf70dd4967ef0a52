"""A tree as SVG: a box for each node, and the test on the line that leads to it.

The root is on the left. Each leaf has a row of its own, and a split stands halfway
between its first and last child, so nothing overlaps. Each depth is a column as wide as
its widest text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treecompile.model import words
from treecompile.model.evidence import Evidence, of_nodes
from treecompile.model.ir import Condition, Leaf, Node, Program, Split, Tree
from treecompile.model.paths import rule_ids, upwards
from treecompile.model.semantics import conditions, is_fractional
from treecompile.model.words import Rounding
from treecompile.pictures import svg
from treecompile.pictures.svg import FAINT, INK, LINE, LINE_HEIGHT, MARGIN, Palette

PADDING, GAP = 8.0, 26.0
ROW = 46.0  # from one leaf to the next
HIGH = 36.0  # the height of a box
BAR = 4.0  # the height of the bar of label shares, at the foot of a box
LONGEST_TEST = 48  # characters
ROUNDED = "thresholds rounded: point at one to see it in full"
DIVIDED = "missing and unseen values are divided among the branches"
MANY_LABELS = 8  # with more there is no legend: the boxes name the answers
NOTEBOOK_LEAVES = 60  # the most leaves that a notebook shows


@dataclass(slots=True, eq=False)
class Box:
    """A node that is drawn: its texts, and where it stands."""

    node: Node
    rows: Evidence
    parent: Box | None
    depth: int
    hidden: int  # leaves below that are not drawn
    test: str = ""  # on the line that leads to it: "= sunny"
    exact: str = ""  # the same, neither rounded nor shortened
    head: str = ""  # the feature of a split: "outlook"; or the answer of a leaf
    foot: str = ""  # "R3, 4 of 5 cases"
    whole: str = ""  # head and foot, neither rounded nor shortened
    children: list[Box] = field(default_factory=list)
    row: float = 0.0  # 0, 1, 2, ... for leaves, between them for splits
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        longer = max(svg.width(self.head) * 1.1, svg.width(self.foot))  # bold
        return longer + 2 * PADDING


def draw_tree(program: Program, tree: Tree, max_depth: int | None) -> str:
    boxes = laid_out(program, tree, max_depth)
    answers = [node.value for node in tree.nodes if isinstance(node, Leaf)]
    palette = Palette(tree.labels, answers)
    heading = _heading(program, tree, boxes)
    parts, legend_wide, legend_high = _legend(heading, tree, palette)
    lefts, bends = _columns(boxes)
    for box in boxes:
        box.x, box.y = lefts[box.depth], MARGIN + legend_high + box.row * ROW
    for box in boxes:
        if box.parent is not None:
            parts += _edge(box, box.parent, bends[box.depth])
    for box in boxes:
        parts += _box(box, palette)
    right = max(box.x + box.width for box in boxes)
    wide = max(right + MARGIN, MARGIN * 2 + svg.width(heading) * 1.1, legend_wide)
    high = max(box.y for box in boxes) + HIGH + MARGIN
    name = f"Decision tree for {words.name(program.target)}"
    return svg.document(wide, high, name, parts)


# ---------------------------------------------------------------- layout


def laid_out(program: Program, tree: Tree, max_depth: int | None) -> list[Box]:
    """The nodes that are drawn, each in its row, parents before their children."""
    ids, leaves = rule_ids(tree), _leaves_below(tree)
    rows = of_nodes(program, tree)
    rounding = Rounding(conditions(tree))
    target = words.name(program.target)
    boxes: list[Box] = []
    stack: list[tuple[int, Box | None, Condition | None]] = [(0, None, None)]
    while stack:
        position, parent, when = stack.pop()
        node = tree.nodes[position]
        depth = 0 if parent is None else parent.depth + 1
        is_cut = isinstance(node, Split) and depth == max_depth
        box = Box(
            node, rows[position], parent, depth, leaves[position] if is_cut else 0
        )
        boxes.append(box)
        if parent is not None and when is not None:
            parent.children.append(box)
            feature, figure = tree.features[when.feature], rounding.figure(when.feature)
            box.test = svg.cut(words.branch_test(when, feature, figure), LONGEST_TEST)
            box.exact = words.branch_test(when, feature)
        if isinstance(node, Leaf):
            said = words.evidence(rows[position], tree.labels)
            box.head = svg.cut(words.answer(node.value, tree.labels))
            box.foot = f"{ids[position]}, {said}"
            box.whole = (
                f"{ids[position]}: {target} = {words.value(node.value)} ({said})"
            )
            continue
        head = words.name(tree.features[node.branches[0].when.feature].name)
        box.head, box.foot = svg.cut(head), words.quantity(rows[position].rows)
        box.whole = f"{head}, {box.foot}"
        if box.hidden:
            box.foot = f"{box.hidden} more leaves"
            box.whole += f": {box.foot} below"
        else:
            stack += [(b.then, box, b.when) for b in reversed(node.branches)]
    for row, end in enumerate(box for box in boxes if not box.children):
        end.row = float(row)
    for box in reversed(boxes):
        if box.children:
            box.row = (box.children[0].row + box.children[-1].row) / 2
    return boxes


def _leaves_below(tree: Tree) -> list[int]:
    counts = [1] * len(tree.nodes)
    for position, node in upwards(tree):
        if isinstance(node, Split):
            counts[position] = sum(counts[branch.then] for branch in node.branches)
    return counts


def readable_depth(tree: Tree, leaves: int = NOTEBOOK_LEAVES) -> int | None:
    """How deep a tree can be drawn with that many leaves; None for all of it."""
    level, depth, leaves_above = [0], 0, 0
    while level:
        if leaves_above + len(level) > leaves:
            return max(depth - 1, 0)
        nodes = [tree.nodes[position] for position in level]
        leaves_above += sum(isinstance(node, Leaf) for node in nodes)
        splits = [node for node in nodes if isinstance(node, Split)]
        level = [branch.then for split in splits for branch in split.branches]
        depth += 1
    return None


def _columns(boxes: list[Box]) -> tuple[list[float], list[float]]:
    """For each depth, where the boxes begin and where the tests before them begin."""
    depths = max(box.depth for box in boxes) + 1
    wide, tests = [0.0] * depths, [0.0] * depths
    for box in boxes:
        wide[box.depth] = max(wide[box.depth], box.width)
        tests[box.depth] = max(tests[box.depth], svg.width(box.test))
    lefts, bends = [MARGIN], [MARGIN]
    for depth in range(1, depths):
        bends.append(lefts[-1] + wide[depth - 1] + 1.5 * GAP)
        lefts.append(bends[-1] + tests[depth] + GAP)
    return lefts, bends


# ---------------------------------------------------------------- drawing


def _edge(box: Box, parent: Box, bend: float) -> list[str]:
    from_x, from_y, to_y = (
        parent.x + parent.width,
        parent.y + HIGH / 2,
        box.y + HIGH / 2,
    )
    n, near = svg.number, bend - 1.2 * GAP
    curve = (
        f"M{n(from_x)} {n(from_y)} H{n(near)} C{n(bend)} {n(from_y)}"
        f" {n(near)} {n(to_y)} {n(bend)} {n(to_y)} H{n(box.x)}"
    )
    return [
        "<g>",
        svg.title(box.exact),
        svg.shape("path", d=curve, fill="none", stroke=LINE),
        svg.line(bend + 4, to_y - 4, box.test, fill=FAINT),
        "</g>",
    ]


def _box(box: Box, palette: Palette) -> list[str]:
    node, x, y, wide = box.node, box.x, box.y, box.width
    fill, ink = "#f6f8fa", INK
    if isinstance(node, Leaf):
        fill = palette.of(node.value)
        ink = svg.on(fill)
    frame = {"fill": fill, "stroke": LINE}
    if box.hidden:
        frame["stroke_dasharray"] = "4 3"
    parts = [
        "<g>",
        svg.title(box.whole),
        svg.shape("rect", x=x, y=y, width=wide, height=HIGH, rx=5, **frame),
        svg.line(x + PADDING, y + 14, box.head, fill=ink, bold=True),
        svg.line(x + PADDING, y + 27, box.foot, fill=ink),
    ]
    x, y = x + PADDING, y + HIGH - BAR - 1
    for colour, share in palette.bands(box.rows) if isinstance(node, Split) else ():
        part = share * (wide - 2 * PADDING)
        parts.append(svg.shape("rect", x=x, y=y, width=part, height=BAR, fill=colour))
        x += part
    return [*parts, "</g>"]


# ---------------------------------------------------------------- heading


def _heading(program: Program, tree: Tree, boxes: list[Box]) -> str:
    is_rounded = any(box.test != svg.cut(box.exact, LONGEST_TEST) for box in boxes)
    notes = [ROUNDED] * is_rounded + [DIVIDED] * is_fractional(tree)
    heading = svg.cut(words.name(program.target), 80)
    return f"{heading} ({'; '.join(notes)})" if notes else heading


def _legend(
    heading: str, tree: Tree, palette: Palette
) -> tuple[list[str], float, float]:
    """The heading with the colours of the labels below; how wide and high they are."""
    parts = [svg.heading(heading)]
    if not 0 < len(tree.labels) <= MANY_LABELS:
        return parts, 2 * MARGIN, LINE_HEIGHT + 10
    x, y = MARGIN, MARGIN + 12 + LINE_HEIGHT + 4
    for label in tree.labels:
        square = {"width": 11, "height": 11, "rx": 2}
        fill = palette.of(label)
        parts.append(svg.shape("rect", x=x, y=y - 10, **square, fill=fill, stroke=LINE))
        shown = svg.cut(words.value(label))
        parts.append(svg.line(x + 16, y, shown, fill=INK))
        x += 16 + svg.width(shown) + 14
    return parts, x + MARGIN, 2 * LINE_HEIGHT + 12
