"""Finds the raw column from which each column of a preprocessing step comes.

    make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))

makes the columns age, job, job and job, by way of StandardScaler or OneHotEncoder.

A tree can be folded if every column it tests comes from one raw column. This module
only reads the structure; `probing` asks the transformers for their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treecompile.model.errors import DataError
from treecompile.model.values import is_missing

WHAT_IS_FOLDED = (
    "folded are imputers, encoders, scalers, discretizers, monotone functions and the"
    " selection of columns"
)


INDICATOR = "MissingIndicator"
ENCODERS = {"OneHotEncoder", "OrdinalEncoder", "TargetEncoder"}


@dataclass(frozen=True, slots=True)
class StepColumn:
    """A column between two steps."""

    source: int  # the raw column that it is computed from
    through: tuple[str, ...] = ()  # the transformers on the way


@dataclass(slots=True)
class RawColumn:
    """What the transformers know about a raw column."""

    name: str
    categories: dict[Any, None] = field(default_factory=dict)  # its encoders know them
    encoder: str = ""  # the transformer that takes it for categories
    knows_none: bool = False  # None is a category of its own there
    knows_nan: bool = False
    points: set[float] = field(default_factory=set)  # numbers that mean missing
    cuts: set[float] = field(default_factory=set)  # the upper ends of its bins


class Structure:
    """The columns that reach the tree, and what was learned about the raw ones."""

    def __init__(self, names: Sequence[str], steps: Sequence[Any]) -> None:
        self.raw = [RawColumn(name) for name in names]
        columns = [StepColumn(place) for place in range(len(names))]
        for step in steps:
            columns = self.follow(step, columns)
        self.columns = columns

    def follow(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        """Return the columns that a transformer makes of the given ones."""
        if step is None or step == "passthrough":
            return columns
        if step == "drop":
            return []
        kind = type(step).__name__
        if kind not in STEPS and hasattr(step, "get_support"):
            return [columns[place] for place in step.get_support(indices=True)]
        if kind not in STEPS:
            raise DataError(
                f"cannot fold a {kind} exactly: leave it out of the pipeline"
                f" ({WHAT_IS_FOLDED})"
            )
        return STEPS[kind](self, step, columns)

    # ------------------------------------------------------------ containers

    def pipeline(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        for _, each in step.steps:
            columns = self.follow(each, columns)
        return columns

    def column_transformer(
        self, step: Any, columns: list[StepColumn]
    ) -> list[StepColumn]:
        chosen = step._transformer_to_input_indices
        found = []
        for name, each, _ in step.transformers_:
            found += self.follow(each, [columns[place] for place in chosen[name]])
        return found

    def union(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        return [
            column
            for _, each in step.transformer_list
            for column in self.follow(each, columns)
        ]

    # ------------------------------------------------------------ numbers

    def number_by_number(
        self, step: Any, columns: list[StepColumn]
    ) -> list[StepColumn]:
        return [_through(step, column) for column in columns]

    def imputer(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        kept = columns
        if step.strategy != "constant" and not step.keep_empty_features:
            known = zip(columns, step.statistics_, strict=True)
            kept = [column for column, value in known if not is_missing(value)]
        self._note_missing(step, columns)
        found = [_through(step, column) for column in kept]
        if step.indicator_ is not None:
            found += self.follow(step.indicator_, columns)
        return found

    def indicator(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        self._note_missing(step, columns)
        return [_through(step, columns[place]) for place in step.features_]

    def _note_missing(self, step: Any, columns: Sequence[StepColumn]) -> None:
        """Note a value that means missing, such as -1 or "?", for its raw columns."""
        marker = step.missing_values
        if is_missing(marker):
            return
        for column in columns:
            raw = self.raw[column.source]
            if isinstance(marker, str):
                raw.categories[marker] = None
            elif column.through:
                raise _order(step, column, "put it first")
            else:
                raw.points.add(float(marker))

    def bins(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        is_hot = step.encode != "ordinal"
        found = []
        for column, edges, count in zip(
            columns, step.bin_edges_, step.n_bins_, strict=True
        ):
            if INDICATOR not in column.through:  # it is the same for all numbers
                if set(column.through) - {"SimpleImputer"}:
                    raise _order(step, column, "put it before them")
                # A number that is equal to an edge belongs to the bin above it.
                self.raw[column.source].cuts |= {
                    float(np.nextafter(edge, -np.inf)) for edge in edges[1:-1]
                }
            found += [_through(step, column)] * (int(count) if is_hot else 1)
        return found

    # ------------------------------------------------------------ categories

    def encoder(self, step: Any, columns: list[StepColumn]) -> list[StepColumn]:
        sizes = [1] * len(columns)
        if type(step).__name__ == "OneHotEncoder":
            sizes = list(step._n_features_outs)
        elif type(step).__name__ == "TargetEncoder":
            is_many = step.target_type_ == "multiclass"
            sizes = [len(step.classes_) if is_many else 1] * len(columns)
        found = []
        for column, known, size in zip(columns, step.categories_, sizes, strict=True):
            if set(column.through) - {"SimpleImputer"}:
                raise _order(step, column, "encode the raw column")
            raw = self.raw[column.source]
            raw.encoder = raw.encoder or type(step).__name__
            for category in known:
                if category is None:
                    raw.knows_none = True
                elif is_missing(category):
                    raw.knows_nan = True
                else:
                    raw.categories[_plain(category)] = None
            found += [_through(step, column)] * size
        return found


STEPS: dict[str, Callable[[Structure, Any, list[StepColumn]], list[StepColumn]]] = {
    "Pipeline": Structure.pipeline,
    "ColumnTransformer": Structure.column_transformer,
    "FeatureUnion": Structure.union,
    "SimpleImputer": Structure.imputer,
    INDICATOR: Structure.indicator,
    "KBinsDiscretizer": Structure.bins,
    **dict.fromkeys(ENCODERS, Structure.encoder),
    **dict.fromkeys(
        (
            *("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"),
            *("PowerTransformer", "QuantileTransformer", "Binarizer"),
            "FunctionTransformer",
        ),
        Structure.number_by_number,
    ),
}


def _through(step: Any, column: StepColumn) -> StepColumn:
    return StepColumn(column.source, (*column.through, type(step).__name__))


def _order(step: Any, column: StepColumn, advice: str) -> DataError:
    kind, before = type(step).__name__, " and ".join(column.through)
    return DataError(f"cannot fold a {kind} after {before}: {advice}")


def _plain(category: Any) -> Any:
    return category.item() if isinstance(category, np.generic) else category
