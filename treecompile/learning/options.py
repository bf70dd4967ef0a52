"""How to learn: every option, declared once.

Nothing heavy is imported here: `treecompile learn --help` is made of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf
from typing import Any, TypeAlias

from treecompile.model.ir import Label
from treecompile.model.options import (
    GROWTH,
    MISSING_VALUES,
    PRUNING,
    WEIGHTS,
    option,
    options_of,
)
from treecompile.tables.options import CLASSIFY, REGRESS

ID3, C45, CART = "id3", "c45", "cart"
ALGORITHMS = (ID3, C45, CART)
NONE, PESSIMISTIC, COST_COMPLEXITY = "none", "pessimistic", "cost-complexity"
REDUCED_ERROR = "reduced-error"
MAJORITY, FRACTIONAL = "majority", "fractional"
CV, ONE_SE = "cv", "1se"  # ways to choose alpha
BALANCED = "balanced"  # a class weight

# BALANCED, or numbers by label: the label itself, or the text that stands for it.
ClassWeight: TypeAlias = tuple[tuple[Label, float], ...] | str

LATER_PRUNINGS = (NONE, COST_COMPLEXITY, REDUCED_ERROR)
USUAL_ALPHA = 0.01
UNRECORDED = ("algorithm", "threads")  # the one is a field of its own
ENOUGH = 50  # rows: with fewer, cross-validation says too little to prune by


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How to learn; `tables.options.DataOptions` says what the columns mean.

    A model file lists the options that were given in the order of these fields.
    """

    algorithm: str = option(
        "",
        "`id3`, `c45` or `cart`.",
        "NAME",
        shown="`c45` for labels, `cart` for a number and in a database",
        group=GROWTH,
        is_common=True,
    )
    max_depth: int | None = option(
        None,
        "Maximum number of tests from the root to a leaf.",
        "N",
        shown="no limit",
        least=0,
        group=GROWTH,
        is_common=True,
    )
    min_split: int = option(
        2,
        "Minimum number of cases in a node that is split.",
        "N",
        least=1,
        group=GROWTH,
    )
    min_leaf: int | None = option(
        None,
        "Minimum number of cases in every branch of a split; for `c45`, in at least two"
        " of its branches.",
        "N",
        shown="2 for `c45`, otherwise 1",
        least=1,
        group=GROWTH,
        is_common=True,
    )
    min_gain: float = option(
        0.0,
        "Minimum decrease of impurity that a split must achieve.",
        "G",
        least=0,
        group=GROWTH,
    )
    max_leaves: int | None = option(
        None,
        "Maximum number of leaves. The best splits are made first.",
        "N",
        shown="no limit",
        least=1,
        algorithms=(CART, ID3),
        group=GROWTH,
    )
    chi2: float | None = option(
        None,
        "For labels: make a split only if its p-value in the chi-square test is at most"
        " P.",
        "P",
        task=CLASSIFY,
        accepts=lambda p: 0 < p < 1,
        expected="a number between 0 and 1",
        group=GROWTH,
    )
    min_sse: float | None = option(
        None,
        "For numbers: minimum sum of squared errors in a node that is split.",
        "S",
        task=REGRESS,
        least=0,
        group=GROWTH,
    )
    criterion: str = option(
        "",
        "How splits are compared.",
        "NAME",
        values={
            ID3: ("entropy", "gain-ratio", "gini", "distance", "chi-square"),
            C45: ("gain-ratio", "gain"),
            CART: ("gini", "entropy", "gain-ratio", "distance", "chi-square"),
        },
        group=GROWTH,
    )
    prune: str = option(
        "",
        "How the tree is pruned.",
        "NAME",
        values={
            ID3: LATER_PRUNINGS,
            C45: (PESSIMISTIC, *LATER_PRUNINGS),
            CART: (COST_COMPLEXITY, NONE, REDUCED_ERROR),
        },
        group=PRUNING,
        is_common=True,
    )
    alpha: float | str | None = option(
        None,
        "For cost-complexity pruning: the share of the root's error that each leaf of a"
        " split must save; `cv` or `1se` choose it by cross-validation.",
        "A",
        shown=f"0.01; for `cart` without --prune, from {ENOUGH} rows, `1se`",
        accepts=lambda a: a in (CV, ONE_SE)
        or (not isinstance(a, str) and 0 <= a < inf),
        expected="0 or more, cv or 1se",
        group=PRUNING,
    )
    cf: float = option(
        0.25,
        "Confidence level of pessimistic pruning, above 0 and up to 1. A lower level"
        " prunes more.",
        "P",
        algorithms=(C45,),
        accepts=lambda level: 0 < level <= 1,
        expected="a number above 0, up to 1",
        group=PRUNING,
    )
    missing: str = option(
        "",
        "Training cases with a missing value go down the heaviest branch (`majority`),"
        " or in parts down all branches (`fractional`).",
        "NAME",
        values={ID3: (MAJORITY,), C45: (FRACTIONAL, MAJORITY), CART: (MAJORITY,)},
        group=MISSING_VALUES,
    )
    subset: bool = option(
        False,
        "Allow branches for groups of categories.",
        algorithms=(C45,),
        group=GROWTH,
    )
    costs: tuple[tuple[str, float], ...] = option(
        (),
        "CSV file with lines `column,cost`: the cost of measuring a column. Cheap"
        " columns are preferred.",
        "FILE",
        algorithms=(C45,),
        group=WEIGHTS,
    )
    one_hot: tuple[str, ...] = option(
        (),
        "Split this column by one category against the rest.",
        "COL",
        repeatable=True,
        in_database=False,
        group=GROWTH,
    )
    class_weight: ClassWeight = option(
        (),
        "Weight of the rows with this label, 1 if not given; or `balanced`, to give all"
        " labels the same total weight.",
        "LABEL=W",
        repeatable=True,
        in_database=False,
        group=WEIGHTS,
    )
    validation_fraction: float = option(
        0.0,
        "Hold out this share of the rows for validation.",
        "F",
        accepts=lambda share: 0 <= share < 1,
        expected="a number from 0 to below 1",
        in_database=False,
        group=PRUNING,
    )
    seed: int = option(
        0,
        "Seed for the choice of held-out rows and folds.",
        "N",
        least=0,
        group=PRUNING,
    )
    threads: int | None = option(
        None,
        "Number of threads. The model does not depend on it.",
        "N",
        shown="one for each core",
        least=1,
        in_database=False,
        group=GROWTH,
    )


DECLARED = options_of(LearnOptions)


def chosen(options: LearnOptions, name: str, algorithm: str) -> str:
    """The value of an option that every algorithm has a default of its own for."""
    values = DECLARED[name].values
    assert values is not None
    given: str = getattr(options, name)
    return given or values[algorithm][0]


def spelled(name: str, value: Any) -> Any:
    """The choice of an option that a text names however it is written: C4.5 is c45."""
    each = DECLARED[name]
    known = [*each.choices, *(v for own in (each.values or {}).values() for v in own)]
    if name == "algorithm":
        known = [*ALGORITHMS]
    if not isinstance(value, str):
        return value
    return {_bare(choice): choice for choice in known}.get(_bare(value), value)


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def is_given(options: LearnOptions, name: str) -> bool:
    return bool(getattr(options, name) != DECLARED[name].default)


# --- for the growth -------------------------------------------------------------------

Progress = Callable[[int], None]  # called with the number of rows that are settled


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """When to stop growing, and by how many threads.

    Rows are counted regardless of their weight.
    """

    max_depth: int | None = None  # tests from the root to a leaf
    min_split: int = 2  # rows that a node needs to be split
    min_leaf: int = 1  # rows that each branch of a split needs
    min_gain: float = 0.0  # decrease of impurity at the node that a split needs
    max_leaves: int | None = None  # ID3, CART: then the best splits are made first
    chi2: float | None = None  # the greatest p-value of a split
    min_sse: float | None = None  # regression: squared error that a node needs
    threads: int | None = None  # one for each core


# --- for the model file ---------------------------------------------------------------


def given_options(
    options: LearnOptions, weights: str, alpha: float | None = None
) -> tuple[tuple[str, str | int | float | bool], ...]:
    """The options that differ from their defaults and say what the model is.

    `weights` is the column of that option, `alpha` the one that was chosen.
    """
    given: dict[str, Any] = {
        entry.name: getattr(options, entry.name)
        for entry in fields(options)
        if entry.name not in UNRECORDED and is_given(options, entry.name)
    }
    for name in ("costs", "class_weight"):
        if isinstance(given.get(name), tuple):
            given[name] = ", ".join(f"{key}: {each!r}" for key, each in given[name])
    if "one_hot" in given:
        given["one_hot"] = ", ".join(options.one_hot)
    if weights:
        given["weights"] = weights
    if alpha is not None:
        given["chosen_alpha"] = alpha
    return tuple(given.items())
