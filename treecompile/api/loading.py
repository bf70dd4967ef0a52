"""Models that are there already: in files, in scikit-learn; and what two differ in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecompile.analysis import diff as analysis_diff
from treecompile.analysis.budget import STEPS
from treecompile.analysis.diff import Diff
from treecompile.api.model import Model
from treecompile.ir import Label
from treecompile.read import read_table
from treecompile.sources import read_source

if TYPE_CHECKING:
    import pandas as pd

    Data = str | Path | pd.DataFrame


def from_sklearn(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Label] | None = None,
) -> Model:
    """A model from a fitted DecisionTreeClassifier or DecisionTreeRegressor.

    It predicts what `estimator.predict` predicts, for every double: scikit-learn
    compares 32-bit floats, so each threshold is moved to where the rounding ends. Names
    come from the estimator where they are not given.
    """
    from treecompile.import_sklearn import import_tree

    return Model(import_tree(estimator, feature_names, class_names))


def load(path: str | Path) -> Model:
    """Read a model file, a `.rules` file or a rule document.

    A damaged one raises ModelFileError, a mistake in the rules RulesError.
    """
    return Model(*read_source(path))


def diff(
    old: Model, new: Model, data: Data | None = None, *, budget: int = STEPS
) -> Diff:
    """Where two models decide differently, exactly: regions with a row for each.

    With `data`, how many of its rows fall into each. Features are matched by name.
    """
    table = None if data is None else read_table(data)
    return analysis_diff.diff(old.program, new.program, table, budget)
