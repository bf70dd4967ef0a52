"""Refuses options of learning that do not go together, or that do not suit the data."""

from __future__ import annotations

from treecompile.learning.options import (
    ALGORITHMS,
    CART,
    COST_COMPLEXITY,
    DECLARED,
    REDUCED_ERROR,
    LearnOptions,
    chosen,
    is_given,
)
from treecompile.model.errors import OptionError
from treecompile.model.options import check_values, sentence
from treecompile.tables.options import CLASSIFY


def check_options(options: LearnOptions, has_validation: bool = False) -> None:
    """Refuse options that no algorithm can use."""
    check_values(options)
    if options.prune not in ("", COST_COMPLEXITY) and options.alpha is not None:
        raise OptionError(
            f"alpha is for prune=cost-complexity, not {options.prune}: leave one of"
            " them out"
        )
    has_rows = has_validation or options.validation_fraction
    if options.prune == REDUCED_ERROR and not has_rows:
        raise OptionError(
            "prune=reduced-error needs rows to prune by: add validation=FILE or"
            " validation_fraction=F (in a database, validation_table=NAME)"
        )
    if has_validation and options.validation_fraction:
        raise OptionError("give validation or validation_fraction, not both")


def check_algorithm(options: LearnOptions, algorithm: str) -> None:
    """Refuse an unknown algorithm, and options that the algorithm does not have."""
    if algorithm not in ALGORITHMS:
        known = sentence(ALGORITHMS)
        raise OptionError(f"algorithm={algorithm!r}: expected {known}")
    prunes = chosen(options, "prune", algorithm) == COST_COMPLEXITY
    if options.alpha is not None and not prunes:
        raise OptionError(
            "alpha is for prune=cost-complexity: add that, or leave alpha out"
        )
    for name, each in DECLARED.items():
        given = getattr(options, name)
        if given == each.default:
            continue
        if each.values and given not in each.values[algorithm]:
            known = sentence(each.values[algorithm])
            raise OptionError(
                f"{each.keyword}={given!r}: expected {known} for {algorithm}"
            )
        if each.algorithms and algorithm not in each.algorithms:
            known = sentence(each.algorithms)
            raise OptionError(
                f"{each.keyword} is for algorithm={known}, not {algorithm}: leave it"
                " out"
            )


def check_task(
    options: LearnOptions, algorithm: str, target: str, *, has_labels: bool
) -> None:
    """Refuse options that are for the other kind of target."""
    for name, each in DECLARED.items():
        is_other = each.task and (each.task == CLASSIFY) != has_labels
        if is_other and is_given(options, name):
            other = "a label" if has_labels else "a number"
            raise OptionError(
                f"{each.keyword} is for task={each.task}, and the target {target!r} is"
                f" {other}: leave it out"
            )
    if has_labels:
        return
    if algorithm != CART:
        raise OptionError(
            f"{algorithm} predicts labels, and the target {target!r} is a number:"
            " use algorithm=cart, or task=classify"
        )
    if options.criterion:
        raise OptionError(
            f"criterion={options.criterion!r} is for labels, and the target"
            f" {target!r} is a number: leave the option out, or use task=classify"
        )
