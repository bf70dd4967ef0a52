"""What `learn` can do with rows in memory only: refused by name in a database."""

from __future__ import annotations

from dataclasses import fields

from treecompile.data import DataOptions
from treecompile.errors import OptionError
from treecompile.learners import C45, offer_of
from treecompile.learners.choose_alpha import RULES
from treecompile.training import LearnOptions, as_option

INSTEAD = "learn from a file, or a part of the table in one"
OF_C45 = ("missing", "predict_missing", "subset", "costs")
# Options that need the rows: none of them may differ from its default.
BARRED = (
    *("one_hot", "one_hot_all", "class_weight", "balanced", "prior"),
    "validation_fraction",
)
SPELT = {"balanced": "--class-weight"}


def check_here(algorithm: str, columns: DataOptions, options: LearnOptions) -> None:
    """Refuse what cannot be done in a database."""
    offer_of(algorithm)
    if columns.weights:
        _refuse("--weights")
    defaults = {field.name: field.default for field in fields(LearnOptions)}
    for name in BARRED if algorithm == C45 else (*BARRED, *OF_C45):
        given = getattr(options, name)
        if given != defaults[name] and (name, given) != ("missing", "majority"):
            _refuse(SPELT.get(name, as_option(name)))
    if options.alpha in RULES:
        _refuse(f"--alpha {options.alpha}")


def _refuse(option: str) -> None:
    raise OptionError(
        f"{option} needs the rows in memory: leave it out in a database, or {INSTEAD}"
    )
