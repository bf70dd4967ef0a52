"""Table -> Dataset for learning, and new data as the columns that a model reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from treecompile.model.arrays import Positions
from treecompile.model.dates import derived
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import ColumnSummary, Feature, Kind, Label, Program
from treecompile.model.semantics import required_features, type_of_labels
from treecompile.tables.columns import Raw, coded, numbers_of
from treecompile.tables.dates import refuse_taken, with_dates
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.roles import (
    MOST_CATEGORIES,
    check_range,
    make_feature,
    make_target,
    stated_kinds,
    weights_of,
)
from treecompile.tables.suspicions import Count, Suspicions, unmatched

FEWEST_IDENTIFIERS = 11  # fewer distinct values may be distinct by chance
MANY_CATEGORIES = 50  # that are too many if most rows have their own
IDENTIFIER = re.compile(
    r"(?i:(?:^|[\W_])(?:id|key|index|idx|nr|no|number)$|^unnamed)|I[dD]$|^$"
)
Values = TypeVar("Values")


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
        digests = map(digest_of, self.features, self.columns)
        return tuple(map(summary, self.features, digests))


def make_dataset(table: RawTable, options: DataOptions) -> Dataset:
    """Decide what every column of a table is, and convert it."""
    if table.doubt:
        raise DataError(table.doubt)
    stated = stated_kinds(table.names, options)
    na = frozenset(options.na_values)
    refuse_taken(table.names, options.date)
    table = with_dates(table, options.date, na)
    stated |= dict.fromkeys(derived(options.date), "numeric")
    target = Raw.of(table, options.target, na)
    labels, y, notes = make_target(target, options)

    known = np.flatnonzero(y >= 0 if labels else ~np.isnan(y))
    dropped = table.rows - len(known)
    names = feature_names(table.names, stated, options)

    def make(name: str) -> FeatureColumn[np.ndarray] | None:
        raw = Raw.of(table, name, na, known if dropped else None)
        made = make_feature(raw, stated.get(name), dict(options.ordinal).get(name, ()))
        if not made:
            return None
        return FeatureColumn(made[0], digest_of(*made), made[1], raw.is_declared)

    made, more = make_features(names, stated, options, make, is_file=table.is_inferred)
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
            *unmatched(table, options.na_values),
            *dropped_note(options.target, dropped),
            *notes,
            *more,
        ),
        table.source,
        weights,
    )


# ---------------------------------------------------------------- in memory or not


@dataclass(frozen=True, slots=True)
class ColumnDigest:
    """A column in a few numbers, counted in an array or by a database."""

    rows: int
    known: int  # the rows with a value
    low: float | None  # the range of the known values, or of the category codes
    high: float | None
    distinct: Callable[[], int]  # number of distinct values; of numbers, the integers
    count: Count = lambda texts: 0  # the rows with one of some categories


def digest_of(feature: Feature, column: np.ndarray) -> ColumnDigest:
    is_numeric = feature.kind is Kind.NUMERIC
    known = column[~np.isnan(column) if is_numeric else column >= 0]
    low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)

    def distinct() -> int:
        if not is_numeric:
            return len(np.unique(known))
        is_whole = np.isfinite(known) & (np.floor(known) == known)
        return len(np.unique(known[is_whole]))

    def count(categories: Sequence[str]) -> int:
        codes = [i for i, each in enumerate(feature.categories) if each in categories]
        return int(np.isin(known, codes).sum())

    return ColumnDigest(len(column), len(known), low, high, distinct, count)


def identifier_note(feature: Feature, digest: ColumnDigest) -> list[str]:
    """A note on numbers that look like those of rows: they will not occur again."""
    if not (_is_consecutive(feature, digest) or _is_called_identifier(feature, digest)):
        return []
    advice = f"leave it out with --ignore {feature.name!r}"
    return [f"column {feature.name!r} looks like an identifier: {advice}"]


def _is_consecutive(feature: Feature, digest: ColumnDigest) -> bool:
    """Whether a column has the integers of a range, each once."""
    if not _is_unique(feature, digest):
        return False
    assert digest.low is not None
    assert digest.high is not None
    return digest.high - digest.low == digest.known - 1


def _is_called_identifier(feature: Feature, digest: ColumnDigest) -> bool:
    return bool(IDENTIFIER.search(feature.name)) and _is_unique(feature, digest)


def _is_unique(feature: Feature, digest: ColumnDigest) -> bool:
    """Whether a column has numbers, from an integer on, each once."""
    if feature.kind is not Kind.NUMERIC or digest.known < FEWEST_IDENTIFIERS:
        return False
    assert digest.low is not None
    is_whole = float(digest.low).is_integer()  # an infinite number is not
    return is_whole and digest.distinct() == digest.known


def why_left_out(feature: Feature, digest: ColumnDigest) -> str:
    """Why a column is no good to learn from; "" if it is.

    Identifiers and free text are other values in every row: a tree that splits them
    knows the training rows by heart, and nothing about new ones.
    """
    if feature.kind is Kind.NUMERIC and IDENTIFIER.search(feature.name):
        return "it numbers the rows" if _is_consecutive(feature, digest) else ""
    if feature.kind is not Kind.CATEGORICAL or digest.known < FEWEST_IDENTIFIERS:
        return ""
    distinct = digest.distinct()
    if distinct == digest.known:
        return "no value occurs twice, as in an identifier or a text"
    is_many = distinct > MANY_CATEGORIES and 2 * distinct > digest.known
    if is_many or distinct > MOST_CATEGORIES:
        return f"it has {distinct:,} categories in {digest.known:,} rows"
    return ""


def summary(feature: Feature, digest: ColumnDigest) -> ColumnSummary:
    missing = digest.rows - digest.known
    if feature.kind is not Kind.NUMERIC:
        return ColumnSummary(missing)
    return ColumnSummary(missing, digest.low, digest.high)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumn(Generic[Values]):
    """A column that becomes a feature."""

    feature: Feature
    digest: ColumnDigest
    values: Values  # an array, or how to query them in a database
    is_declared: bool = False  # the file lists its categories

    @property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts, if they may be something else than categories."""
        is_open = not self.is_declared and self.feature.kind is Kind.CATEGORICAL
        return tuple(t for t in self.feature.categories if is_open and type(t) is str)


def feature_names(
    names: Sequence[str], stated: Mapping[str, str], options: DataOptions
) -> list[str]:
    """The columns to predict from."""
    others = ("date", "ignore", "weights")
    return [n for n in names if n != options.target and stated.get(n) not in others]


def make_features(
    names: Sequence[str],
    stated: Mapping[str, str],
    options: DataOptions,
    make: Callable[[str], FeatureColumn[Values] | None],
    *,
    is_file: bool = False,
) -> tuple[list[FeatureColumn[Values]], list[str]]:
    """The features of a table, and notes about their columns.

    `make` returns None for a column that has no known value. `is_file` says that the
    types of columns come from the texts in a file.
    """
    found: list[FeatureColumn[Values]] = []
    notes: list[str] = []
    suspicions = Suspicions(options.decimal, is_file=is_file)
    for name in names:
        made = make(name)
        if made is None:
            notes.append(f"column {name!r} has no known value: dropped")
            continue
        is_open = name not in stated
        if is_open:
            suspicions.look(name, made.texts, made.digest.count)
        why = why_left_out(made.feature, made.digest) if is_open else ""
        if why:
            kept = "numeric" if made.feature.kind is Kind.NUMERIC else "categorical"
            advice = f"--{kept} {name!r} keeps it"
            notes.append(f"column {name!r} is left out: {why} ({advice})")
            continue
        notes += identifier_note(made.feature, made.digest) if is_open else []
        found.append(made)
    if not found:
        said = f"no column but {options.target!r} is left to learn from"
        raise DataError("; ".join((said, *suspicions.said(), *notes)))
    return found, [*suspicions.said(), *notes]


def dropped_note(target: str, dropped: int) -> list[str]:
    """A note about rows that cannot be learned from."""
    if not dropped:
        return []
    return [f"rows without a known {target!r}: {dropped}, dropped"]


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
    program: Program,
    table: RawTable,
    na_values: Iterable[str] = (),
    *,
    with_all: bool = False,
) -> tuple[np.ndarray | None, ...]:
    """The columns that a program reads, or those of all features; see `encode`."""
    features = program.body.features
    read = range(len(features)) if with_all else required_features(program.body)
    na = (*program.na_values, *na_values)
    return encode(features, with_dates(table, program.dates, frozenset(na)), read, na)


def encode_weights(
    name: str, table: RawTable, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The weights of the rows of new data, from the column of that name."""
    return weights_of(Raw.of(table, name, frozenset(na_values)))


def encode_answers(
    program: Program, table: RawTable, na_values: Iterable[str] = ()
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


def fold_of(data: Dataset, count: int, seed: int, option: str) -> Positions:
    """The fold of each row, from 0: seeded, and stratified by label.

    The sizes of the folds, and their numbers of rows per label, differ by one at most.
    An error names `option`.
    """
    rows = len(data.y)
    if not 2 <= count <= rows:
        raise OptionError(
            f"{option} {count}: expected 2 or more folds, and no more than there are"
            f" rows to learn from ({rows})"
        )
    order = np.random.default_rng(seed).permutation(rows)
    if data.labels:
        order = order[np.argsort(data.y[order], kind="stable")]
    folds = np.empty(rows, dtype=np.intp)
    folds[order] = np.arange(rows) % count
    return folds
