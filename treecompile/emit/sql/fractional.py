"""Divides unknown values among the branches of a split in SQL: what two ways share.

The ordinary CASE is the fast path. A row with an unknown value (missing, or a category
never seen) goes into its first arm, which adds up the shares of the splits from the
leaves upwards. The value of a split is

    (0.0 + value * amount + value * amount ...) / total

If the tested value is unknown, the amounts are the weights of the branches and the
total is their sum. If it is known, the amount is 1.0 for the branch taken and 0.0 for
the others, and the total is 1.0: the sum is exactly the value of that branch. So each
value is written only once. `fractional_stages` makes the sums columns of a subquery,
where a subquery can refer to the current row; `fractional_inline` nests them in one
expression.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.emit.sql.dialect import Dialect
from treecompile.model.errors import TargetError
from treecompile.model.ir import Split, Tree
from treecompile.model.paths import upwards
from treecompile.model.semantics import certain, required_features

DIVIDING = "dividing the missing values of this tree"  # the subject of messages
TOO_MANY_OPERATORS = f"{DIVIDING} nests {{}} operators"
INSTEAD = (
    "compile the tree to Python, its rules (treecompile rules) to SQL, or learn with"
    " --predict-missing branch"
)
# Sums outside this range might overflow or underflow in SQL.
LARGEST, LEAST = 1.7e308, 1e-307


def check_sums(tree: Tree, dialect: Dialect) -> None:
    """Refuse what the database cannot add up exactly."""
    sums = dialect.sums
    if not sums.depth:
        raise TargetError(
            f"treecompile does not divide missing values in {dialect.name}: {INSTEAD}"
        )
    joined = max(len(required_features(tree)), len(tree.labels) - 1)
    check_limit(
        joined, dialect.limits.tests, f"{DIVIDING} joins {{}} conditions", dialect
    )
    low, high = bounds(tree)
    if high > LARGEST:
        raise TargetError(
            f"a sum of this tree may exceed the largest double: {INSTEAD}"
        )
    if low < LEAST and sums.traps_underflow:
        raise TargetError(
            f"a sum of this tree may be too small for {dialect.name}: {INSTEAD}"
        )


def bounds(tree: Tree) -> tuple[float, float]:
    """Return the least nonzero and the greatest magnitude of any sum or product.

    Cancellation between numbers of different signs is not considered.
    """
    least: list[list[float]] = [[]] * len(tree.nodes)  # nonzero, for each label
    may_be_zero: list[list[bool]] = [[]] * len(tree.nodes)
    low, high, weight = 1.0, 0.0, 0.0
    for position, node in upwards(tree):
        if not isinstance(node, Split):
            least[position] = [abs(share) for share in certain(node)]
            may_be_zero[position] = [not share for share in least[position]]
            high = max(high, *least[position])
            continue
        whole = total(node)
        weight = max(weight, whole)
        least[position], may_be_zero[position] = [], []
        for place in range(len(least[node.branches[0].then])):
            values = [least[b.then][place] for b in node.branches]
            zeros = [may_be_zero[b.then][place] for b in node.branches]
            products = [
                b.weight * v for b, v in zip(node.branches, values, strict=True)
            ]
            # Terms that cannot be zero bound the sum; without any, the least term does.
            sure = [
                p for p, zero in zip(products, zeros, strict=True) if p and not zero
            ]
            divided = max(sure) if sure else min(filter(None, products), default=0.0)
            low = min(filter(None, (low, *products, divided / whole)))
            known = filter(None, (*values, divided / whole))
            least[position].append(min(known, default=0.0))
            may_be_zero[position].append(any(zeros))
    return low, high * weight


def total(split: Split) -> float:
    """Add the weights of the branches in branch order, as the semantics does."""
    weight = 0.0
    for branch in split.branches:
        weight += branch.weight
    return weight


def check_limit(count: int, most: int, said: str, dialect: Dialect) -> None:
    """Refuse a tree that needs more than the database allows; `{}` is the number."""
    if count > most:
        needs = said.format(count)
        raise TargetError(f"{needs}, but {dialect.name} allows {most}: {INSTEAD}")


def check_terms(tree: Tree, each: int, dialect: Dialect) -> None:
    """Refuse more sums than are computed in reasonable time; `each` is per split."""
    terms = each * sum(isinstance(node, Split) for node in tree.nodes)
    if terms > dialect.sums.terms:
        raise TargetError(
            f"{DIVIDING} needs {terms} sums (splits x labels), but the limit for"
            f" {dialect.name} is {dialect.sums.terms}: {INSTEAD}"
        )


def nested_operators(operators: Sequence[int]) -> int:
    """Return the operator depth of a sum, from the depth of the share in each term."""
    # A share is inside its product, and inside the additions of all later terms.
    return 1 + max(
        inner + 1 + len(operators) - place for place, inner in enumerate(operators)
    )


def first_greatest(shares: Sequence[str], results: Sequence[str]) -> str:
    """Choose the result of the greatest share; at a tie, of the first of them."""
    if len(shares) == 1:
        return results[0]
    arms = []
    for place, share in enumerate(shares[:-1]):
        # Earlier shares were smaller, or an earlier arm would have answered.
        tests = (f"{share} >= {other}" for other in shares[place + 1 :])
        arms.append(f"WHEN {' AND '.join(tests)} THEN {results[place]}")
    return f"CASE {' '.join(arms)} ELSE {results[-1]} END"
