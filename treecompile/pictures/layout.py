"""Where the boxes of a tree stand: side by side without overlaps, parents centred.

A tree grows down or to the right. `across` is the other direction, in which the boxes
of one depth lie beside each other. Branches of different depth move together as far as
their outlines allow, as in the drawings of Reingold and Tilford.
"""

from __future__ import annotations

from treecompile.pictures import svg
from treecompile.pictures.boxes import HIGH, LABEL, Box
from treecompile.pictures.options import DOWN, RIGHT

BESIDE = {DOWN: 14.0, RIGHT: 8.0}  # the gap between neighbours
BETWEEN = {DOWN: 30.0, RIGHT: 34.0}  # from one depth to the next, for the edges

Outline = tuple[list[float], list[float]]  # the least and greatest place at each depth


def place(boxes: list[Box], layout: str) -> tuple[float, float]:
    """Give every box its x and y, from 0; the width and height of them all."""
    _place_across(boxes, layout)
    starts, length = _depths(boxes, layout)
    wide = max(box.across + _extent(box, layout) / 2 for box in boxes)
    for box in boxes:
        start = starts[box.depth]
        if layout == DOWN:
            box.x, box.y = box.across - box.width / 2, start + LABEL
        else:
            box.x, box.y = start, box.across - HIGH / 2 + LABEL / 2
    return (wide, length) if layout == DOWN else (length, wide)


def fitting(boxes: list[Box]) -> str:
    """Down if the picture then fits a page, else to the right."""
    wide, _ = place(boxes, DOWN)
    return DOWN if wide <= svg.PAGE - 2 * svg.MARGIN else RIGHT


def _extent(box: Box, layout: str) -> float:
    """How much room a box takes across, with the test above it."""
    return max(box.width, box.test_width) if layout == DOWN else HIGH + LABEL


def _depths(boxes: list[Box], layout: str) -> tuple[list[float], float]:
    """Where the boxes of each depth start, and where the last ones end."""
    sizes = [0.0] * (max(box.depth for box in boxes) + 1)
    for box in boxes:
        longer = max(box.width, box.test_width) if layout == RIGHT else HIGH + LABEL
        sizes[box.depth] = max(sizes[box.depth], longer)
    starts, end = [], 0.0
    for size in sizes:
        starts.append(end)
        end += size + BETWEEN[layout]
    return starts, end - BETWEEN[layout]


def _place_across(boxes: list[Box], layout: str) -> None:
    """Bottom up, where each box stands from its parent; then top down, from 0."""
    outlines: dict[int, Outline] = {}
    for box in reversed(boxes):
        below = [outlines.pop(id(child)) for child in box.children]
        shifts, outline = _beside(below, BESIDE[layout])
        middle = (shifts[0] + shifts[-1]) / 2 if shifts else 0.0
        for child, shift in zip(box.children, shifts, strict=True):
            child.across = shift - middle
        half = _extent(box, layout) / 2
        lows, highs = ([end - middle for end in ends] for ends in outline)
        outlines[id(box)] = [-half, *lows], [half, *highs]
    lows, _ = outlines[id(boxes[0])]
    boxes[0].across = -min(lows)
    for box in boxes[1:]:
        assert box.parent is not None
        box.across += box.parent.across


def _beside(below: list[Outline], gap: float) -> tuple[list[float], Outline]:
    """How far each branch moves to stand beside those before it; the joint outline."""
    shifts: list[float] = []
    lows: list[float] = []
    highs: list[float] = []
    for own_lows, own_highs in below:
        pairs = zip(highs, own_lows, strict=False)
        shift = max((high + gap - low for high, low in pairs), default=0.0)
        shifts.append(shift)
        lows += [low + shift for low in own_lows[len(lows) :]]
        highs = [high + shift for high in own_highs] + highs[len(own_highs) :]
    return shifts, (lows, highs)
