"""The learners: Dataset -> Tree."""

from __future__ import annotations

from collections.abc import Callable

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Kind, Tree
from treecompile.learners import cart, id3
from treecompile.learners.grow import Limits, Progress

Learner = Callable[[Dataset, Limits, Progress, str], Tree]

LEARNERS: dict[str, Learner] = {"id3": id3.learn, "cart": cart.learn}


def default_algorithm(data: Dataset) -> str:
    """ID3 for labels and categories alone, CART otherwise."""
    numeric = any(f.kind is not Kind.CATEGORICAL for f in data.features)
    return "cart" if numeric or not data.labels else "id3"


def grow_tree(
    data: Dataset,
    algorithm: str,
    limits: Limits,
    progress: Progress,
    criterion: str = "",
) -> Tree:
    """Learn by the algorithm of that name; without a criterion, by its own."""
    if algorithm not in LEARNERS:
        raise OptionError(f"--algorithm {algorithm!r}: there are {', '.join(LEARNERS)}")
    return LEARNERS[algorithm](data, limits, progress, criterion)
