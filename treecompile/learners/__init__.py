"""The learners: Dataset -> Tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Tree
from treecompile.learners import c45, cart, id3
from treecompile.learners.c45 import C45Options
from treecompile.learners.limits import Limits, Progress

ID3, C45, CART = "id3", "c45", "cart"
NONE, PESSIMISTIC, COST_COMPLEXITY = "none", "pessimistic", "cost-complexity"
REDUCED_ERROR = "reduced-error"


@dataclass(frozen=True, slots=True)
class Offer:
    """What an algorithm can do; the first of each is what it does by default."""

    learn: Callable[[Dataset, Limits, Progress, str, C45Options], Tree]
    check: Callable[[Dataset, str], None]  # refuses a target, or one for the criterion
    criteria: tuple[str, ...]
    prunings: tuple[str, ...]
    missing: tuple[str, ...]  # what a case with a missing value does in training
    min_leaf: int


ALGORITHMS = {
    ID3: Offer(
        lambda data, limits, progress, name, _: id3.learn(data, limits, progress, name),
        id3.check,
        ("entropy", "gain-ratio", "gini", "distance", "chi-square"),
        (NONE, COST_COMPLEXITY, REDUCED_ERROR),
        ("majority",),
        min_leaf=1,
    ),
    C45: Offer(
        lambda data, limits, progress, _, own: c45.learn(data, limits, progress, own),
        c45.check,
        ("gain-ratio", "gain"),
        (PESSIMISTIC, NONE, COST_COMPLEXITY, REDUCED_ERROR),
        ("fractional", "majority"),
        min_leaf=2,  # in two of the branches
    ),
    CART: Offer(
        lambda data, limits, progress, name, _: cart.learn(
            data, limits, progress, name
        ),
        cart.check,
        ("gini", "entropy", "gain-ratio", "distance", "chi-square"),
        (NONE, COST_COMPLEXITY, REDUCED_ERROR),
        ("majority",),
        min_leaf=1,
    ),
}


def offer_of(algorithm: str) -> Offer:
    """The algorithm of that name."""
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise OptionError(f"--algorithm {algorithm!r}: there are {known}")
    return ALGORITHMS[algorithm]


def default_algorithm(data: Dataset) -> str:
    """C4.5 for labels, CART for numbers."""
    return C45 if data.labels else CART
