"""Costs of knowing a feature's value, and how they combine with its gain."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from treecompile.model.arrays import Floats
from treecompile.model.errors import OptionError
from treecompile.model.files import read_text
from treecompile.model.ir import Feature

USUAL = 1.0  # the cost of a feature for which none is given


def worth_of(
    given: Sequence[tuple[str, float]], features: Sequence[Feature]
) -> Callable[[Floats], Floats]:
    """Return a function from gains (nodes x features) to worth, by the measure EG2."""
    known = dict(given)
    costs = np.array([known.get(feature.name, USUAL) for feature in features])

    def worth(gains: Floats) -> Floats:
        result: Floats = (np.exp2(np.maximum(gains, 0.0)) - 1) / (costs + 1)
        return result

    return worth


def read_costs(path: str | Path) -> tuple[tuple[str, float], ...]:
    """Read the lines `column,cost` of a file; the first may be just these words."""
    text = read_text(path, OptionError, option="costs: ")
    costs: dict[str, float] = {}
    for number, fields in enumerate(csv.reader(text.splitlines()), start=1):
        if not fields or (number == 1 and fields == ["column", "cost"]):
            continue
        where = f"costs: {path}, line {number}"
        if len(fields) != 2:
            raise OptionError(f"{where}: expected two fields, column,cost")
        name = fields[0]
        if name in costs:
            raise OptionError(f"{where}: {name!r} has a cost already: keep one line")
        try:
            costs[name] = float(fields[1])
        except ValueError:
            raise OptionError(
                f"{where}: the cost is {fields[1]!r}: expected a number"
            ) from None
    return tuple(costs.items())


def check_costs(
    costs: Sequence[tuple[str, float]], columns: Sequence[str], target: str
) -> None:
    """Refuse costs that are not above 0, and columns that do not exist."""
    for name, cost in costs:
        if not (isfinite(cost) and cost > 0):
            raise OptionError(
                f"costs: {name!r} costs {cost:g}: expected a number above 0"
            )
        if name == target:
            raise OptionError(f"costs: {name!r} is the target: remove its line")
        if name not in columns:
            raise OptionError(f"costs: no column {name!r}: remove or correct its line")
