"""What stands above a picture: the target, notes, the row's rule, the colours."""

from __future__ import annotations

from treecompile.model import words
from treecompile.model.evidence import counted_rows
from treecompile.model.ir import Program
from treecompile.pictures import svg
from treecompile.pictures.colours import FAINT, INK, LINE, OTHER, Palette, shade
from treecompile.pictures.svg import LINE_HEIGHT, MARGIN, PAGE

NARROWEST = 440.0  # of the text
LONGEST = 34  # characters of a label
SWATCH = 11.0
STEPS = 24  # of the scale for numbers


def header(
    program: Program, palette: Palette, said: str, notes: list[str], wide: float
) -> tuple[list[str], float, float]:
    """The texts above a picture of some width, the width they need, and their end."""
    wide = min(max(wide, NARROWEST), PAGE - 2 * MARGIN)
    y = MARGIN + 12
    parts = [svg.line(MARGIN, y, svg.cut(words.name(program.target), 60), bold=True)]
    if said:
        parts += ["<g>", svg.title(said)]
        for text in svg.wrapped(said, wide)[:6]:
            y += LINE_HEIGHT
            parts.append(svg.line(MARGIN, y, text))
        parts.append("</g>")
    y += LINE_HEIGHT + 4
    if palette.labels:
        colours, y = _labels(palette, wide, y)
    else:
        colours = _scale(palette, y)
    parts += colours
    for text in svg.wrapped("; ".join([_figures(program), *notes]), wide):
        y += LINE_HEIGHT
        parts.append(svg.line(MARGIN, y, text, fill=FAINT, small=True))
    return parts, wide, y + 18


def _figures(program: Program) -> str:
    """What the figures in the boxes are."""
    whose, tallies = counted_rows(program)
    rows = f"{whose} rows" if tallies else "training cases"
    if not program.body.labels:
        return (
            f"R1: 12, sd 0.3 means: rule R1 decides 12 {rows}, standard deviation 0.3"
        )
    return (
        f"R1: 4 of 5 means: 4 of the 5 {rows} that rule R1 decides have its answer;"
        " the fewer, the paler"
    )


def _labels(palette: Palette, wide: float, y: float) -> tuple[list[str], float]:
    """A square and a name for each colour, in as many lines as it takes."""
    entries = [(palette.of(one), words.value(one)) for one in palette.own]
    others = len(palette.labels) - len(palette.own)
    if others:
        entries.append((OTHER, f"{others} other labels"))
    parts, x = [], MARGIN
    for colour, name in entries:
        shown = svg.cut(name, LONGEST)
        room = SWATCH + 5 + svg.width(shown) + 14
        if x > MARGIN and x + room > MARGIN + wide:
            x, y = MARGIN, y + LINE_HEIGHT
        square = {"x": x, "y": y - 10, "width": SWATCH, "height": SWATCH, "rx": 2.0}
        parts += svg.titled(
            name,
            svg.shape("rect", **square, fill=colour, stroke=LINE, stroke_width=0.5),
            svg.line(x + SWATCH + 5, y, shown),
        )
        x += room
    return parts, y


def _scale(palette: Palette, y: float) -> list[str]:
    """The colours from the least answer to the greatest."""
    low, high = (words.rounded(end) for end in (palette.low, palette.high))
    x = MARGIN + svg.width(low) + 6
    step = 8.0
    parts = [svg.line(MARGIN, y, low)]
    for place in range(STEPS):
        square = {"x": x + place * step, "y": y - 10, "width": step, "height": SWATCH}
        fill = shade(place / (STEPS - 1))
        parts.append(svg.shape("rect", **square, fill=fill))
    return [*parts, svg.line(x + STEPS * step + 6, y, high, fill=INK)]
