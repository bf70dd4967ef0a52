"""The dataset that a table becomes, and new data by its schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.data.features import make_feature, summary, warnings, weights_of
from treecompile.data.options import DataOptions, stated_kinds
from treecompile.data.target import make_target
from treecompile.errors import DataError
from treecompile.ir import ColumnSummary, Feature, Kind, Label, Program, ValueType
from treecompile.raw import Raw, coded, numbers_of
from treecompile.read import Table
from treecompile.semantics import required_features


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What a learner sees: typed columns of known targets."""

    target: str
    features: tuple[Feature, ...]
    columns: tuple[np.ndarray, ...]  # doubles, NaN missing | codes, -1 missing
    labels: tuple[Label, ...]  # in label order; empty for regression
    y: np.ndarray  # codes into the labels | doubles
    notes: tuple[str, ...]  # choices and warnings to show, one line each
    source: str
    weights: np.ndarray | None = None  # of the rows, above 0; None: each counts 1

    def summaries(self) -> tuple[ColumnSummary, ...]:
        """Missing values, and the range of the numbers, of every feature."""
        return tuple(map(summary, self.features, self.columns))


def make_dataset(table: Table, options: DataOptions) -> Dataset:
    """Decide what every column of a table is, and convert it."""
    stated = stated_kinds(table, options)
    na = frozenset(options.na_values)
    target = Raw.of(table, options.target, na)
    labels, y, notes = make_target(target, options)

    known = np.flatnonzero(y >= 0 if labels else ~np.isnan(y))
    dropped = table.rows - len(known)
    if dropped:
        notes.insert(0, f"rows without a known {options.target!r}: {dropped}, dropped")

    features, columns = [], []
    for name in table.names:
        if name == options.target or stated.get(name) in ("ignore", "weights"):
            continue
        raw = Raw.of(table, name, na, known if dropped else None)
        made = make_feature(raw, stated.get(name), dict(options.ordinal).get(name, ()))
        if made is None:
            notes.append(f"column {name!r} has no known value: dropped")
            continue
        feature, column = made
        notes += warnings(feature, column)
        features.append(feature)
        columns.append(column)
    if not features:
        raise DataError(f"no column but {options.target!r} is left to learn from")
    return Dataset(
        options.target,
        tuple(features),
        tuple(columns),
        labels,
        y[known],
        tuple(notes),
        table.source,
        (
            weights_of(Raw.of(table, options.weights, na, known))
            if options.weights
            else None
        ),
    )


def encode(
    features: Sequence[Feature],
    table: Table,
    required: Collection[int],
    na_values: Iterable[str] = (),
) -> tuple[np.ndarray | None, ...]:
    """Columns of new data for a schema: those of the required features, else None.

    Categories become codes as in a dataset, and an unseen one len(categories).
    """
    na = frozenset(na_values)
    return tuple(
        _encoded(feature, Raw.of(table, feature.name, na)) if i in required else None
        for i, feature in enumerate(features)
    )


def encode_target(
    target: str, labels: Sequence[Label], table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The actual answers in new data: codes into the labels, or doubles without labels.

    Missing is -1 or NaN; a label that the model does not know is len(labels).
    """
    raw = Raw.of(table, target, frozenset(na_values))
    if not labels:
        return numbers_of(raw)
    type_ = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}.get(
        type(labels[0]), ValueType.STR
    )
    return coded(raw.distinct(), type_, labels)


def encode_features(
    program: Program, table: Table, na_values: Iterable[str] = ()
) -> tuple[np.ndarray | None, ...]:
    """The columns that a program reads, as `encode` makes them."""
    body = program.body
    na = (*program.na_values, *na_values)
    return encode(body.features, table, required_features(body), na)


def encode_weights(
    name: str, table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """How much the rows of new data count, by the column of that name."""
    return weights_of(Raw.of(table, name, frozenset(na_values)))


def encode_answers(
    program: Program, table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The actual answers for a program, as `encode_target` makes them."""
    na = (*program.na_values, *na_values)
    return encode_target(program.target, program.body.labels, table, na)


def take(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """The dataset of some of the rows, by position or by mask, with the same schema."""
    columns = tuple(column[rows] for column in dataset.columns)
    weights = None if dataset.weights is None else dataset.weights[rows]
    return replace(dataset, columns=columns, y=dataset.y[rows], weights=weights)


def _encoded(feature: Feature, raw: Raw) -> np.ndarray:
    if feature.kind is Kind.NUMERIC:
        return numbers_of(raw)
    return coded(raw.distinct(), feature.type, feature.categories)
