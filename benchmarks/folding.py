"""How long it takes to fold a pipeline of 1,000 thresholds into its tree.

    python benchmarks/folding.py            # --quick, --rounds N, --leaves N

The answers of the folded tree are compared with those of the pipeline first. The aim is
less than 2 s.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from common import duration, numbers, print_machine, print_table, race
from sklearn import preprocessing as pp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import treecompile

NUMBERS = [f"x{i}" for i in range(8)]
TEXTS = ["c0", "c1"]


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Positive numbers with missing values, two columns of texts, labels by chance."""
    random = np.random.default_rng(3)
    values = np.exp(numbers(rows, len(NUMBERS)))
    values[random.random(values.shape) < 0.02] = np.nan
    X = pd.DataFrame(values, columns=NUMBERS)
    for name in TEXTS:
        X[name] = random.choice([f"v{k}" for k in range(12)], rows)
    return X, random.integers(0, 2, rows)


def pipelines() -> dict[str, Any]:
    """Transformers for the numbers; all have the same encoder for the texts."""
    fill = SimpleImputer
    return {
        "StandardScaler": [(make_pipeline(fill(), pp.StandardScaler()), NUMBERS)],
        "PowerTransformer": [(make_pipeline(fill(), pp.PowerTransformer()), NUMBERS)],
        "QuantileTransformer": [
            (make_pipeline(fill(), pp.QuantileTransformer()), NUMBERS)
        ],
        "KBinsDiscretizer(50)": [
            (
                make_pipeline(
                    fill(),
                    pp.KBinsDiscretizer(
                        50, encode="ordinal", quantile_method="averaged_inverted_cdf"
                    ),
                ),
                NUMBERS,
            )
        ],
        "four of them, and log1p": [
            (make_pipeline(fill(), pp.StandardScaler()), NUMBERS[:2]),
            (make_pipeline(fill(), pp.PowerTransformer()), NUMBERS[2:4]),
            (make_pipeline(fill(), pp.QuantileTransformer()), NUMBERS[4:6]),
            (pp.FunctionTransformer(np.log1p), NUMBERS[6:]),
        ],
    }


def measure(name: str, parts: Any, rows: int, leaves: int, rounds: int) -> list[str]:
    X, y = table(rows)
    encoder = pp.OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(*parts, (encoder, TEXTS))
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    pipeline = make_pipeline(columns, tree).fit(X, y)
    model = treecompile.from_sklearn(pipeline)
    wrong = int((model.predict(X).to_numpy() != pipeline.predict(X)).sum())
    taken = race({"fold": lambda: treecompile.from_sklearn(pipeline)}, rounds)
    return [
        name,
        str(leaves - 1),
        str(model.n_leaves),
        str(wrong),
        duration(taken["fold"].seconds),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--leaves", type=int, default=1_001)
    options = parser.parse_args()
    rows = 5_000 if options.quick else 20_000
    print_machine("treecompile", "scikit-learn", "numpy")
    lines = [
        measure(name, parts, rows, options.leaves, options.rounds)
        for name, parts in pipelines().items()
    ]
    heads = ["transformers", "thresholds", "leaves when folded", "wrong rows", "time"]
    print_table("`from_sklearn` of a pipeline", heads, lines)


if __name__ == "__main__":
    main()
