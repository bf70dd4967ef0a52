"""Partial dependence as SVG: steps over the values of a number, bars for categories.

All pictures of a forest have the same scale, so that heights can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treecompile.measure.dependence import Dependence
from treecompile.model import ir, words
from treecompile.model.arrays import Floats
from treecompile.pictures import svg
from treecompile.pictures.colours import BOX, CLASSES, FAINT, INK, LINE
from treecompile.pictures.svg import LINE_HEIGHT, SMALL

WIDE = 300.0  # of a picture
LEFT, RIGHT, TOP, GAP = 52.0, 56.0, 34.0, 12.0  # around the curves
HIGH = 120.0  # of the curves
ROW = 18.0  # of a category
MOST_OUTPUTS, MOST_CATEGORIES = 5, 20
LONGEST, LONGEST_CATEGORY, LONGEST_LABEL = 34, 14, 12  # characters
ONE = "#0072b2"  # the colour of a single curve

Scale = tuple[float, float]  # the least and the greatest margin


def shown_outputs(forest: ir.Forest, found: Sequence[Dependence]) -> list[int]:
    """The outputs that are drawn: of many, those that vary most.

    Of two labels with an output each, the second one says it all.
    """
    outputs = len(forest.start)
    if outputs <= 2:
        return [outputs - 1]

    def variation(output: int) -> float:
        return max((_spread(each.margins[:, output]) for each in found), default=0.0)

    ranked = sorted(range(outputs), key=variation, reverse=True)
    return sorted(ranked[:MOST_OUTPUTS])


def _spread(margins: Floats) -> float:
    return float(margins.max()) / 2 - float(margins.min()) / 2 if len(margins) else 0.0


def scale_of(found: Sequence[Dependence], outputs: Sequence[int]) -> Scale:
    """The least and the greatest margin of all pictures."""
    every = [
        float(margin)
        for each in found
        for part in (each.margins, each.missing[None], each.mean[None])
        for margin in part[:, outputs].ravel()
    ]
    return (min(every), max(every)) if every else (0.0, 0.0)


def draw_dependence(
    forest: ir.Forest, found: Dependence, outputs: Sequence[int], scale: Scale
) -> str:
    """The text of an SVG file about one feature."""
    feature = forest.features[found.feature]
    name = words.name(feature.name)
    head, top = _head(forest, name, outputs)
    if feature.kind is ir.Kind.NUMERIC:
        body, high = _curves(found, outputs, scale, top), top + HIGH + 24
    else:
        listed = _listed(feature, found, outputs)
        body = _bars(listed, found, outputs, scale, top)
        high = max(top + ROW * len(listed), top + HIGH) + 24
    return svg.document(WIDE, high, f"Partial dependence on {name}", [*head, *body])


def _head(
    forest: ir.Forest, name: str, outputs: Sequence[int]
) -> tuple[list[str], float]:
    """The name, and the colours of the labels; and where the curves begin."""
    parts = svg.titled(name, svg.line(8, 17, svg.cut(name, LONGEST), bold=True))
    if len(outputs) == 1:
        return parts, TOP
    x, y = 8.0, TOP
    for place, output in enumerate(outputs):
        label = words.value(forest.labels[output])
        shown = svg.cut(label, LONGEST_LABEL)
        room = 16 + svg.width(shown, SMALL) + 8
        if x > 8 and x + room > WIDE:
            x, y = 8.0, y + LINE_HEIGHT
        square = {"x": x, "y": y - 9, "width": 10.0, "height": 10.0}
        parts += svg.titled(
            label,
            svg.shape("rect", **square, fill=_colour(place, outputs)),
            svg.line(x + 14, y, shown, small=True),
        )
        x += room
    return parts, y + GAP


def _colour(place: int, outputs: Sequence[int]) -> str:
    return ONE if len(outputs) == 1 else CLASSES[place]


def _place(number: float, scale: Scale) -> float:
    """Where a number lies between two others, from 0 to 1."""
    low, high = scale
    wide = high / 2 - low / 2  # the difference may be too large for a double
    if not wide:
        return 0.5
    return min(max((number / 2 - low / 2) / wide, 0.0), 1.0)


# ---------------------------------------------------------------- numbers


def _curves(
    found: Dependence, outputs: Sequence[int], scale: Scale, top: float
) -> Iterator[str]:
    """Steps from the least value to the greatest, and dots for a missing one."""
    right = WIDE - RIGHT
    frame = {"x": LEFT, "y": top, "width": right - LEFT, "height": HIGH}
    yield svg.shape("rect", **frame, fill=BOX, stroke=LINE, stroke_width=0.5)
    for number in sorted(set(scale)):
        y = _height(number, scale, top)
        yield _ended(LEFT - 4, y + 4, words.rounded(number, 3))
    bottom = top + HIGH + LINE_HEIGHT
    low, high = (words.rounded(end, 4) for end in (found.edges[0], found.edges[-1]))
    yield svg.line(LEFT, bottom, low, small=True, fill=FAINT)
    yield _ended(right, bottom, high)
    yield svg.line(
        right + RIGHT / 2, bottom, "missing", small=True, anchor="middle", fill=FAINT
    )
    for place, output in enumerate(outputs):
        colour = _colour(place, outputs)
        if len(outputs) == 1:
            level = svg.number(_height(float(found.mean[output]), scale, top))
            path = f"M{svg.number(LEFT)} {level} H{svg.number(right)}"
            yield svg.shape("path", d=path, stroke=LINE, stroke_dasharray="3 3")
        path = _steps(found, output, scale, top)
        yield svg.shape("path", d=path, stroke=colour, stroke_width=1.8, fill="none")
        y = _height(float(found.missing[output]), scale, top)
        yield svg.shape("circle", cx=right + RIGHT / 2, cy=y, r=3.5, fill=colour)


def _steps(found: Dependence, output: int, scale: Scale, top: float) -> str:
    """The path of a curve."""
    ends, wide = (found.edges[0], found.edges[-1]), WIDE - RIGHT - LEFT
    path = ""
    for step, margin in enumerate(found.margins[:, output].tolist()):
        start, end = (
            svg.number(LEFT + _place(edge, ends) * wide)
            for edge in found.edges[step : step + 2]
        )
        y = svg.number(_height(margin, scale, top))
        path += f" V{y} H{end}" if path else f"M{start} {y} H{end}"
    return path


def _height(margin: float, scale: Scale, top: float) -> float:
    return top + 6 + (1 - _place(margin, scale)) * (HIGH - 12)


def _ended(x: float, y: float, text: str) -> str:
    """Small text that ends at x, as far as its width is known."""
    return svg.line(x, y, text, fill=FAINT, small=True, anchor="end")


# ---------------------------------------------------------------- categories


@dataclass(frozen=True, slots=True)
class CategoryBar:
    text: str  # red, or missing
    margins: Floats  # of each output


def listed_categories(
    feature: ir.Feature, found: Dependence, outputs: Sequence[int]
) -> list[int]:
    """The places of the categories that are drawn: of many, the extreme ones."""
    count = len(feature.categories)
    if count <= MOST_CATEGORIES:
        return list(range(count))
    ranked = sorted(range(count), key=lambda c: float(found.margins[c, outputs[0]]))
    half = MOST_CATEGORIES // 2
    return [*ranked[:half], *ranked[-half:]]


def _listed(
    feature: ir.Feature, found: Dependence, outputs: Sequence[int]
) -> list[CategoryBar]:
    bars = [
        CategoryBar(words.value(feature.categories[c]), found.margins[c])
        for c in listed_categories(feature, found, outputs)
    ]
    return [*bars, CategoryBar("missing", found.missing)]


def _bars(
    listed: Sequence[CategoryBar],
    found: Dependence,
    outputs: Sequence[int],
    scale: Scale,
    top: float,
) -> Iterator[str]:
    """A bar from the mean to the margin of each category; dots for several labels."""
    left, wide = 112.0, WIDE - 112.0 - GAP
    bottom = top + ROW * len(listed)
    frame = {"x": left, "y": top, "width": wide, "height": bottom - top}
    yield svg.shape("rect", **frame, fill=BOX, stroke=LINE, stroke_width=0.5)

    def across(margin: float) -> float:
        return left + 6 + _place(margin, scale) * (wide - 12)

    mean = across(float(found.mean[outputs[0]]))
    for row, bar in enumerate(listed):
        middle = top + (row + 0.5) * ROW
        is_missing = bar is listed[-1]
        shown = svg.cut(bar.text, LONGEST_CATEGORY)
        ink = FAINT if is_missing else INK
        yield "<g>"
        yield svg.title(bar.text)
        yield svg.line(8, middle + 4, shown, small=True, fill=ink)
        for place, output in enumerate(outputs):
            colour, x = _colour(place, outputs), across(float(bar.margins[output]))
            if len(outputs) == 1:
                start, end = sorted((mean, x))
                box = {"x": start, "y": middle - 5, "width": max(end - start, 1.5)}
                yield svg.shape("rect", **box, height=10.0, fill=colour)
            else:
                yield svg.shape("circle", cx=x, cy=middle, r=3.5, fill=colour)
        yield "</g>"
    if len(outputs) == 1:
        line = f"M{svg.number(mean)} {svg.number(top)} V{svg.number(bottom)}"
        yield svg.shape("path", d=line, stroke=INK, stroke_width=0.8)
    y = bottom + 14
    low, high = (words.rounded(end, 3) for end in scale)
    yield svg.line(left, y, low, small=True, fill=FAINT)
    yield _ended(left + wide, y, high)
