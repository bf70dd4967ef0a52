"""A tree as SVG: a box for each node, with the test that leads to it above.

Leaves have the colour of their answer, the paler the less pure they are, and a bar of
the shares of the labels; for numbers, a scale with the mean and standard deviation.
"""

from __future__ import annotations

from math import inf

from treecompile.model import words
from treecompile.model.errors import OptionError
from treecompile.model.ir import Leaf, Program, RuleSet, Tree
from treecompile.pictures import svg
from treecompile.pictures.bars import bar
from treecompile.pictures.boxes import HIGH, LABEL, PADDING, Box, boxes_of
from treecompile.pictures.colours import BOX, FAINT, INK, LINE, Palette, on
from treecompile.pictures.layout import fitting, place
from treecompile.pictures.legend import header
from treecompile.pictures.options import DOWN, FEW, MOST, DrawOptions
from treecompile.pictures.svg import MARGIN
from treecompile.rules.trail import trail

LIT = 3.0  # the width of the lines of a lit path
ROUNDED = "thresholds are rounded: point at one to see it in full"


def draw(
    program: Program, options: DrawOptions = DrawOptions(), readable: int = MOST
) -> str:
    """The text of an SVG file, of at most `readable` leaves by default."""
    tree = program.body
    if isinstance(tree, RuleSet):
        raise OptionError(
            "draw needs a tree, and the model is a list of rules: draw the tree that"
            " they were made from, or read them in RULES.md"
        )
    followed = None if options.row is None else trail(program, options.row)
    lit = followed.passed if followed else frozenset[int]()
    boxes, layout = _laid_out(program, tree, options, readable, lit)
    answers = [node.value for node in tree.nodes if isinstance(node, Leaf)]
    palette = Palette(tree.labels, answers, boxes[0].rows)
    wide, high = place(boxes, layout)
    said = followed.sentence if followed else ""
    notes = _notes(boxes)
    head, least, top = header(program, palette, said, notes, wide)
    left = MARGIN + max(0.0, (least - wide) / 2 if layout == DOWN else 0.0)
    for box in boxes:
        box.x += left
        box.y += top - LABEL
    parts = list(head)
    # The lit edges last: nothing crosses them.
    for box in sorted(boxes[1:], key=lambda box: box.lit):
        parts += _edge(box, layout)
    for box in boxes:
        parts += _box(box, palette)
    name = f"Decision tree for {words.name(program.target)}"
    wide, high = max(wide, least) + 2 * MARGIN, high + top - LABEL + MARGIN
    return svg.document(wide, high, name, parts)


def compact(program: Program, options: DrawOptions = DrawOptions()) -> str:
    """A picture for a document or a notebook: of many leaves, those with most rows."""
    return draw(program, options, FEW)


def _laid_out(
    program: Program,
    tree: Tree,
    options: DrawOptions,
    readable: int,
    lit: frozenset[int],
) -> tuple[list[Box], str]:
    """The boxes and their layout; if nothing else is asked for, as many as fit."""
    most = options.max_leaves or readable
    deepest = inf if options.max_depth is None else options.max_depth
    is_free = options.max_depth is None and options.max_leaves is None
    while True:
        boxes = boxes_of(program, tree, (most, deepest), lit)
        layout = options.layout or fitting(boxes)
        wide, _ = place(boxes, layout)
        drawn = max(box.depth for box in boxes if not (box.parent and box.parent.lit))
        if not is_free or wide <= svg.SHRINKABLE or drawn < 2:
            return boxes, layout
        deepest = drawn - 1


def _notes(boxes: list[Box]) -> list[str]:
    is_rounded = any(box.is_rounded for box in boxes)
    hidden = sum(box.hidden for box in boxes)
    notes = [f"{hidden:,} leaves are summarised, in dashed boxes"] if hidden else []
    return notes + [ROUNDED] * is_rounded


def _edge(box: Box, layout: str) -> list[str]:
    parent, n = box.parent, svg.number
    assert parent is not None
    is_lit = box.lit and parent.lit
    middle = box.x + box.width / 2
    if layout == DOWN:
        x, y = parent.x + parent.width / 2, parent.y + HIGH
        end = box.y - LABEL
        bend = (y + end) / 2
        curve = f"M{n(x)} {n(y)} C{n(x)} {n(bend)} {n(middle)} {n(bend)} {n(middle)}"
        curve += f" {n(end)}"
    else:
        x, y, end = parent.x + parent.width, parent.y + HIGH / 2, box.y + HIGH / 2
        bend = box.x - 17
        curve = f"M{n(x)} {n(y)} H{n(bend - 14)} C{n(bend)} {n(y)} {n(bend)} {n(end)}"
        curve += f" {n(box.x)} {n(end)}"
    stroke, thick = (INK, LIT) if is_lit else (LINE, 1.0)
    at = (middle, box.y - 4) if layout == DOWN else (box.x, box.y - 4)
    text = svg.line(
        *at,
        box.test,
        fill=INK if is_lit else FAINT,
        bold=is_lit,
        small=True,
        anchor="middle" if layout == DOWN else "",
    )
    path = svg.shape("path", d=curve, fill="none", stroke=stroke, stroke_width=thick)
    return svg.titled(box.exact, path, text)


def _box(box: Box, palette: Palette) -> list[str]:
    x, y, wide = box.x, box.y, box.width
    inner = wide - 2 * PADDING
    fill = palette.fill(box.answer, box.rows) if box.is_leaf else BOX
    ink = on(fill)
    frame: dict[str, str | float] = {"fill": fill, "stroke": INK if box.lit else LINE}
    frame["stroke_width"] = LIT if box.lit else 1.0
    if box.hidden:
        frame["stroke_dasharray"] = "4 3"
    return svg.titled(
        box.whole,
        svg.shape("rect", x=x, y=y, width=wide, height=HIGH, rx=5, **frame),
        svg.line(x + PADDING, y + 15, box.head, fill=ink, bold=True),
        svg.line(x + PADDING, y + 29, box.foot, fill=ink, small=True),
        *bar(box.answer, box.rows, palette, (x + PADDING, y + 34, inner), ink),
    )
