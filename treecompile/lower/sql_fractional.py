"""How SQL divides unknown values among the branches of a split.

The CASE of `sql` is the fast path. A row with an unknown value goes into its first arm,
which adds up the shares of the splits, the lowest first. The value of a split is

    (0.0 + value * amount + value * amount ...) / total

whose amounts and total are the weights of the branches if the value is unknown. If it
is known they are 1.0 for the branch that it takes, 0.0 for the others, and 1.0 in all,
so that the sum is the value of that branch, exactly, and each value is needed only
once. Where a subquery can see the row that it is for, the sums are columns of its
stages; elsewhere they lie within one another.
"""

from __future__ import annotations

from treecompile.divide import unknown
from treecompile.errors import TargetError
from treecompile.ir import Tree
from treecompile.lower.sql_fractional_inline import inline
from treecompile.lower.sql_fractional_parts import INSTEAD, Asked, Spelling, bounds
from treecompile.lower.sql_fractional_stages import staged
from treecompile.semantics import required_features
from treecompile.targets import Dialect

LARGEST, LEAST = 1.7e308, 1e-307  # beyond, a sum may not be a number as the law has it


def divided_arm(tree: Tree, spelling: Spelling, asked: Asked) -> list[str]:
    """The arm of a CASE that answers the rows with an unknown value."""
    check(tree, spelling.dialect)
    required = required_features(tree)
    tests = [spelling.test(unknown(p, tree.features[p])) for p in required]
    when = f"  WHEN {' OR '.join(tests)} THEN"
    if spelling.dialect.sums.stages:
        lines = staged(tree, spelling, asked)
        return [f"{when} (", *(f"    {line}" for line in lines), "  )"]
    lines = inline(tree, spelling, asked)
    return [when, *(f"    {line}" for line in lines)]


def check(tree: Tree, dialect: Dialect) -> None:
    """Refuse what the dialect cannot add up exactly."""
    sums = dialect.sums
    if not sums.depth:
        raise TargetError(
            f"treecompile does not divide missing values in {dialect.name}: {INSTEAD}"
        )
    joined = max(len(required_features(tree)), len(tree.labels) - 1)
    if joined > dialect.limits.tests:
        raise TargetError(
            f"dividing the missing values of this tree joins {joined} conditions, and"
            f" {dialect.name} takes {dialect.limits.tests}: {INSTEAD}"
        )
    low, high = bounds(tree)
    if high > LARGEST:
        raise TargetError(f"a sum of this tree may be beyond all doubles: {INSTEAD}")
    if low < LEAST and sums.traps_underflow:
        raise TargetError(
            f"a sum of this tree may be smaller than {dialect.name} takes: {INSTEAD}"
        )
