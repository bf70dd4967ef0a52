"""How deep sums lie within one another in one expression, and how to write less deep.

A parser goes down one level for a bracket, and one more for what stands behind a plus.
So a share that comes first in the sum around it costs one level instead of two, and

    (c * amount + (0.0 + a * amount + b * amount)) / total

adds the same numbers in the same order as (0.0 + a * ... + b * ... + c * ...): only the
two sides of one addition have changed places, of which the sum is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.errors import TargetError
from treecompile.ir import Split, Tree
from treecompile.lower.sql_fractional_parts import INSTEAD, check_operators, nested
from treecompile.targets import Dialect

SUM = 2  # levels of a sum that stands behind a plus


@dataclass(frozen=True, slots=True)
class Nesting:
    levels: int
    operators: int
    first: Mapping[int, int]  # the branch that comes first in the sum of a split


def nesting(tree: Tree, dialect: Dialect) -> Nesting:
    """As the law has it where the database takes that, else as little as possible."""
    plain = measured(tree, turning=False)
    most = SUM * dialect.sums.depth
    found = plain if plain.levels <= most else measured(tree, turning=True)
    if found.levels > most:
        raise TargetError(
            f"the sums of this tree lie {-(-found.levels // SUM)} deep within one"
            f" another, and {dialect.name} takes {dialect.sums.depth}: {INSTEAD}"
        )
    check_operators(found.operators, dialect)
    return found


def measured(tree: Tree, *, turning: bool) -> Nesting:
    levels, operators = [0] * len(tree.nodes), [0] * len(tree.nodes)
    first: dict[int, int] = {}
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if not isinstance(node, Split):
            continue
        below = [branch.then for branch in node.branches]
        inner = [levels[child] for child in below]
        levels[position] = SUM + max(inner)
        operators[position] = nested([operators[child] for child in below])
        deepest = inner.index(max(inner))
        turned = levels_turned(inner, deepest)
        if turning and turned < levels[position]:
            levels[position], first[position] = turned, deepest
    return Nesting(levels[0], operators[0], first)


def levels_turned(inner: Sequence[int], first: int) -> int:
    """The levels of a sum if that branch comes first."""
    before = (2 * SUM + levels for levels in inner[:first])  # in brackets of their own
    behind = (SUM + levels for levels in inner[first + 1 :])
    return max(1 + inner[first], *before, *behind)
