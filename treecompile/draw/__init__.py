"""A model as a picture: SVG, laid out here, without any library.

`colours` are safe for colour-blind readers, `text` says how wide words are at most,
`layout` places the nodes of a tree, `tree` and `table` draw trees and rule lists.
"""

from __future__ import annotations

from treecompile.draw.table import draw_table
from treecompile.draw.tree import draw_tree
from treecompile.errors import OptionError
from treecompile.ir import Leaf, Program, RuleSet, Tree

NOTEBOOK_LEAVES = 60  # the most that a notebook shows of a tree


def draw(program: Program, max_depth: int | None = None) -> str:
    """The text of an SVG file; `max_depth` cuts a tree below that many tests."""
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"--max-depth {max_depth}: expected 0 or more")
    if isinstance(program.body, RuleSet):
        if max_depth is not None:
            raise OptionError("--max-depth is for trees, and this is a list of rules")
        return draw_table(program, program.body)
    return draw_tree(program, program.body, max_depth)


def readable_depth(tree: Tree, leaves: int = NOTEBOOK_LEAVES) -> int | None:
    """How deep a tree can be drawn with that many leaves; None for all of it."""
    depths = [0] * len(tree.nodes)
    settled: dict[int, int] = {}  # leaves at each depth
    splits: dict[int, int] = {}
    for position, node in enumerate(tree.nodes):
        kind = settled if isinstance(node, Leaf) else splits
        kind[depths[position]] = kind.get(depths[position], 0) + 1
        for branch in getattr(node, "branches", ()):
            depths[branch.then] = depths[position] + 1
    deepest, above = max(depths), 0
    for depth in range(deepest + 1):
        drawn = above + settled.get(depth, 0) + splits.get(depth, 0)
        if drawn > leaves:
            return max(depth - 1, 0)
        above += settled.get(depth, 0)
    return None
