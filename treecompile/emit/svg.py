"""The picture of a tree as SVG: a target, and what `draw` and notebooks show."""

from __future__ import annotations

from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model.ir import Program
from treecompile.pictures.draw import picture
from treecompile.pictures.options import FEW, MOST, DrawOptions


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    return Lowered(picture(source.program))


def draw(
    program: Program, options: DrawOptions = DrawOptions(), readable: int = MOST
) -> str:
    """The text of an SVG file, of at most `readable` leaves by default."""
    return render(read_target("svg"), Lowered(picture(program, options, readable)))


def compact(program: Program, options: DrawOptions = DrawOptions()) -> str:
    """A picture for a document or a notebook: of many leaves, those with most rows."""
    return draw(program, options, FEW)
