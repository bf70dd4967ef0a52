"""Where the boxes of a tree stand: side by side without overlaps, parents centred.

A tree grows down or to the right. `across` is the other direction, in which the boxes
of one depth lie beside each other. Branches of different depth move together as far as
their outlines allow, as in the drawings of Reingold and Tilford.
"""

from __future__ import annotations

from itertools import accumulate
from math import ceil

from treecompile.pictures.boxes import HIGH, LABEL, Box
from treecompile.pictures.options import DOWN, RIGHT

BESIDE = {DOWN: 14, RIGHT: 8}  # the gap between neighbours
BETWEEN = {DOWN: 30, RIGHT: 34}  # from one depth to the next, for the edges

Outline = tuple[list[float], list[float]]  # the least and greatest place at each depth


def place(boxes: list[Box], layout: str) -> tuple[int, int]:
    """Give every box its x and y, from 0; the width and height of them all."""
    _place_across(boxes, layout)
    sizes: dict[int, int] = {}  # of the boxes of each depth
    for box in boxes:
        size = HIGH + LABEL if layout == DOWN else max(box.width, box.test_width)
        sizes[box.depth] = max(sizes.get(box.depth, 0), size)
    ends = list(accumulate(sizes[depth] + BETWEEN[layout] for depth in sorted(sizes)))
    length = ends[-1] - BETWEEN[layout]
    wide = ceil(max(box.across + _extent(box, layout) / 2 for box in boxes))
    for box in boxes:
        start = ends[box.depth - 1] if box.depth else 0
        if layout == DOWN:
            box.x, box.y = round(box.across - box.width / 2), start + LABEL
        else:
            box.x, box.y = start, round(box.across - HIGH / 2 + LABEL / 2)
    return (wide, length) if layout == DOWN else (length, wide)


def _extent(box: Box, layout: str) -> int:
    """How much room a box takes across, with the test above it."""
    return max(box.width, box.test_width) if layout == DOWN else HIGH + LABEL


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
