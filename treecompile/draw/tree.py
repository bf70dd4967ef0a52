"""A tree as SVG: boxes for nodes, tests on the way from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile import words
from treecompile.draw import text
from treecompile.draw.colours import FAINT, INK, LINE, Palette, on
from treecompile.draw.layout import Spot, spots
from treecompile.extract import rule_ids
from treecompile.ir import Leaf, Node, Program, Tree
from treecompile.rounding import Rounding, rounded
from treecompile.semantics import answer, conditions, is_fractional

MARGIN, PADDING, GAP = 16.0, 8.0, 26.0
ROW = 46.0  # from one leaf to the next
HIGH = 36.0  # of a box
BAR = 4.0  # of the shares of the labels, at the foot of a box
LONGEST_TEST = 48
OPERATORS = {"<=": "≤"}
ROUNDED = "thresholds rounded: point at one to see it in full"
DIVIDED = "missing and unseen values are divided among the branches"
MANY_LABELS = 8  # above this, the legend is left out: the boxes name the answers


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its texts."""

    spot: Spot
    node: Node
    head: str  # "outlook", or the answer of a leaf
    foot: str  # "R3, 4 of 5 cases"
    test: str  # on the way to it: "= sunny"
    exact: str  # the same in full
    whole: str  # everything in full

    @property
    def width(self) -> float:
        longer = max(text.width(self.head) * 1.1, text.width(self.foot))  # bold
        return longer + 2 * PADDING


def draw_tree(program: Program, tree: Tree, max_depth: int | None) -> str:
    boxes = _boxes(program, tree, max_depth)
    palette = Palette(
        tree.labels, [node.value for node in tree.nodes if isinstance(node, Leaf)]
    )
    lefts, bends = _columns(boxes)
    top = MARGIN + _legend_height(tree)
    places = {
        box.spot.position: (lefts[box.spot.depth], top + box.spot.row * ROW)
        for box in boxes
    }
    by_position = {box.spot.position: box for box in boxes}
    is_rounded = any(box.test != text.cut(box.exact, LONGEST_TEST) for box in boxes)
    notes = [ROUNDED] if is_rounded else []
    if is_fractional(tree):
        notes.append(DIVIDED)
    heading = _heading(program) + (f" ({'; '.join(notes)})" if notes else "")
    parts = _legend(heading, tree)
    for box in boxes:
        if box.spot.parent >= 0:
            parent = by_position[box.spot.parent]
            parts += _edge(box, parent, places, bends[box.spot.depth])
    for box in boxes:
        parts += _box(box, palette, tree, *places[box.spot.position])
    wide = max(lefts[b.spot.depth] + b.width for b in boxes) + MARGIN
    rows = max(box.spot.row for box in boxes)
    high = top + rows * ROW + HIGH + MARGIN
    name = f"Decision tree for {words.name(program.target)}"
    wide = max(wide, MARGIN * 2 + text.width(heading) * 1.1)
    return text.document(max(wide, _legend_width(tree)), high, name, parts)


# ---------------------------------------------------------------- texts


def _boxes(program: Program, tree: Tree, max_depth: int | None) -> list[Box]:
    ids = rule_ids(tree)
    rounding = Rounding(conditions(tree))
    boxes = []
    for spot in spots(tree, max_depth):
        node = tree.nodes[spot.position]
        if isinstance(node, Leaf):
            said = words.evidence(node.stats, node.weight, node.value, tree.labels)
            head, foot = _value(node, tree), f"{ids[spot.position]}, {said}"
            whole = f"{ids[spot.position]}: {words.name(program.target)} ="
            whole = f"{whole} {words.value(node.value)} ({said})"
        else:
            feature = tree.features[node.branches[0].when.feature]
            head = words.name(feature.name)
            said = (
                f"{words.amount(node.stats.weight)} {words.plural(node.stats.weight)}"
            )
            foot = said
            whole = f"{head}, {said}"
            if spot.hidden:
                foot = f"{spot.hidden} more leaves"
                whole = f"{whole}: {foot} below"
        boxes.append(
            Box(
                spot,
                node,
                text.cut(head),
                foot,
                text.cut(_test(tree, spot, rounding), LONGEST_TEST),
                _test(tree, spot, None),
                whole,
            )
        )
    return boxes


def _value(leaf: Leaf, tree: Tree) -> str:
    if tree.labels:
        return words.value(leaf.value)
    return rounded(float(leaf.value), 6)


def _test(tree: Tree, spot: Spot, rounding: Rounding | None) -> str:
    """The test that leads to a node, without the name of the feature."""
    if spot.parent < 0:
        return ""
    split = tree.nodes[spot.parent]
    assert not isinstance(split, Leaf)
    when = next(b.when for b in split.branches if b.then == spot.position)
    feature = tree.features[when.feature]
    figure = rounding.figure(when.feature) if rounding else words.number
    phrase = words.phrase([when], feature, lambda t: OPERATORS.get(t, t), figure)
    return phrase.removeprefix(f"{words.name(feature.name)} ")


def _columns(boxes: list[Box]) -> tuple[list[float], list[float]]:
    """Of each depth, where boxes begin and, before them, where tests begin."""
    depths = max(box.spot.depth for box in boxes) + 1
    wide, tests = [0.0] * depths, [0.0] * depths
    for box in boxes:
        depth = box.spot.depth
        wide[depth] = max(wide[depth], box.width)
        tests[depth] = max(tests[depth], text.width(box.test))
    lefts, bends = [MARGIN], [MARGIN]
    for depth in range(1, depths):
        bends.append(lefts[-1] + wide[depth - 1] + 1.5 * GAP)
        lefts.append(bends[-1] + tests[depth] + GAP)
    return lefts, bends


# ---------------------------------------------------------------- drawing


def _edge(
    box: Box, parent: Box, places: dict[int, tuple[float, float]], bend: float
) -> list[str]:
    from_x, from_y = places[parent.spot.position]
    to_x, to_y = places[box.spot.position]
    from_x, from_y, to_y = from_x + parent.width, from_y + HIGH / 2, to_y + HIGH / 2
    n, near = text.number, bend - 1.2 * GAP
    return [
        "<g>",
        text.title(box.exact),
        f'<path d="M{n(from_x)} {n(from_y)} H{n(near)} C{n(bend)} {n(from_y)}'
        f' {n(near)} {n(to_y)} {n(bend)} {n(to_y)} H{n(to_x)}"'
        f' fill="none" stroke="{LINE}"/>',
        text.line(bend + 4, to_y - 4, box.test, fill=FAINT),
        "</g>",
    ]


def _box(box: Box, palette: Palette, tree: Tree, x: float, y: float) -> list[str]:
    node, n = box.node, text.number
    is_leaf = isinstance(node, Leaf)
    said = node.value if isinstance(node, Leaf) else answer(node.stats, tree.labels)
    fill = palette.of(said) if is_leaf else "#f6f8fa"
    ink = on(fill) if is_leaf else INK
    dashed = ' stroke-dasharray="4 3"' if box.spot.hidden else ""
    frame = (
        f'<rect x="{n(x)}" y="{n(y)}" width="{n(box.width)}" height="{n(HIGH)}"'
        f' rx="5" fill="{fill}" stroke="{LINE}"{dashed}/>'
    )
    parts = ["<g>", text.title(box.whole), frame]
    parts.append(text.line(x + PADDING, y + 14, box.head, fill=ink, bold=True))
    parts.append(text.line(x + PADDING, y + 27, box.foot, fill=ink))
    start = x + PADDING
    for colour, share in palette.bands(node.stats):
        wide = share * (box.width - 2 * PADDING)
        if not is_leaf:
            parts.append(
                f'<rect x="{n(start)}" y="{n(y + HIGH - BAR - 1)}" width="{n(wide)}"'
                f' height="{n(BAR)}" fill="{colour}"/>'
            )
        start += wide
    return [*parts, "</g>"]


# ---------------------------------------------------------------- legend


def _heading(program: Program) -> str:
    return text.cut(words.name(program.target), 80)


def _has_legend(tree: Tree) -> bool:
    return 0 < len(tree.labels) <= MANY_LABELS


def _legend_height(tree: Tree) -> float:
    return 2 * text.LINE + 12 if _has_legend(tree) else text.LINE + 10


def _entries(tree: Tree) -> list[tuple[float, str]]:
    """The left edge of each entry, and its text."""
    entries, x = [], MARGIN
    for label in tree.labels if _has_legend(tree) else ():
        shown = text.cut(words.value(label))
        entries.append((x, shown))
        x += 16 + text.width(shown) + 14
    return [*entries, (x, "")]


def _legend_width(tree: Tree) -> float:
    return _entries(tree)[-1][0] + MARGIN


def _legend(heading: str, tree: Tree) -> list[str]:
    parts = [text.line(MARGIN, MARGIN + 12, heading, fill=INK, bold=True)]
    palette = Palette(tree.labels, ())
    y = MARGIN + 12 + text.LINE + 4
    for (x, shown), label in zip(_entries(tree), tree.labels, strict=False):
        if shown:
            parts.append(
                f'<rect x="{text.number(x)}" y="{text.number(y - 10)}" width="11"'
                f' height="11" rx="2" fill="{palette.of(label)}" stroke="{LINE}"/>'
            )
            parts.append(text.line(x + 16, y, shown, fill=INK))
    return parts
