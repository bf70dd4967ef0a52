"""What the ways to divide unknown values in SQL start from and share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treecompile.errors import TargetError
from treecompile.ir import Category, Condition, Label, Split, Tree
from treecompile.semantics import certain
from treecompile.targets import Dialect

INSTEAD = (
    "compile the tree to Python, its rules (treecompile rules) to SQL, or learn with"
    " --predict-missing branch"
)

Write = Callable[[Category | Label], str]  # as a literal


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the shares of a row."""

    output: str  # "label" or "probability"
    label: int | None  # whose probability; None for the predicted label's


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the conditions and values of the tree are written."""

    dialect: Dialect
    columns: Mapping[int, str]  # the quoted column of each required feature
    typed: Mapping[int, str]  # the same as a value of exactly its type
    test: Callable[[Condition], str]
    double: Callable[[float], str]
    label: Write
    category: Write  # as its column is compared with it


def bounds(tree: Tree) -> tuple[float, float]:
    """Bounds of what is added up: the least that is not zero, and the greatest.

    Differences of numbers with different signs are not looked at.
    """
    least: list[list[float]] = [[]] * len(tree.nodes)  # that is not zero, by label
    may_be_zero: list[list[bool]] = [[]] * len(tree.nodes)
    low, high, weight = 1.0, 0.0, 0.0
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
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
            some = [p for p, b in zip(products, node.branches, strict=True) if b.weight]
            # What is there in any case is a bound of the sum, else what may be there.
            sure = [
                p for p, zero in zip(products, zeros, strict=True) if p and not zero
            ]
            divided = max(sure) if sure else min(filter(None, some), default=0.0)
            low = min(low, *filter(None, some), *filter(None, (divided / whole,)), 1.0)
            known = [*filter(None, values), *filter(None, (divided / whole,))]
            least[position].append(min(known, default=0.0))
            may_be_zero[position].append(any(zeros))
    return low, high * weight


def total(split: Split) -> float:
    """The weights, added up in the order of the law."""
    weight = 0.0
    for branch in split.branches:
        weight += branch.weight
    return weight


def check_terms(terms: int, dialect: Dialect) -> None:
    """Refuse more sums than a database adds up in bearable time."""
    if terms > dialect.sums.terms:
        raise TargetError(
            f"a tree that divides missing values has {terms} sums here (splits x"
            f" labels), and {dialect.name} gets at most {dialect.sums.terms}: {INSTEAD}"
        )


def nested(operators: Sequence[int]) -> int:
    """How many operators lie within one another in a sum, by those of its shares."""
    # A share lies in a product, that in the sums with all those behind it.
    return 1 + max(
        inner + 1 + len(operators) - place for place, inner in enumerate(operators)
    )


def check_operators(operators: int, dialect: Dialect) -> None:
    """Refuse a deeper expression than a database takes."""
    if operators > dialect.sums.operators:
        raise TargetError(
            f"dividing the missing values of this tree nests {operators} operators,"
            f" and {dialect.name} takes {dialect.sums.operators}: {INSTEAD}"
        )


def first_greatest(shares: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    """The result of the greatest share, of the first at a tie."""
    if len(shares) == 1:
        yield results[0]
        return
    yield "CASE"
    for place, share in enumerate(shares[:-1]):
        # That some share before it is as great has been ruled out by then.
        tests = (f"{share} >= {other}" for other in shares[place + 1 :])
        yield f"WHEN {' AND '.join(tests)} THEN {results[place]}"
    yield f"ELSE {results[-1]} END"
