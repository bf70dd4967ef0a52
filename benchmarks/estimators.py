"""What `fit` of an estimator costs beside the learner alone.

    python benchmarks/estimators.py            # --quick, --rounds N

Both get the same frame in memory and the same options, and must learn the same tree.
The aim is at most 5 % more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import duration, numbers, print_machine, print_table, race

import treecompile
from treecompile.sklearn import TreeClassifier, TreeRegressor
from treecompile.sklearn.frames import kinds_of

TABLES = Path(__file__).parent.parent / "tests" / "tables"


def noise(rows: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Ten columns of numbers, and a label that depends on three of them."""
    values = numbers(rows)
    signal = values[:, 0] + values[:, 1] * values[:, 2]
    noisy = signal + np.random.default_rng(1).normal(size=rows)
    X = pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])
    return X, pd.Series(np.where(noisy > 0, "yes", "no"), name="answer")


def mixed(rows: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Four columns of numbers with missing values, and four of categories."""
    X, y = noise(rows)
    random = np.random.default_rng(2)
    X = X.iloc[:, :4].mask(random.random((rows, 4)) < 0.05)
    for i in range(4):
        X[f"c{i}"] = random.choice([f"v{k}" for k in range(8)], rows)
    return X, y


def real(name: str, target: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    frame = pd.read_csv(TABLES / name)
    return frame.drop(columns=target), frame[target]


def measure(
    name: str, X: pd.DataFrame, y: pd.Series[Any], estimator: Any, rounds: int
) -> list[str]:
    is_class = isinstance(estimator, TreeClassifier)
    options: dict[str, Any] = {"algorithm": "cart", "alpha": 0.01, **kinds_of(X)}
    options["task"] = "classify" if is_class else "regress"
    frame = X.assign(**{str(y.name): y})

    def alone() -> treecompile.Model:
        return treecompile.learn(frame, target=str(y.name), **options)

    def fit() -> Any:
        return estimator.fit(X, y)

    assert alone().program.body == fit().model_.program.body
    taken = race({"learn": alone, "fit": fit}, rounds)
    return [
        name,
        f"{len(X):,}",
        str(estimator.get_n_leaves()),
        duration(taken["learn"].seconds),
        duration(taken["fit"].seconds),
        f"{taken['fit'].ratio:.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    rows = 5_000 if options.quick else 100_000
    tables: dict[str, tuple[Callable[[], Any], Any]] = {
        "penguins.csv": (
            lambda: real("penguins.csv", "species"),
            TreeClassifier("cart"),
        ),
        "churn.csv": (lambda: real("churn.csv", "churn"), TreeClassifier("cart")),
        "10 numbers": (lambda: noise(rows), TreeClassifier("cart")),
        "numbers and categories": (lambda: mixed(rows), TreeClassifier("cart")),
        "10 numbers, regression": (
            lambda: (noise(rows)[0], noise(rows)[0]["x0"].rename("y") ** 2),
            TreeRegressor(),
        ),
    }
    print_machine("treecompile", "scikit-learn", "pandas")
    lines = [
        measure(name, *make(), estimator, options.rounds)
        for name, (make, estimator) in tables.items()
    ]
    heads = ["table", "rows", "leaves", "learn", "fit", "fit / learn"]
    print_table("`fit` beside `learn`", heads, lines)


if __name__ == "__main__":
    main()
