"""Rows that try the edges of a forest, and what a forest makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array
from treecompile.model.values import is_missing

Floats = NDArray[np.float64]


def tests_of(forest: ir.Forest) -> Iterator[ir.Condition]:
    """The first test of each split of all trees."""
    for member in forest.members:
        for node in member.tree.nodes:
            if isinstance(node, ir.Split):
                yield node.branches[0].when


def near(limit: float) -> list[float]:
    """A number, and those beside it: as doubles and as 32-bit floats."""
    with np.errstate(over="ignore"):
        single = np.float32(limit)
        singles = [np.nextafter(single, np.float32(side)) for side in (-inf, inf)]
    values = [limit, float(single), *map(float, singles)]
    values += [float(np.nextafter(v, side)) for v in values for side in (-inf, inf)]
    return [value for value in values if isfinite(value)]


def edges(forest: ir.Forest, index: int, most: int = 200) -> list[Any]:
    """Values at the edges of the tests of a feature; unseen categories."""
    feature = forest.features[index]
    if feature.kind is not ir.Kind.NUMERIC:
        is_text = feature.type is ir.ValueType.STR
        unseen = ["never seen", ""] if is_text else [99, -1]
        return [*feature.categories, *unseen]
    found = {
        test.value
        for test in tests_of(forest)
        if test.feature == index
        and isinstance(test.value, float)
        and isfinite(test.value)
    }
    limits = sorted(found)[:: max(1, len(found) // most)]
    return [0.0, -0.0, *(value for limit in limits for value in near(limit))]


def edge_table(
    forest: ir.Forest, X: pd.DataFrame, seed: int = 0, extra: Sequence[Any] = ()
) -> pd.DataFrame:
    """The rows of X, and rows in which one value is at an edge, or an extra one."""
    dice = np.random.default_rng(seed)
    parts = [X]
    for index, feature in enumerate(forest.features):
        values = edges(forest, index)
        is_number = feature.kind is ir.Kind.NUMERIC
        values += [v for v in extra if is_number or is_missing(v)]
        some = X.iloc[dice.integers(0, len(X), len(values))].copy()
        some[feature.name] = pd.Series(
            values, index=some.index, dtype=float if is_number else object
        )
        parts.append(some)
    return pd.concat(parts, ignore_index=True)


def columns_of(forest: ir.Forest, X: pd.DataFrame) -> list[Array]:
    """The columns of a table as a forest reads them: numbers, or codes."""
    return [
        (
            X[feature.name].to_numpy(dtype=float)
            if feature.kind is ir.Kind.NUMERIC
            else _codes(feature, X[feature.name].tolist())
        )
        for feature in forest.features
    ]


def _codes(feature: ir.Feature, values: Sequence[Any]) -> Array:
    places = {category: code for code, category in enumerate(feature.categories)}
    unseen = len(places)
    return np.array(
        [-1 if is_missing(v) else places.get(v, unseen) for v in values], dtype=np.intp
    )


def frame_of(forest: ir.Forest, x: Any) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[feature.name for feature in forest.features])


def margins(forest: ir.Forest, X: pd.DataFrame) -> Floats:
    """The margins of all rows; those of some are compared with the definition."""
    found = batch.margins(forest, columns_of(forest, X), len(X))
    for place in range(0, len(X), max(1, len(X) // 20)):
        values = X.iloc[place].tolist()
        row = tuple(None if is_missing(value) else value for value in values)
        assert forests.margins(forest, row) == tuple(found[place].tolist())
    return found


def labels(forest: ir.Forest, X: pd.DataFrame) -> list[Any]:
    found: list[Any] = batch.predictions(forest, columns_of(forest, X), len(X)).tolist()
    return found


def shares(forest: ir.Forest, X: pd.DataFrame) -> Floats:
    return batch.shares(forest, columns_of(forest, X), len(X))


def ulps(found: Any, expected: Any, kind: type[np.floating[Any]] = np.float64) -> float:
    """The greatest difference, in units of the last place of the expected numbers."""
    made = np.asarray(found, dtype=kind).astype(np.float64)
    known = np.asarray(expected, dtype=kind)
    gaps = np.abs(made - known.astype(np.float64)) / np.spacing(np.abs(known))
    return float(np.max(gaps, initial=0.0))
