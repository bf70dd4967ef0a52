"""Models of other libraries: from their files, and from fitted objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from treecompile.api.imported import with_data
from treecompile.api.model import Model
from treecompile.importers import lightgbm, xgboost
from treecompile.importers.formats import format_of, read_foreign
from treecompile.model.errors import OptionError
from treecompile.model.file.limits import MOST_BYTES
from treecompile.model.files import beginning
from treecompile.model.ir import ForestProgram, Label, NotedForest
from treecompile.rules.language.document import holds_model, is_rules, read_any_model

TREES = re.compile(rb'"trees"\s*:\s*\[')


def holds_forest(data: object) -> bool:
    """Whether this is a file with a forest: of another library, or a model file."""
    if not isinstance(data, (str, Path)) or is_rules(data):
        return False
    if not holds_model(data):
        return format_of(data) is not None
    return TREES.search(beginning(data, MOST_BYTES)) is not None


def import_model(
    path: str | Path,
    *,
    target: str | None = None,
    labels: Sequence[Label] | None = None,
) -> Model:
    """The model in a file of LightGBM or XGBoost, which is detected.

    The library need not be installed. The labels of a classifier are 0, 1, ..., unless
    `labels` are given. `target` names what is predicted.

    A model file of treecompile is read as it is.
    """
    if holds_model(path):
        program = read_any_model(path)
        if not isinstance(program, ForestProgram) or labels is not None:
            raise OptionError(
                f"{str(path)!r} is a model of treecompile already: use it as it is"
            )
        return Model(replace(program, target=target or program.target))
    return Model(*read_foreign(path, target or "", labels))


def from_lightgbm(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    target: str | None = None,
    labels: Sequence[Label] | None = None,
) -> Model:
    """A model from a fitted Booster, LGBMClassifier, LGBMRegressor or LGBMRanker.

    Its margins equal LightGBM's bit for bit, and its labels are derived from them.
    `X` and `y` add its quality. `labels` names the classes of a Booster. LightGBM
    replaces blanks in names by `_`; with `X`, the model has the original names.
    """
    return _imported(lightgbm.from_object, model, X, y, target, labels=labels)


def from_xgboost(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    target: str | None = None,
    labels: Sequence[Label] | None = None,
    missing: float | None = None,
) -> Model:
    """A model from a fitted Booster, XGBClassifier, XGBRegressor or XGBRanker.

    Its margins equal XGBoost's bit for bit, and its labels are derived from them.
    `missing` is the value that means missing in the training data, by default the
    model's parameter. Only NaN is supported: if it is a number, give `missing=nan`, and
    replace the number by NULL in the rows to predict.
    """
    how = {"labels": labels, "missing": missing}
    return _imported(xgboost.from_object, model, X, y, target, **how)


def _imported(
    read: Callable[..., NotedForest],
    model: Any,
    X: Any,
    y: Any,
    target: str | None,
    **how: Any,
) -> Model:
    """What an importer makes of a fitted model, measured on the rows that are given."""
    name = str(target or getattr(y, "name", None) or "")
    program, notes = read(model, name, **how)
    return Model(program if X is None else with_data(program, X, y), notes)
