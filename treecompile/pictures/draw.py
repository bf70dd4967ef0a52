"""A tree as a picture: a box for each node, with the test that leads to it above.

Leaves have the colour of their answer, the paler the less pure they are, and a bar with
the share of each label. Everything is placed here; the template only writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

from treecompile.model import words
from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, RuleSet, Tree
from treecompile.pictures import text
from treecompile.pictures.boxes import HIGH, LABEL, PADDING, Band, Box, boxes_of
from treecompile.pictures.colours import Palette
from treecompile.pictures.layout import place
from treecompile.pictures.options import DOWN, MOST, RIGHT, DrawOptions
from treecompile.rules.trail import trail

MARGIN = 16
PAGE = 960  # the width of a notebook
SHRINKABLE = 1_300  # a picture up to this width is still legible on a page
LINE = text.LINE_HEIGHT
NARROWEST = 440  # of the texts above the tree
ROUNDED = "thresholds are rounded: point at one to see it in full"


class TextLine(NamedTuple):
    """A line of text above the tree."""

    y: int
    text: str


class Swatch(NamedTuple):
    """A colour above the tree, and what it stands for."""

    x: int
    y: int
    colour: str
    name: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What the template of the target `svg` writes."""

    title: str  # Decision tree for play
    width: int
    height: int
    lines: list[TextLine]  # the target, the rule of a row, what is to be known
    swatches: list[Swatch]
    boxes: list[Box]
    edges: list[Box]  # to each box but the first
    anchor: str  # of the tests at the edges: start, middle


def picture(
    program: Program, options: DrawOptions = DrawOptions(), readable: int = MOST
) -> Picture:
    """Place everything, of at most `readable` leaves by default."""
    tree = program.body
    if isinstance(tree, RuleSet):
        raise OptionError(
            "draw needs a tree, and the model is a list of rules: draw the tree that"
            " they were made from, or read them in RULES.md"
        )
    followed = None if options.row is None else trail(program, options.row)
    lit = followed.passed if followed else frozenset[int]()
    boxes, layout, (wide, high) = _laid_out(program, tree, options, readable, lit)
    palette = Palette(tree, boxes[0].rows)
    room = min(max(wide, NARROWEST), PAGE - 2 * MARGIN)
    texts = [text.cut(words.name(program.target), 60)]
    if followed:
        texts += text.wrapped(followed.sentence, room)
    places = [MARGIN + 12 + LINE * n for n in range(len(texts))]
    swatches, top = _swatches(palette, room, places[-1] + LINE)
    notes = text.wrapped("; ".join(_notes(boxes, palette)), room)
    places += [top + LINE * n for n in range(1, len(notes) + 1)]
    left = MARGIN + (max(0, (room - wide) // 2) if layout == DOWN else 0)
    below = places[-1] + 18 - LABEL
    for box in boxes:
        box.x += left
        box.y += below
        _paint(box, palette)
        _join(box, layout)
    return Picture(
        f"Decision tree for {words.name(program.target)}",
        max(wide, room) + 2 * MARGIN,
        below + high + MARGIN,
        list(map(TextLine, places, [*texts, *notes])),
        swatches,
        boxes,
        sorted(boxes[1:], key=lambda box: box.lit),  # nothing crosses the lit ones
        "middle" if layout == DOWN else "start",
    )


def _laid_out(
    program: Program,
    tree: Tree,
    options: DrawOptions,
    readable: int,
    lit: frozenset[int],
) -> tuple[list[Box], str, tuple[int, int]]:
    """The boxes, the way they grow, and their size; as many levels as can be read."""
    most, is_free = options.max_leaves or readable, options.max_leaves is None
    deepest = inf if options.max_depth is None else options.max_depth
    while True:
        boxes = boxes_of(program, tree, (most, deepest), lit)
        layout = options.layout or DOWN
        size = place(boxes, layout)
        if not options.layout and size[0] > PAGE - 2 * MARGIN:
            layout = RIGHT
            size = place(boxes, layout)
        drawn = max(box.depth for box in boxes if not (box.parent and box.parent.lit))
        can_shrink = is_free and options.max_depth is None and drawn > 1
        if size[0] <= SHRINKABLE or not can_shrink:
            return boxes, layout, size
        deepest = drawn - 1


def _notes(boxes: list[Box], palette: Palette) -> list[str]:
    """What stands above the tree, in small letters."""
    notes = ["a rule has the number of its cases and their standard deviation"]
    if palette.labels:
        notes = ["the more of a rule's cases have its answer, the stronger its colour"]
    hidden = sum(box.hidden for box in boxes)
    if hidden:
        notes.append(f"{hidden:,} leaves are summarised, in dashed boxes")
    return notes + [ROUNDED] * any(box.is_rounded for box in boxes)


def _swatches(palette: Palette, wide: int, y: int) -> tuple[list[Swatch], int]:
    """The colours in as many lines as they take, and where the last one stands."""
    found, x = [], MARGIN
    for colour, name in palette.legend():
        shown = text.cut(name, 34)
        room = text.width(shown) + 30
        if x > MARGIN and x + room > MARGIN + wide:
            x, y = MARGIN, y + LINE
        found.append(Swatch(x, y, colour, shown))
        x += room
    return found, y


def _join(box: Box, layout: str) -> None:
    """Draw the edge to a box from its parent, which already stands in its place."""
    parent = box.parent
    if parent is None:
        return
    if layout == DOWN:
        middle, end = box.x + box.width // 2, box.y - LABEL
        x, y = parent.x + parent.width // 2, parent.y + HIGH
        bend = (y + end) // 2
        box.edge = f"M{x} {y} C{x} {bend} {middle} {bend} {middle} {end}"
        box.test_x = middle
        return
    x, y, end = parent.x + parent.width, parent.y + HIGH // 2, box.y + HIGH // 2
    bend = box.x - 17
    box.edge = f"M{x} {y} H{bend - 14} C{bend} {y} {bend} {end} {box.x} {end}"
    box.test_x = box.x


def _paint(box: Box, palette: Palette) -> None:
    if box.answer is not None:
        box.fill = palette.fill(box.answer, box.rows)
    shares, inner = palette.bands(box.rows), box.width - 2 * PADDING
    ends = accumulate((share for _, share in shares), initial=0.0)
    places = pairwise(PADDING + round(end * inner) for end in ends)
    pairs = zip(shares, places, strict=True)
    box.bands = [Band(x, end - x, colour) for (colour, _), (x, end) in pairs]
