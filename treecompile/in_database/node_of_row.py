"""The node that a row of the source is at, by the tree so far, as a SQL expression.

It is the CASE that the SQL target writes for a tree, with the numbers of open nodes in
the place of answers: so it stays within what the database nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treecompile.in_database.schema import Schema
from treecompile.ir import Leaf, Node, Tree
from treecompile.learners.drafts import Drafts, finish
from treecompile.learners.responses import Response
from treecompile.learners.stretches import Positions
from treecompile.lower.sql import case_lines
from treecompile.lower.sql_conditions import Conditions
from treecompile.retree import decision_steps
from treecompile.targets import Dialect


def node_of_row(
    drafts: Drafts,
    opened: Positions,
    schema: Schema,
    response: Response,
    dialect: Dialect,
    closed: int,
) -> str:
    """The place among the open nodes (by number, in the drafts), or `closed`."""
    place = np.full(drafts.count, closed)
    place[opened] = np.arange(len(opened))
    numbers = place[drafts.reading().numbers].tolist()
    whole = finish(schema.features, schema.labels, drafts, response)
    tree = _leading(whole, [number != closed for number in numbers])
    decided = {
        position: numbers[position]
        for position, node in enumerate(tree.nodes)
        if isinstance(node, Leaf)
    }
    columns = {p: source.column for p, source in enumerate(schema.sources)}
    steps = decision_steps(tree, dialect.limits.nesting)
    text = Conditions(dialect, tree, columns).text
    return " ".join(
        line.strip() for line in case_lines(steps, decided, text, str, dialect)
    )


def _leading(tree: Tree, is_open: Sequence[bool]) -> Tree:
    """Without the splits below which nothing is open: in large trees, most of them."""
    leads = list(is_open)
    nodes: list[Node] = list(tree.nodes)
    nowhere = next(node for node in tree.nodes if isinstance(node, Leaf))
    for position in range(len(nodes) - 1, -1, -1):  # children stand behind parents
        node = nodes[position]
        if isinstance(node, Leaf):
            continue
        leads[position] = any(leads[branch.then] for branch in node.branches)
        if not leads[position]:
            nodes[position] = nowhere
    return replace(tree, nodes=tuple(nodes))
