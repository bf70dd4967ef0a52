"""The node that a row of the source is at, by the tree so far, as a SQL expression.

It is the CASE that the SQL target writes for a tree, with the numbers of open nodes in
the place of answers: so it stays within what the database nests.
"""

from __future__ import annotations

import numpy as np

from treecompile.in_database.schema import Schema
from treecompile.ir import Leaf
from treecompile.learners.drafts import Drafts, finish
from treecompile.learners.responses import Response
from treecompile.learners.stretches import Positions
from treecompile.lower.sql import Conditions, case_lines
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
    tree = finish(schema.features, schema.labels, drafts, response)
    place = np.full(drafts.count, closed)
    place[opened] = np.arange(len(opened))
    numbers = place[drafts.reading().numbers].tolist()
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
