"""The public functions: learn a model, load or import one, compare two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from treecompile.api.imported import with_data
from treecompile.api.model import Model
from treecompile.api.options import (
    LearnKeywords,
    ReadKeywords,
    learn_options,
    read_options,
    with_keywords,
)
from treecompile.api.rows import Data, in_memory, learn_from
from treecompile.importers.formats import refuse_foreign
from treecompile.importers.sklearn import import_model
from treecompile.inspect import diff as inspect_diff
from treecompile.inspect.diff import Diff
from treecompile.learning import cross_validation
from treecompile.learning.cross_validation import CrossValidation
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import ModelFileError
from treecompile.model.forests import single
from treecompile.model.ir import Label, NotedForest
from treecompile.regions.boxes import STEPS
from treecompile.rules.language.document import read_any_model
from treecompile.tables.options import DataOptions, ReadOptions
from treecompile.tables.read import Source, read_table


@with_keywords(LearnKeywords, DataOptions, LearnOptions)
def learn(
    data: Data,
    *,
    target: str,
    validation: Data | None = None,
    **options: Unpack[LearnKeywords],
) -> Model:
    """Learn a tree that predicts the column `target` from the other columns.

    `data` is a DataFrame or the path of a file (CSV, TSV, JSON, Parquet,
    Excel; text files may be compressed).
    It can also be a `Table` in a database, or a folder or pattern of Parquet files:
    these are not read into memory.

    The options are those of `treecompile learn`. `ordinal` maps columns to their
    categories, `costs` maps columns to numbers, and `class_weight` maps labels to
    numbers, or is "balanced".

    The `notes` of the model list the choices made for you and anything odd about the
    data.

    >>> model = learn("examples/tennis/tennis.csv", target="play")
    >>> model.n_leaves
    5
    """
    columns, how = learn_options("learn", target, options)
    learned = learn_from(data, columns, how, validation)
    return Model(learned.program, learned.notes)


@with_keywords(LearnKeywords, DataOptions, LearnOptions)
def cross_validate(
    data: Data, *, target: str, k: int = 10, **options: Unpack[LearnKeywords]
) -> CrossValidation:
    """Measure by k-fold cross-validation how well a tree is learned from a table.

    The options are those of `learn`. The folds are stratified by label, and `seed`
    selects their rows. The result has the `mean` and the `deviation` over the `folds`
    of the accuracy, or of the root mean squared error, and the `quality` of all
    predictions together.

    >>> result = cross_validate("examples/tennis/tennis.csv", target="play", k=7)
    >>> len(result.folds)
    7
    """
    columns, how = learn_options("cross_validate", target, options)
    rows = in_memory(data, "cross_validate")
    return cross_validation.cross_validate(rows, columns, how, k)


def load(path: str | Path) -> Model:
    """Read a model file, a `.rules` file or a rule document.

    A damaged file raises ModelFileError, a mistake in the rules RulesError.
    """
    try:
        return Model(read_any_model(path))
    except ModelFileError:
        refuse_foreign(path)
        raise


def from_sklearn(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    target: str | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Label] | None = None,
) -> Model:
    """A model from a fitted tree or forest, or from a Pipeline that ends in one.

    It predicts what `estimator.predict` predicts, for every row of raw doubles, texts
    and missing values. The preprocessing is folded into the trees: a test of a scaled
    or encoded column becomes a test of the raw column, exactly. A step that cannot be
    folded exactly is refused by name.

    Forests are RandomForest, ExtraTrees, Bagging of trees, GradientBoosting,
    HistGradientBoosting and AdaBoostClassifier of trees.

    With `X` and `y`, the model also knows its quality and the rows behind each rule.
    Names that are not given come from the estimator and from `y`.
    """
    name = target or getattr(y, "name", None) or "prediction"
    found = import_model(estimator, feature_names, class_names, str(name))
    if X is None:
        return Model(*found)
    if isinstance(found, NotedForest):
        return Model(with_data(found.program, X, y), found.notes)
    return Model(with_data(found.program, X, y), found.notes)


@with_keywords(ReadKeywords, ReadOptions)
def diff(
    old: Model,
    new: Model,
    data: Source | None = None,
    *,
    budget: int = STEPS,
    **reading: Unpack[ReadKeywords],
) -> Diff:
    """The regions in which two models decide differently, each with an example row.

    With `data`, also how many of its rows are in each region. Features are matched by
    name. The other keywords say how to read a file, as in `learn`.
    """
    how = read_options("diff", reading)
    table = None if data is None else read_table(data, how)
    programs = single(old.any_program, "diff"), single(new.any_program, "diff")
    return inspect_diff.diff(*programs, table, budget, how.na_values)
