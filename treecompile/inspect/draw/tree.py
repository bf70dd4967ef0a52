"""A tree as SVG: a box for each node, and the test on the line that leads to it.

The root is on the left. Each leaf has a row of its own, and a split stands halfway
between its first and last child, so nothing overlaps. Each depth is a column as wide as
its widest text.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.inspect.draw import svg
from treecompile.inspect.draw.svg import FAINT, INK, LINE, LINE_HEIGHT, Palette
from treecompile.model import words
from treecompile.model.ir import Leaf, Node, Program, Split, Tree
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import conditions, is_fractional
from treecompile.model.words import Rounding

MARGIN, PADDING, GAP = 16.0, 8.0, 26.0
ROW = 46.0  # from one leaf to the next
HIGH = 36.0  # the height of a box
BAR = 4.0  # the height of the bar of label shares, at the foot of a box
LONGEST_TEST = 48  # characters
ROUNDED = "thresholds rounded: point at one to see it in full"
DIVIDED = "missing and unseen values are divided among the branches"
MANY_LABELS = 8  # with more there is no legend: the boxes name the answers
NOTEBOOK_LEAVES = 60  # the most leaves that a notebook shows


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a node stands."""

    position: int
    parent: int  # its parent's position; -1 for the root
    depth: int
    row: float  # 0, 1, 2, ... for leaves, between them for splits
    hidden: int  # leaves below that are not drawn


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its texts."""

    spot: Spot
    node: Node
    head: str  # the feature of a split: "outlook"; or the answer of a leaf
    foot: str  # "R3, 4 of 5 cases"
    test: str  # on the line that leads to it: "= sunny"
    exact: str  # the same, neither rounded nor shortened
    whole: str  # head and foot, neither rounded nor shortened

    @property
    def width(self) -> float:
        longer = max(svg.width(self.head) * 1.1, svg.width(self.foot))  # bold
        return longer + 2 * PADDING


def draw_tree(program: Program, tree: Tree, max_depth: int | None) -> str:
    boxes = _boxes(program, tree, max_depth)
    answers = [node.value for node in tree.nodes if isinstance(node, Leaf)]
    palette = Palette(tree.labels, answers)
    heading = _heading(program, tree, boxes)
    parts, legend_wide, legend_high = _legend(heading, tree, palette)
    lefts, bends = _columns(boxes)
    top = MARGIN + legend_high
    places = {
        box.spot.position: (lefts[box.spot.depth], top + box.spot.row * ROW)
        for box in boxes
    }
    by_position = {box.spot.position: box for box in boxes}
    for box in boxes:
        if box.spot.parent >= 0:
            parent = by_position[box.spot.parent]
            parts += _edge(box, parent, places, bends[box.spot.depth])
    for box in boxes:
        parts += _box(box, palette, *places[box.spot.position])
    right = max(lefts[box.spot.depth] + box.width for box in boxes)
    wide = max(right + MARGIN, MARGIN * 2 + svg.width(heading) * 1.1, legend_wide)
    high = top + max(box.spot.row for box in boxes) * ROW + HIGH + MARGIN
    name = f"Decision tree for {words.name(program.target)}"
    return svg.document(wide, high, name, parts)


# ---------------------------------------------------------------- layout


def spots(tree: Tree, max_depth: int | None) -> list[Spot]:
    """The nodes that are drawn, parents before their children."""
    order: list[tuple[int, int, int]] = []  # position, parent, depth
    children: dict[int, list[int]] = {}  # those that are drawn
    stack = [(0, -1, 0)]
    while stack:
        position, parent, depth = stack.pop()
        order.append((position, parent, depth))
        node, drawn = tree.nodes[position], []
        if isinstance(node, Split) and (max_depth is None or depth < max_depth):
            drawn = [branch.then for branch in node.branches]
        children[position] = drawn
        stack += [(child, position, depth + 1) for child in reversed(drawn)]
    ends = [position for position, _, _ in order if not children[position]]
    rows = {position: float(row) for row, position in enumerate(ends)}
    for position, _, _ in reversed(order):
        if own := children[position]:
            rows[position] = (rows[own[0]] + rows[own[-1]]) / 2
    leaves = _leaves_below(tree)
    hidden = {end: leaves[end] for end in ends if isinstance(tree.nodes[end], Split)}
    return [Spot(at, up, deep, rows[at], hidden.get(at, 0)) for at, up, deep in order]


def _leaves_below(tree: Tree) -> list[int]:
    counts = [1] * len(tree.nodes)
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
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
    depths = max(box.spot.depth for box in boxes) + 1
    wide, tests = [0.0] * depths, [0.0] * depths
    for box in boxes:
        depth = box.spot.depth
        wide[depth] = max(wide[depth], box.width)
        tests[depth] = max(tests[depth], svg.width(box.test))
    lefts, bends = [MARGIN], [MARGIN]
    for depth in range(1, depths):
        bends.append(lefts[-1] + wide[depth - 1] + 1.5 * GAP)
        lefts.append(bends[-1] + tests[depth] + GAP)
    return lefts, bends


# ---------------------------------------------------------------- texts


def _boxes(program: Program, tree: Tree, max_depth: int | None) -> list[Box]:
    ids = rule_ids(tree)
    rounding = Rounding(conditions(tree))
    boxes = []
    for spot in spots(tree, max_depth):
        node = tree.nodes[spot.position]
        if isinstance(node, Leaf):
            said = words.evidence(node.stats, node.weight, node.value, tree.labels)
            head = svg.answer_text(node.value, tree.labels)
            foot = f"{ids[spot.position]}, {said}"
            whole = f"{ids[spot.position]}: {words.name(program.target)} ="
            whole = f"{whole} {words.value(node.value)} ({said})"
        else:
            feature = tree.features[node.branches[0].when.feature]
            head = words.name(feature.name)
            cases = node.stats.weight
            foot = f"{words.amount(cases)} {words.plural(cases)}"
            whole = f"{head}, {foot}"
            if spot.hidden:
                foot = f"{spot.hidden} more leaves"
                whole = f"{whole}: {foot} below"
        boxes.append(
            Box(
                spot,
                node,
                svg.cut(head),
                foot,
                svg.cut(_test(tree, spot, rounding), LONGEST_TEST),
                _test(tree, spot, None),
                whole,
            )
        )
    return boxes


def _test(tree: Tree, spot: Spot, rounding: Rounding | None) -> str:
    """The test that leads to a node, without the name of the feature."""
    if spot.parent < 0:
        return ""
    split = tree.nodes[spot.parent]
    assert not isinstance(split, Leaf)
    when = next(b.when for b in split.branches if b.then == spot.position)
    feature = tree.features[when.feature]
    figure = rounding.figure(when.feature) if rounding else words.number
    phrase = words.phrase([when], feature, svg.with_symbols, figure)
    return phrase.removeprefix(f"{words.name(feature.name)} ")


# ---------------------------------------------------------------- drawing


def _edge(
    box: Box, parent: Box, places: dict[int, tuple[float, float]], bend: float
) -> list[str]:
    from_x, from_y = places[parent.spot.position]
    to_x, to_y = places[box.spot.position]
    from_x, from_y, to_y = from_x + parent.width, from_y + HIGH / 2, to_y + HIGH / 2
    n, near = svg.number, bend - 1.2 * GAP
    return [
        "<g>",
        svg.title(box.exact),
        f'<path d="M{n(from_x)} {n(from_y)} H{n(near)} C{n(bend)} {n(from_y)}'
        f' {n(near)} {n(to_y)} {n(bend)} {n(to_y)} H{n(to_x)}"'
        f' fill="none" stroke="{LINE}"/>',
        svg.line(bend + 4, to_y - 4, box.test, fill=FAINT),
        "</g>",
    ]


def _box(box: Box, palette: Palette, x: float, y: float) -> list[str]:
    node, n = box.node, svg.number
    fill, ink = "#f6f8fa", INK
    if isinstance(node, Leaf):
        fill = palette.of(node.value)
        ink = svg.on(fill)
    dashed = ' stroke-dasharray="4 3"' if box.spot.hidden else ""
    parts = [
        "<g>",
        svg.title(box.whole),
        f'<rect x="{n(x)}" y="{n(y)}" width="{n(box.width)}" height="{n(HIGH)}"'
        f' rx="5" fill="{fill}" stroke="{LINE}"{dashed}/>',
        svg.line(x + PADDING, y + 14, box.head, fill=ink, bold=True),
        svg.line(x + PADDING, y + 27, box.foot, fill=ink),
    ]
    start = x + PADDING
    for colour, share in palette.bands(node.stats) if isinstance(node, Split) else ():
        wide = share * (box.width - 2 * PADDING)
        parts.append(
            f'<rect x="{n(start)}" y="{n(y + HIGH - BAR - 1)}" width="{n(wide)}"'
            f' height="{n(BAR)}" fill="{colour}"/>'
        )
        start += wide
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
    parts = [svg.line(MARGIN, MARGIN + 12, heading, fill=INK, bold=True)]
    if not 0 < len(tree.labels) <= MANY_LABELS:
        return parts, 2 * MARGIN, LINE_HEIGHT + 10
    x, y = MARGIN, MARGIN + 12 + LINE_HEIGHT + 4
    for label in tree.labels:
        parts.append(
            f'<rect x="{svg.number(x)}" y="{svg.number(y - 10)}" width="11"'
            f' height="11" rx="2" fill="{palette.of(label)}" stroke="{LINE}"/>'
        )
        shown = svg.cut(words.value(label))
        parts.append(svg.line(x + 16, y, shown, fill=INK))
        x += 16 + svg.width(shown) + 14
    return parts, x + MARGIN, 2 * LINE_HEIGHT + 12
