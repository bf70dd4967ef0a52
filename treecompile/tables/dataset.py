"""Table -> Dataset for learning, and new data as the columns that a model reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.model.errors import DataError
from treecompile.model.ir import AnyProgram, ColumnSummary, Feature, Kind, Label
from treecompile.model.semantics import required_features, type_of_labels
from treecompile.tables.columns import Raw, coded, numbers_of
from treecompile.tables.features import (
    FeatureColumn,
    digest_of,
    dropped_note,
    feature_names,
    make_features,
    refuse_identifiers,
    summaries,
)
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.roles import (
    check_range,
    make_feature,
    make_target,
    stated_kinds,
    weights_of,
)
from treecompile.tables.suspicions import leading_zeros


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What a learner sees: typed columns, and rows with known targets."""

    target: str
    features: tuple[Feature, ...]
    columns: tuple[np.ndarray, ...]  # doubles, NaN missing | codes, -1 missing
    labels: tuple[Label, ...]  # in label order; empty for regression
    y: np.ndarray  # codes into the labels | doubles
    notes: tuple[str, ...]  # choices and warnings to show, one line each
    source: str
    weights: np.ndarray | None = None  # of the rows, above 0; None: all 1

    def summaries(self) -> tuple[ColumnSummary, ...]:
        """The missing values of every feature, and the range of its numbers."""
        return summaries(self.features, self.columns)


def make_dataset(table: RawTable, options: DataOptions) -> Dataset:
    """Decide what every column of a table is, and convert it."""
    if table.doubt:
        raise DataError(table.doubt)
    stated = stated_kinds(table.names, options)
    na = frozenset(options.na_values)
    target = Raw.of(table, options.target, na)
    labels, y, notes = make_target(target, options)

    known = np.flatnonzero(y >= 0 if labels else ~np.isnan(y))
    refuse_identifiers(labels, len(known), options)
    dropped = table.rows - len(known)
    names = feature_names(table.names, stated, options)

    def make(name: str) -> FeatureColumn[np.ndarray] | None:
        raw = Raw.of(table, name, na, known if dropped else None)
        made = make_feature(raw, stated.get(name), dict(options.ordinal).get(name, ()))
        if not made:
            return None
        return FeatureColumn(made[0], digest_of(*made), made[1], raw.is_declared)

    made, more = make_features(names, stated, options, make, is_file=table.text)
    if table.text:
        numeric = (each.feature for each in made if each.feature.kind is Kind.NUMERIC)
        more += leading_zeros(table, (n.name for n in numeric if n.name not in stated))
    weights = None
    if options.weights:
        weights = weights_of(Raw.of(table, options.weights, na, known))
        if not labels:
            total = max(1.0, float(weights.sum()))
            check_range(options.target, float(np.abs(y[known]).max()), total)
    return Dataset(
        options.target,
        tuple(each.feature for each in made),
        tuple(each.values for each in made),
        labels,
        y[known],
        (
            *table.notes,
            *dropped_note(options.target, dropped),
            *notes,
            *more,
        ),
        table.source,
        weights,
    )


# ---------------------------------------------------------------- new data


def encode(
    features: Sequence[Feature],
    table: RawTable,
    required: Collection[int],
    na_values: Iterable[str] = (),
) -> tuple[np.ndarray | None, ...]:
    """Columns of new data for the required features; None for the others.

    Categories become codes as in a dataset; the code of an unseen one is
    len(categories).
    """
    na = frozenset(na_values)
    return tuple(
        _encoded(feature, Raw.of(table, feature.name, na)) if i in required else None
        for i, feature in enumerate(features)
    )


def encode_features(
    program: AnyProgram,
    table: RawTable,
    na_values: Iterable[str] = (),
    *,
    with_all: bool = False,
) -> tuple[np.ndarray | None, ...]:
    """The columns that a program reads, or those of all features; see `encode`."""
    features = program.body.features
    read = range(len(features)) if with_all else required_features(program.body)
    na = (*program.na_values, *na_values)
    return encode(features, table, read, na)


def encode_weights(
    name: str, table: RawTable, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The weights of the rows of new data, from the column of that name."""
    return weights_of(Raw.of(table, name, frozenset(na_values)))


def encode_answers(
    program: AnyProgram, table: RawTable, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The target of a program in new data: codes into its labels, or doubles.

    Missing is -1 or NaN. The code of a label that the model does not know is
    len(labels).
    """
    na, labels = frozenset((*program.na_values, *na_values)), program.body.labels
    raw = Raw.of(table, program.target, na)
    if not labels:
        return numbers_of(raw)
    return coded(raw.distinct(), type_of_labels(labels), labels)


def take(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """The dataset of some rows, given by position or as a mask."""
    columns = tuple(column[rows] for column in dataset.columns)
    weights = None if dataset.weights is None else dataset.weights[rows]
    return replace(dataset, columns=columns, y=dataset.y[rows], weights=weights)


def _encoded(feature: Feature, raw: Raw) -> np.ndarray:
    if feature.kind is Kind.NUMERIC:
        return numbers_of(raw)
    return coded(raw.distinct(), feature.type, feature.categories)
