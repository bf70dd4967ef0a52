"""Learn a model from a table, or measure how well one is learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treecompile import cross_validation, training
from treecompile.api.database import Data, Table, in_memory, is_there, learn_there
from treecompile.api.model import Model
from treecompile.api.options import counting, several, sort_options
from treecompile.cross_validation import CrossValidation
from treecompile.data import DataOptions
from treecompile.errors import OptionError
from treecompile.ir import Label
from treecompile.learn_options import LearnOptions


def learn(
    data: Data,
    *,
    target: str,
    algorithm: str = "",
    task: str | None = None,
    labels: Sequence[str] = (),
    na_value: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    ignore: str | Sequence[str] = (),
    max_depth: int | None = None,
    min_split: int = 2,
    min_leaf: int | None = None,
    min_gain: float = 0.0,
    max_leaves: int | None = None,
    chi2: float | None = None,
    min_sse: float | None = None,
    criterion: str = "",
    prune: str = "",
    alpha: float | str | None = None,
    alpha_folds: int = 10,
    cf: float = 0.25,
    missing: str = "",
    predict_missing: str = "branch",
    subset: bool = False,
    costs: Mapping[str, float] | None = None,
    cost_measure: str = "eg2",
    cost_weight: float = 1.0,
    one_hot: bool | str | Sequence[str] = (),
    weights: str = "",
    class_weight: Mapping[Label, float] | str | None = None,
    prior: Mapping[Label, float] | None = None,
    validation: Data | None = None,
    validation_fraction: float = 0.0,
    seed: int = 0,
) -> Model:
    """Learn a tree that predicts the column `target` from the other columns.

    `data` is a DataFrame or the path of a file (CSV, TSV, ARFF, JSON lines, Parquet);
    or a `Table` in a database, or a folder or a pattern of Parquet files, which are
    learned from where they are.
    The options are those of `treecompile learn`; `costs` is a mapping from columns,
    `class_weight` (or "balanced") and `prior` are mappings from labels, and `one_hot`
    may be True for all columns. What was chosen and what looks odd about the data is in
    the `notes` of the model.

    >>> model = learn("examples/tennis/tennis.csv", target="play")
    >>> model.n_leaves
    5
    """
    columns = DataOptions(
        target=target,
        task=task,
        labels=tuple(labels),
        na_values=several(na_value),
        categorical=several(categorical),
        numeric=several(numeric),
        ordinal=tuple((name, tuple(order)) for name, order in (ordinal or {}).items()),
        ignore=several(ignore),
        weights=weights,
    )
    options = LearnOptions(
        algorithm=algorithm,
        max_depth=max_depth,
        min_split=min_split,
        min_leaf=min_leaf,
        min_gain=min_gain,
        max_leaves=max_leaves,
        chi2=chi2,
        min_sse=min_sse,
        criterion=criterion,
        prune=prune,
        alpha=alpha,
        alpha_folds=alpha_folds,
        cf=cf,
        missing=missing,
        predict_missing=predict_missing,
        subset=subset,
        costs=tuple((costs or {}).items()),
        cost_measure=cost_measure,
        cost_weight=cost_weight,
        validation_fraction=validation_fraction,
        seed=seed,
        **counting(one_hot, class_weight, prior),
    )
    if is_there(data):
        found = learn_there(data, columns, options, validation)
        return Model(found.program, found.notes)
    if isinstance(validation, Table):
        raise OptionError("a Table to validate by goes with a Table to learn from")
    data = in_memory(data, "learn")
    learned = training.learn(data, columns, options, validation)
    return Model(learned.program, learned.notes)


def cross_validate(
    data: Data, *, target: str, k: int = 10, **options: Any
) -> CrossValidation:
    """Measure how well a tree is learned from a table, by k-fold cross-validation.

    The options are those of `learn`; the folds are stratified by label, and the `seed`
    says which rows they have. The result has the `mean` and the `deviation` of the
    accuracy, or of the root mean squared error, over the `folds`, and the `quality` of
    all predictions together.

    >>> result = cross_validate("examples/tennis/tennis.csv", target="play", k=7)
    >>> len(result.folds)
    7
    """
    columns, how = sort_options("cross_validate", target, options)
    rows = in_memory(data, "cross_validate")
    return cross_validation.cross_validate(rows, columns, how, k)
