"""TreeClassifier and TreeRegressor.

They learn as `treecompile.learn` does. A parameter has scikit-learn's name where there
is one: `min_samples_leaf` is the option `min_leaf`, `random_state` is `seed`, and so on
(see `RENAMED`). Fitted, they hold a `Model` in `model_`, for every artefact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from treecompile.api.explanation import Explanation
from treecompile.api.model import Model
from treecompile.api.options import learn_options
from treecompile.learning.options import (
    CART,
    COST_COMPLEXITY,
    USUAL_ALPHA,
    spelled,
)
from treecompile.learning.training import learn as learn_tree
from treecompile.model.batch import answers, shares
from treecompile.model.errors import TreecompileError
from treecompile.sklearn.frames import (
    checked_frame,
    coded_labels,
    free_name,
    kinds_of,
    names_of,
)
from treecompile.tables.dataset import encode_features
from treecompile.tables.options import CLASSIFY, REGRESS
from treecompile.tables.read import read_table
from treecompile.verify.verification import Report

# Parameter -> option of `treecompile.learn`. All others have the name of their option.
RENAMED = {
    "min_samples_split": "min_split",
    "min_samples_leaf": "min_leaf",
    "max_leaf_nodes": "max_leaves",
    "ccp_alpha": "alpha",
    "random_state": "seed",
}
SHARES = ("min_samples_split", "min_samples_leaf")  # may be shares of the rows
WEIGHT = "sample_weight"


class _Estimator(BaseEstimator):
    """What both have in common."""

    task: str
    model_: Model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their answers y.

        X is a DataFrame of pandas or polars, or an array. Texts, categories, booleans
        and missing values need no encoding. A row of weight 0 is left out.
        """
        name = getattr(y, "name", None)
        is_number = self.task == REGRESS
        # Before X, because this call forgets the names of its columns.
        y = validate_data(self, "no_validation", y, y_numeric=is_number)
        frame = checked_frame(self, X, reset=True)
        check_consistent_length(frame, y)
        table = frame.copy(deep=False)
        target = free_name(str(name) if name else "target", list(table.columns))
        table[target] = self._encoded_target(y)
        kinds = kinds_of(frame)
        weights = ""
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, frame, ensure_non_negative=True, ensure_same_device=False
            )
            weights = free_name(WEIGHT, list(table.columns))
            table[weights] = weight
            table = table[weight > 0]
        given = {**self._options(len(table)), **kinds, "weights": weights}
        try:
            columns, how = learn_options(
                type(self).__name__, target, {**given, "task": self.task}
            )
            learned = learn_tree(table, columns, how)
        except TreecompileError as error:
            raise ValueError(str(error)) from error
        self.model_ = Model(learned.program, learned.notes)
        return self

    def _encoded_target(self, y: np.ndarray) -> Any:
        return y

    def _options(self, rows: int) -> dict[str, Any]:
        """The options of `learn` that differ from their defaults."""
        found: dict[str, Any] = {}
        for parameter, value in self.get_params(deep=False).items():
            if value is None:
                continue
            if parameter in SHARES and not isinstance(value, Integral):
                value = max(1, ceil(value * rows))
            if parameter == "random_state" and not isinstance(value, Integral):
                value = check_random_state(value).randint(2**31)
            option = RENAMED.get(parameter, parameter)
            found[option] = spelled(option, value)
        if isinstance(found.get("class_weight"), Mapping):
            weights = found["class_weight"].items()
            found["class_weight"] = {_plain(label): w for label, w in weights}
        # Not by cross-validation, unless asked for: `fit` is itself cross-validated.
        is_cart = found.get("algorithm", CART) == CART
        if is_cart and found.get("prune", COST_COMPLEXITY) == COST_COMPLEXITY:
            found.setdefault("alpha", USUAL_ALPHA)
        return found

    # ------------------------------------------------------------ fitted

    def _answers(self, X: Any) -> np.ndarray:
        """An index into the labels of the model, or a number, for each row."""
        columns, rows = self._columns(X)
        return answers(self.model_.program.body, columns, rows)

    def _columns(self, X: Any) -> tuple[tuple[np.ndarray | None, ...], int]:
        check_is_fitted(self)
        frame = checked_frame(self, X, reset=False)
        try:
            return encode_features(self.model_.program, read_table(frame)), len(frame)
        except TreecompileError as error:
            raise ValueError(str(error)) from error

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column in the decrease of impurity."""
        check_is_fitted(self)
        found = self.model_.importances
        return np.array([found.get(name, 0.0) for name in names_of(self)])

    def get_depth(self) -> int:
        """The maximum number of tests for one row."""
        check_is_fitted(self)
        return self.model_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.model_.n_leaves

    def emit(self, to: str = "python", **options: Any) -> str:
        """The text of an artefact; see `Model.emit`."""
        check_is_fitted(self)
        return self.model_.emit(to, **options)

    def verify(self, text: str, engine: str = "", **options: Any) -> Report:
        """Run the text of an artefact, and compare it with the model."""
        check_is_fitted(self)
        return self.model_.verify(text, engine, **options)

    def explain(self, row: Mapping[str, Any]) -> Explanation:
        """The rule that decides a row, in words."""
        check_is_fitted(self)
        return self.model_.explain(row)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


class TreeClassifier(ClassifierMixin, _Estimator):
    """A decision tree by C4.5, CART or ID3.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = TreeClassifier(max_depth=2).fit(X, y)
    >>> print(tree.model_.show().splitlines()[0])
    ├─ "petal width (cm)" <= 0.6 -> 0  (R1: 50 of 50 cases)
    """

    task = CLASSIFY
    classes_: np.ndarray

    def __init__(
        self,
        algorithm: str = "c45",
        *,
        criterion: str | None = None,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | None = None,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        chi2: float | None = None,
        prune: str | None = None,
        ccp_alpha: float | str | None = None,
        cf: float = 0.25,
        missing: str | None = None,
        subset: bool = False,
        one_hot: Sequence[str] | None = None,
        costs: Mapping[str, float] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        validation_fraction: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.chi2 = chi2
        self.prune = prune
        self.ccp_alpha = ccp_alpha
        self.cf = cf
        self.missing = missing
        self.subset = subset
        self.one_hot = one_hot
        self.costs = costs
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _encoded_target(self, y: np.ndarray) -> Any:
        """The labels; all classes are declared, also those of rows of weight 0."""
        self.classes_, found = coded_labels(y)
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        answers = self._answers(X)
        found: np.ndarray = self.classes_[self._order()[answers]]
        return found

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        columns, rows = self._columns(X)
        found = np.zeros((rows, len(self.classes_)))
        found[:, self._order()] = shares(self.model_.program.body, columns, rows)
        return found

    def _order(self) -> np.ndarray:
        """The place in `classes_` of each label of the model."""
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        return np.array([place[label] for label in self.model_.program.body.labels])


class TreeRegressor(RegressorMixin, _Estimator):
    """A regression tree by CART.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> TreeRegressor(max_depth=2).fit(X, y).get_n_leaves()
    4
    """

    task = REGRESS

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | None = None,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        min_sse: float | None = None,
        prune: str | None = None,
        ccp_alpha: float | str | None = None,
        one_hot: Sequence[str] | None = None,
        validation_fraction: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.min_sse = min_sse
        self.prune = prune
        self.ccp_alpha = ccp_alpha
        self.one_hot = one_hot
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row."""
        return self._answers(X)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
