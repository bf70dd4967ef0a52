"""A picture of any model: `tree` draws trees, `table` draws lists of rules."""

from __future__ import annotations

from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, RuleSet
from treecompile.pictures.options import FEW, MOST, DrawOptions
from treecompile.pictures.table import draw_table
from treecompile.pictures.tree import draw_tree


def draw(
    program: Program, options: DrawOptions = DrawOptions(), readable: int = MOST
) -> str:
    """The text of an SVG file, of at most `readable` leaves or rules by default."""
    if isinstance(program.body, RuleSet):
        for flag, value in (
            ("--max-depth", options.max_depth),
            ("--layout", options.layout),
        ):
            if value is not None:
                raise OptionError(f"{flag} is for trees, and this is a list of rules")
        return draw_table(program, program.body, options, readable)
    return draw_tree(program, program.body, options, readable)


def compact(program: Program, options: DrawOptions = DrawOptions()) -> str:
    """A picture for a document or a notebook: of many leaves, those with most rows."""
    return draw(program, options, FEW)
