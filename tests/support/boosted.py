"""Rows that tell a boosted model from one that is nearly the same.

A table is a data frame with a column for each feature: doubles, or any values for a
categorical feature, with None for missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, nan, nextafter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array, Floats
from treecompile.model.errors import ModelFileError
from treecompile.model.file import dumps, loads_any

TINY = (forests.ZERO, 1e-35, 5e-36, 1e-37, 1e-45, 1e-300, 5e-324)
UNSEEN: dict[ir.ValueType, Any] = {
    ir.ValueType.STR: "never seen",
    ir.ValueType.INT: 12_345,
    ir.ValueType.BOOL: None,
}


def thresholds(forest: ir.Forest) -> dict[int, list[float]]:
    """The thresholds of each feature."""
    found: dict[int, set[float]] = {}
    for member in forest.members:
        for node in member.tree.nodes:
            if isinstance(node, ir.Split):
                test = node.branches[0].when
                if isinstance(test.value, float):
                    found.setdefault(test.feature, set()).add(test.value)
    return {feature: sorted(limits) for feature, limits in found.items()}


def near(limit: float) -> list[float]:
    """A number and its neighbours, among the doubles and among the 32-bit floats."""
    single = np.float32(limit)
    around = [single, *(np.nextafter(single, np.float32(s * inf)) for s in (-1, 1))]
    values = [limit, *map(float, around)]
    return [*values, *(nextafter(value, s * inf) for value in values for s in (-1, 1))]


def edges(
    forest: ir.Forest, index: int, most: int, extra: Iterable[Any], dice: Any
) -> list[Any]:
    """The values of a feature that a mistake would send the wrong way."""
    feature = forest.features[index]
    if feature.kind is not ir.Kind.NUMERIC:
        return [*feature.categories, None, *extra]
    limits = thresholds(forest).get(index, [0.0])
    if len(limits) > most:
        limits = [limits[i] for i in sorted(dice.choice(len(limits), most, False))]
    tiny = [sign * n for t in TINY for n in near(t) for sign in (1, -1)]
    return [*(n for limit in limits for n in near(limit)), *tiny, 0.0, -0.0, nan]


def table(
    forest: ir.Forest,
    base: pd.DataFrame,
    dice: Any,
    *,
    random: int = 2_000,
    most: int = 300,
    infinite: bool = False,
    unseen: bool = True,
) -> pd.DataFrame:
    """The rows of a table, those with a value at an edge, and random ones of edges."""
    parts = [base]
    mixed = {}
    for index, feature in enumerate(forest.features):
        numeric = feature.kind is ir.Kind.NUMERIC
        extra = [UNSEEN[feature.type]] if unseen and not numeric else []
        values = edges(forest, index, most, extra, dice)
        if numeric and infinite:
            values += [inf, -inf, 1e308, -1e308]
        own = base.iloc[dice.integers(0, len(base), len(values))].copy()
        kind = float if numeric else object
        own[feature.name] = pd.Series(values, index=own.index, dtype=kind)
        parts.append(own)
        drawn = [values[i] for i in dice.integers(0, len(values), random)]
        mixed[feature.name] = pd.Series(drawn, dtype=kind)
    parts.append(pd.DataFrame(mixed))
    return pd.concat([part.astype(_types(forest)) for part in parts], ignore_index=True)


def _types(forest: ir.Forest) -> dict[str, Any]:
    return {
        feature.name: float if feature.kind is ir.Kind.NUMERIC else object
        for feature in forest.features
    }


def is_missing(value: Any) -> bool:
    return value is None or value != value


def columns(forest: ir.Forest, rows: pd.DataFrame) -> list[Array]:
    """The columns as `batch` reads them."""
    found: list[Array] = []
    for feature in forest.features:
        column = rows[feature.name]
        if feature.kind is ir.Kind.NUMERIC:
            found.append(column.to_numpy(float))
            continue
        places = {category: i for i, category in enumerate(feature.categories)}
        codes = [
            -1 if is_missing(value) else places.get(value, len(places))
            for value in column
        ]
        found.append(np.array(codes, np.intp))
    return found


def numbers(rows: pd.DataFrame) -> Floats:
    """A table of numbers and codes as an array."""
    found: Floats = np.column_stack(
        [rows[name].astype(float).to_numpy() for name in rows]
    )
    return found


def as_rows(forest: ir.Forest, rows: pd.DataFrame) -> list[ir.Row]:
    return [
        tuple(None if is_missing(value) else value for value in row)
        for row in rows[[f.name for f in forest.features]].itertuples(index=False)
    ]


def differing(forest: ir.Forest, rows: pd.DataFrame, expected: Array) -> int:
    """How many margins are not those of the library, bit for bit."""
    wanted = np.asarray(expected, dtype=float).reshape(len(rows), -1) + 0.0
    found = batch.margins(forest, columns(forest, rows), len(rows))
    assert found.shape == wanted.shape
    some = list(range(0, len(rows), max(1, len(rows) // 20)))
    for place, row in zip(some, as_rows(forest, rows.iloc[some]), strict=True):
        assert forests.margins(forest, row) == tuple(found[place])
    return int((found.view(np.int64) != wanted.view(np.int64)).sum())


def ulps(found: Array, expected: Array, kind: Any) -> int:
    """The greatest distance, in units of the last place."""
    whole: Any = np.int32 if kind is np.float32 else np.int64
    pair: list[Array] = [
        np.ascontiguousarray(each, dtype=kind) for each in (found, expected)
    ]
    assert bool((pair[0].shape == pair[1].shape) and np.all(pair[0] * pair[1] >= 0))
    one, other = (each.view(whole).astype(np.int64) for each in pair)
    return int(np.abs(one - other).max())


def frame_of(array: Array, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(names, array.T, strict=True)))


TABLES = Path(__file__).parents[1] / "tables"
REAL = {
    "penguins.csv": "species",
    "titanic_all.csv": "survived",
    "churn.csv": "churn",
    "hmda.csv": "deny",
    "attrition.csv": "Attrition",
    "mpg.csv": "hwy",
}


def real(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """A real table: numbers, and text as categories. And its target."""
    table = pd.read_csv(TABLES / name).dropna(axis="columns", how="all")
    target = table.pop(REAL[name])
    for column in table:
        numeric = pd.api.types.is_numeric_dtype(table[column])
        table[column] = table[column].astype(float if numeric else "category")
    return table[target.notna()], target[target.notna()]


def as_categories(forest: ir.Forest, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with columns of categories, in another order than in the model."""
    made = {}
    for feature in forest.features:
        column = rows[feature.name]
        if feature.kind is not ir.Kind.NUMERIC:
            known = list(dict.fromkeys(v for v in column if not is_missing(v)))
            column = pd.Series(pd.Categorical(column, categories=known[::-1]))
        made[feature.name] = column
    return pd.DataFrame(made)


def damaged(data: bytes, mutants: int, seed: int = 0) -> Iterable[bytes]:
    """A file cut off at many places, and with bytes changed, taken out and doubled."""
    for part in range(50):
        yield data[: len(data) * part // 50]
    dice = Random(seed)
    for _ in range(mutants):
        changed = bytearray(data)
        for _ in range(dice.choice((1, 1, 2, 5))):
            place = dice.randrange(len(changed))
            match dice.randrange(4):
                case 0:
                    changed[place] = dice.randrange(256)
                case 1:
                    changed[place] = dice.choice(b"0123456789-,. []{}:e=\n\x00\xff")
                case 2:
                    del changed[place : place + dice.randrange(1, 40)]
                case _:
                    some = changed[place : place + dice.randrange(1, 60)]
                    changed[place:place] = some
        yield bytes(changed)


def survives(read: Callable[[bytes], ir.NotedForest], data: bytes) -> bool:
    """Whether a damaged file is still read: as a model, or else with one line."""
    try:
        program = read(data).program
    except ModelFileError as error:
        message = str(error)
    else:
        assert loads_any(dumps(program)) == program
        return True
    assert message
    assert "\n" not in message
    return False
