"""What `learn` can do with rows in memory only: refused by name in a database."""

from __future__ import annotations

from dataclasses import fields

from treecompile.data import DataOptions
from treecompile.errors import OptionError
from treecompile.learn_options import LearnOptions, as_option, weighting_of
from treecompile.learners import C45, CART, REDUCED_ERROR, offer_of
from treecompile.learners.choose_alpha import RULES

INSTEAD = "learn from a file, or a part of the table in one"
OF_C45 = ("missing", "predict_missing", "subset", "costs")
OF_CART = f"use --algorithm {CART} in a database"
WEIGHTS = ("class_weight", "balanced", "prior")
# Options that need the rows: none of them may differ from its default.
BARRED = ("one_hot", "one_hot_all", "validation_fraction")
SPELT = {"balanced": "--class-weight"}


def check_here(algorithm: str, columns: DataOptions, options: LearnOptions) -> None:
    """Refuse what cannot be done in a database."""
    offer_of(algorithm)
    defaults = {field.name: field.default for field in fields(LearnOptions)}
    own = WEIGHTS if algorithm == C45 else OF_C45
    for name in (*BARRED, *own):
        given = getattr(options, name)
        if given != defaults[name] and (name, given) != ("missing", "majority"):
            option = SPELT.get(name, as_option(name))
            _refuse(option, *([OF_CART] if name in WEIGHTS else []))
    if columns.weights and algorithm == C45:
        _refuse("--weights", OF_CART)
    if options.alpha in RULES:
        _refuse(f"--alpha {options.alpha}")


def check_weights(
    columns: DataOptions, options: LearnOptions, *, has_labels: bool
) -> None:
    """Refuse weights where the database cannot make use of them."""
    if columns.weights and not has_labels:
        _refuse("--weights, for a target that is a number,")
    is_weighted = columns.weights or weighting_of(options)
    if is_weighted and options.prune == REDUCED_ERROR:
        _refuse(f"--prune {REDUCED_ERROR}, where rows have weights,")


def _refuse(option: str, instead: str = "leave it out in a database") -> None:
    raise OptionError(f"{option} needs the rows in memory: {instead}, or {INSTEAD}")
