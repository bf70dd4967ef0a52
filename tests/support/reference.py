"""The tables and reference results in tests/oracles/data, as data frames and dicts.

The README.md beside them says where each comes from.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path(__file__).resolve().parents[1] / "oracles" / "data"

Categories = list[str] | None  # None: the column is numeric


@dataclass(frozen=True)
class Table:
    target: str
    labels: list[str]  # none: the target is a number
    attributes: dict[str, Categories]  # all columns but the target
    train: pd.DataFrame
    test: pd.DataFrame | None

    @property
    def columns(self) -> dict[str, Categories]:
        """The attributes and the target behind them."""
        return {**self.attributes, self.target: self.labels or None}


@cache
def results(name: str) -> Any:
    """The contents of a JSON file."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


@cache
def read_table(name: str) -> Table:
    declared = results("tables")[name]
    target, labels = declared["target"], declared["labels"]
    attributes: dict[str, Categories] = {
        attribute: None if values == "numeric" else values
        for attribute, values in declared["attributes"].items()
    }
    parts = {
        part: _frame(DATA / file, {**attributes, target: labels or None}, target)
        for part, file in declared["files"].items()
    }
    return Table(target, labels, attributes, parts["train"], parts.get("test"))


def _frame(path: Path, columns: dict[str, Categories], target: str) -> pd.DataFrame:
    """Categories keep their declared order; an empty cell is a missing value."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(columns)
    frame: dict[str, Any] = {}
    for index, (name, categories) in enumerate(columns.items()):
        cells = [row[index] or None for row in rows]
        if categories is None:
            numbers = [float("nan") if c is None else float(c) for c in cells]
            frame[name] = numbers
        elif name == target:
            frame[name] = cells
        else:
            frame[name] = pd.Categorical(cells, categories=categories)
    return pd.DataFrame(frame)
