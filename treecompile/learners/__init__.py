"""The learners: Dataset -> Tree."""

from __future__ import annotations

from collections.abc import Callable

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Tree
from treecompile.learners import c45, cart, id3
from treecompile.learners.c45 import C45Options
from treecompile.learners.grow import Limits, Progress

Learner = Callable[[Dataset, Limits, Progress, C45Options], Tree]

C45 = "c45"
LEARNERS: dict[str, Learner] = {
    "id3": lambda data, limits, progress, _: id3.learn(data, limits, progress),
    C45: c45.learn,
    "cart": lambda data, limits, progress, _: cart.learn(data, limits, progress),
}


def default_algorithm(data: Dataset) -> str:
    """C4.5 for labels, CART for numbers."""
    return C45 if data.labels else "cart"


def default_min_leaf(algorithm: str) -> int:
    """C4.5 asks for two cases in two branches, the others for one in each."""
    return 2 if algorithm == C45 else 1


def grow_tree(
    data: Dataset,
    algorithm: str,
    limits: Limits,
    progress: Progress,
    options: C45Options = C45Options(),
) -> Tree:
    """Learn by the algorithm of that name."""
    check_algorithm(algorithm)
    return LEARNERS[algorithm](data, limits, progress, options)


def check_algorithm(name: str) -> None:
    if name not in LEARNERS:
        raise OptionError(f"--algorithm {name!r}: there are {', '.join(LEARNERS)}")
