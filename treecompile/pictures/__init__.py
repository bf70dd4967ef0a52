"""Pictures as SVG: `tree` draws trees, `table` draws lists of rules."""

from __future__ import annotations

from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, RuleSet
from treecompile.pictures.table import draw_table
from treecompile.pictures.tree import draw_tree


def draw(program: Program, max_depth: int | None = None) -> str:
    """The text of an SVG file; `max_depth` cuts a tree below that many tests."""
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"--max-depth {max_depth}: expected 0 or more")
    if isinstance(program.body, RuleSet):
        if max_depth is not None:
            raise OptionError("--max-depth is for trees, and this is a list of rules")
        return draw_table(program, program.body)
    return draw_tree(program, program.body, max_depth)
