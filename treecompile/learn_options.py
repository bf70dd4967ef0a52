"""How to learn: the options, their checks, and what the learners make of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import MissingPolicy
from treecompile.learners import (
    C45,
    COST_COMPLEXITY,
    PESSIMISTIC,
    REDUCED_ERROR,
    Offer,
)
from treecompile.learners.c45 import C45Options
from treecompile.learners.choose_alpha import RULES, Choice
from treecompile.learners.costs import MEASURES, Costs
from treecompile.learners.limits import Limits
from treecompile.learners.weighting import Given, Weighting


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How to learn; what the columns mean is in `data.DataOptions`."""

    algorithm: str = ""  # "" chooses by the data
    max_depth: int | None = None
    min_split: int = 2
    min_leaf: int | None = None  # None: 2 for c45, else 1
    min_gain: float = 0.0
    max_leaves: int | None = None  # not c45: then the best splits are made first
    chi2: float | None = None  # a split that chance explains so often is not made
    min_sse: float | None = None  # numbers: squared error that a node needs
    criterion: str = ""  # "" is the algorithm's own, as for prune and missing
    prune: str = ""
    alpha: float | str | None = None  # or cv or 1se; None: 0.01, as rpart's cp
    alpha_folds: int = 10  # of the cross-validation that chooses alpha
    cf: float = 0.25  # confidence level of pessimistic pruning
    missing: str = ""  # in training: majority or fractional
    predict_missing: str = "branch"  # or fractional
    subset: bool = False  # c45: branches for groups of categories
    costs: tuple[tuple[str, float], ...] = ()  # c45: columns and what they cost
    cost_measure: str = "eg2"  # or cs-id3 or idx
    cost_weight: float = 1.0  # of the cost, for eg2
    one_hot: tuple[str, ...] = ()  # columns of which values stand against the rest
    one_hot_all: bool = False  # the same for all columns of categories
    class_weight: Given = ()  # labels and how much they count
    balanced: bool = False  # all labels count the same
    prior: Given = ()  # labels and the share of each
    validation_fraction: float = 0.0  # rows held out at random to measure or prune by
    seed: int = 0  # of what is held out, and of folds


# --- for the learners -----------------------------------------------------------------


def alpha_of(options: LearnOptions) -> float:
    return 0.01 if options.alpha is None else float(options.alpha)


def c45_options_of(options: LearnOptions, offer: Offer, prune: str) -> C45Options:
    costs = Costs(options.costs, options.cost_measure, options.cost_weight)
    return C45Options(
        is_ratio=options.criterion != "gain",
        is_pruning=prune == PESSIMISTIC,
        cf=options.cf,
        is_fractional=(options.missing or offer.missing[0]) == "fractional",
        policy=MissingPolicy(options.predict_missing),
        is_grouping=options.subset,
        costs=costs if options.costs else None,
    )


def limits_of(options: LearnOptions, offer: Offer) -> Limits:
    return Limits(
        options.max_depth,
        options.min_split,
        options.min_leaf or offer.min_leaf,
        options.min_gain,
        options.max_leaves,
        options.chi2,
        options.min_sse,
    )


def weighting_of(options: LearnOptions) -> Weighting:
    return Weighting(options.class_weight, options.balanced, options.prior)


def check_weighting(options: LearnOptions, data: Dataset) -> None:
    """Refuse class weights and priors that do not suit the labels."""
    weighting = weighting_of(options)
    if weighting:
        weighting.check(data)


# --- checks ---------------------------------------------------------------------------


CHOICES = {"predict_missing": ("branch", "fractional"), "cost_measure": MEASURES}


def check_offer(
    data: Dataset, algorithm: str, offer: Offer, options: LearnOptions
) -> None:
    """Refuse what the algorithm does not have."""
    for name, known in (
        ("criterion", offer.criteria),
        ("prune", offer.prunings),
        ("missing", offer.missing),
    ):
        given = getattr(options, name)
        if given and given not in known:
            shown = ", ".join(known)
            raise OptionError(f"{as_option(name)} {given!r}: {algorithm} has {shown}")
    for name in ("cf", "subset", "costs"):
        if algorithm != C45 and getattr(options, name) != _default(name):
            raise OptionError(
                f"{as_option(name)} is for --algorithm c45, not {algorithm}"
            )
    for name, is_fitting, task in (
        ("chi2", bool(data.labels), "classify"),
        ("min_sse", not data.labels, "regress"),
    ):
        if getattr(options, name) is not None and not is_fitting:
            other = "a number" if task == "classify" else "a label"
            raise OptionError(
                f"{as_option(name)} is for --task {task}, and the target"
                f" {data.target!r} is {other}: leave it out"
            )
    if algorithm == C45 and options.max_leaves is not None:
        raise OptionError("--max-leaves is for --algorithm cart or id3, not c45")


def as_option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _default(name: str) -> object:
    return next(f.default for f in fields(LearnOptions) if f.name == name)


def check_options(options: LearnOptions, has_validation: bool = False) -> None:
    """Refuse what no algorithm can make sense of."""
    for name, choices in CHOICES.items():
        if getattr(options, name) not in choices:
            known = " or ".join(choices)
            given = getattr(options, name)
            raise OptionError(f"{as_option(name)} {given!r}: expected {known}")
    if not 0 < options.cf <= 1:
        raise OptionError(f"--cf {options.cf}: expected a number above 0, up to 1")
    if options.chi2 is not None and not 0 < options.chi2 < 1:
        raise OptionError(f"--chi2 {options.chi2}: expected a number between 0 and 1")
    if not 0 <= options.cost_weight < inf:
        raise OptionError(f"--cost-weight {options.cost_weight}: expected 0 or more")
    least = {
        **{"max_depth": 0, "min_split": 1, "min_leaf": 1, "min_gain": 0},
        **{"max_leaves": 1, "alpha": 0, "min_sse": 0},
    }
    for name, bound in least.items():
        value = getattr(options, name)
        if value is None or value in RULES:
            continue
        if isinstance(value, str):
            raise OptionError(f"--alpha {value!r}: expected a number, cv or 1se")
        if not bound <= value < inf:
            what = "a finite number" if value == inf else f"{bound} or more"
            raise OptionError(f"{as_option(name)} {value}: expected {what}")
    _check_pruning(options, has_validation)
    if not 0 <= options.validation_fraction < 1:
        raise OptionError("--validation-fraction: expected a number from 0 to below 1")
    if has_validation and options.validation_fraction:
        raise OptionError("give --validation or --validation-fraction, not both")


def _check_pruning(options: LearnOptions, has_validation: bool) -> None:
    if options.prune != COST_COMPLEXITY and options.alpha is not None:
        raise OptionError("--alpha is for --prune cost-complexity: add it")
    if options.alpha not in RULES and options.alpha_folds != _default("alpha_folds"):
        raise OptionError("--alpha-folds is for --alpha cv or 1se: add it")
    held_out = has_validation or options.validation_fraction
    if options.prune == REDUCED_ERROR and not held_out:
        raise OptionError(
            "--prune reduced-error needs rows to prune by: add --validation FILE or"
            " --validation-fraction F (in a database, --validation-table NAME)"
        )


# --- for the model file ---------------------------------------------------------------


def given_options(
    options: LearnOptions, weights: str, choice: Choice | None
) -> tuple[tuple[str, str | int | float | bool], ...]:
    """The options that differ from their defaults; the algorithm is told elsewhere."""
    given = {
        entry.name: getattr(options, entry.name)
        for entry in fields(options)
        if entry.name != "algorithm" and getattr(options, entry.name) != entry.default
    }
    for name in ("costs", "class_weight", "prior"):
        if name in given:
            given[name] = ", ".join(f"{key}: {each!r}" for key, each in given[name])
    if "one_hot" in given:
        given["one_hot"] = ", ".join(options.one_hot)
    if weights:
        given["weights"] = weights
    if choice is not None:
        given["chosen_alpha"] = choice.alpha
    return tuple(given.items())
