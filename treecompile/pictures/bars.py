"""The bar at the foot of a box: the shares of the labels, or a number on a scale."""

from __future__ import annotations

from treecompile.model.evidence import Evidence
from treecompile.model.ir import Label
from treecompile.pictures import svg
from treecompile.pictures.colours import Palette

HIGH = 5.0

Place = tuple[float, float, float]  # x, y and width


def bar(
    answer: Label, rows: Evidence, palette: Palette, place: Place, ink: str
) -> list[str]:
    """The shares of the labels; for numbers, mean and standard deviation on a scale."""
    if not palette.labels:
        return _scale(rows, palette, place, ink)
    x, y, wide = place
    parts = []
    for colour, share in palette.bands(answer, rows):
        band = {"x": x, "y": y, "width": share * wide, "height": HIGH}
        parts.append(svg.shape("rect", **band, fill=colour))
        x += share * wide
    return parts


def _scale(rows: Evidence, palette: Palette, place: Place, ink: str) -> list[str]:
    """A line from the least to the greatest answer of the model."""
    (x, y, wide), mean = place, rows.mean
    if mean is None:
        return []
    middle = y + HIGH / 2
    line = f"M{svg.number(x)} {svg.number(middle)} h{svg.number(wide)}"
    parts = [svg.shape("path", d=line, stroke=ink, stroke_width=0.5)]
    if rows.deviation:
        low = x + palette.place(mean - rows.deviation) * wide
        high = x + palette.place(mean + rows.deviation) * wide
        band = {"x": low, "y": middle - 1, "width": high - low, "height": 2.0}
        parts.append(svg.shape("rect", **band, fill=ink))
    at = x + palette.place(mean) * wide
    mark = {"x": at - 1.5, "y": y, "width": 3.0, "height": HIGH}
    return [*parts, svg.shape("rect", **mark, fill=ink)]
