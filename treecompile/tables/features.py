"""Which columns of a table are learned from, and notes about the others.

The decisions need only a few numbers about each column, so a database can supply them
too (see `database.schema`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from treecompile.model.errors import DataError
from treecompile.model.ir import ColumnSummary, Feature, Kind, Label
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import listed
from treecompile.tables.roles import MOST_CATEGORIES
from treecompile.tables.suspicions import Count, odd_note, odd_texts

FEWEST_IDENTIFIERS = 11  # fewer distinct values may be distinct by chance
MANY_CATEGORIES = 50  # that are too many if most rows have their own
MOST_EXACT = 2.0**53  # up to here, every integer is a double
MOST_CODED = 2.0**64  # greater numbers are measured, not counted or given
IDENTIFIER = re.compile(
    r"(?i:(?:^|[\W_])(?:id|key|index|idx|nr|no|number)$|^unnamed)|I[dD]$|^$"
)
Values = TypeVar("Values")


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
    is_known = ~np.isnan(column) if is_numeric else column >= 0
    known = column if is_known.all() else column[is_known]
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


def rounded_note(feature: Feature, digest: ColumnDigest) -> list[str]:
    """A note on integers so large that neighbours are the same double."""
    if feature.kind is not Kind.NUMERIC or digest.low is None or digest.high is None:
        return []
    if not MOST_EXACT < max(-digest.low, digest.high) < MOST_CODED:
        return []
    name = feature.name
    return [
        f"column {name!r} has numbers above 2^53, where neighbouring integers become"
        f" the same double: add categorical={name!r} or ignore={name!r} if they are"
        " codes"
    ]


def _is_consecutive(feature: Feature, digest: ColumnDigest) -> bool:
    """Whether a column has the integers of a range, each once."""
    if not _is_unique(feature, digest):
        return False
    assert digest.low is not None
    assert digest.high is not None
    return digest.high - digest.low == digest.known - 1


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


def summaries(
    features: Sequence[Feature], columns: Iterable[np.ndarray]
) -> tuple[ColumnSummary, ...]:
    """The missing values of each column, and the range of its numbers."""
    return tuple(map(summary, features, map(digest_of, features, columns)))


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumn(Generic[Values]):
    """A column that becomes a feature."""

    feature: Feature
    digest: ColumnDigest
    values: Values  # an array, or how to query them in a database
    is_declared: bool = False  # the source lists its categories

    @property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts, if they may be something else than categories."""
        is_open = not self.is_declared and self.feature.kind is Kind.CATEGORICAL
        return tuple(t for t in self.feature.categories if is_open and type(t) is str)


def feature_names(
    names: Sequence[str], stated: Mapping[str, str], options: DataOptions
) -> list[str]:
    """The columns to predict from."""
    others = ("ignore", "weights")
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
    empty: list[str] = []
    odd: dict[tuple[str, ...], list[FeatureColumn[Values]]] = {}
    for name in names:
        made = make(name)
        if made is None:
            empty.append(name)
            continue
        is_open = name not in stated
        few = odd_texts(made.texts, options.decimal) if is_open else ()
        if few:
            odd.setdefault(few, []).append(made)
        why = why_left_out(made.feature, made.digest) if is_open else ""
        if not why:
            if is_open:
                notes += rounded_note(made.feature, made.digest)
            found.append(made)
        elif not few:
            kept = "numeric" if made.feature.kind is Kind.NUMERIC else "categorical"
            advice = f"{kept}={name!r} keeps it"
            notes.append(f"column {name!r} is left out: {why} ({advice})")
    said = [
        odd_note(
            few,
            [each.feature.name for each in columns],
            sum(each.digest.count(few) for each in columns),
            is_file=is_file,
        )
        for few, columns in odd.items()
    ]
    notes = [*said, *_empty_note(empty), *notes]
    if not found:
        none = f"no column but {options.target!r} is left to learn from"
        raise DataError("; ".join((none, *notes)))
    return found, notes


def _empty_note(names: Sequence[str]) -> list[str]:
    if len(names) < 2:
        return [f"column {name!r} has no known value: dropped" for name in names]
    return [f"{len(names)} columns have no known value: {listed(names)}: dropped"]


def refuse_identifiers(
    labels: Sequence[Label], rows: int, options: DataOptions
) -> None:
    """Refuse texts as labels of which most rows have their own.

    Nothing can be learned about a label that occurs once. A user who says that these
    are labels has the last word.
    """
    is_asked = options.task is not None or bool(options.labels)
    is_text = isinstance(next(iter(labels), None), str)
    if is_asked or rows < FEWEST_IDENTIFIERS or not is_text:
        return
    count = len(labels)
    is_many = count > MANY_CATEGORIES and 2 * count > rows
    if count == rows or is_many:
        said = "no label occurs twice"
        if count < rows:
            said = f"{count:,} labels in {rows:,} rows are too many"
        raise DataError(
            f"target {options.target!r}: {said}, as with identifiers and texts: choose"
            " another target, or add task=classify to insist"
        )


def dropped_note(target: str, dropped: int) -> list[str]:
    """A note about rows that cannot be learned from."""
    if not dropped:
        return []
    return [f"rows without a known {target!r}: {dropped}, dropped"]
