"""The picture of a model: `tree` draws trees, `table` draws rule lists."""

from __future__ import annotations

from treecompile.inspect.draw.table import draw_table
from treecompile.inspect.draw.tree import draw_tree
from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, RuleSet, Split, Tree

NOTEBOOK_LEAVES = 60  # the most leaves that a notebook shows


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
    for position, node in enumerate(tree.nodes):
        for branch in node.branches if isinstance(node, Split) else ():
            depths[branch.then] = depths[position] + 1
    nodes, splits = [0] * (max(depths) + 1), [0] * (max(depths) + 1)
    for depth, node in zip(depths, tree.nodes, strict=True):
        nodes[depth] += 1
        splits[depth] += isinstance(node, Split)
    leaves_above = 0
    for depth in range(len(nodes)):
        if leaves_above + nodes[depth] > leaves:
            return max(depth - 1, 0)
        leaves_above += nodes[depth] - splits[depth]
    return None
