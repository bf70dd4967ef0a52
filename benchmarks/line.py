"""From a CSV file to a measured tree, beside `read_csv`, `fit` and `score`.

    python benchmarks/line.py [--quick] [--rows N] [--rounds N]

Ten columns of numbers, two labels, depth 8. pandas reads the file with its pyarrow
engine. Our `learn` reads it too, and measures the tree; it also looks for columns that
are not what they seem. Only the ratios count.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from common import duration, print_machine, print_table, race
from sklearn.tree import DecisionTreeClassifier

import treecompile
from treecompile.tables.columns import Raw
from treecompile.tables.read import read_table

DEPTH = 8
NAMES = [f"x{place}" for place in range(10)]


def write(path: Path, rows: int) -> None:
    random = np.random.default_rng(rows)
    # scikit-learn works on 32-bit floats: round, so that both see the same numbers.
    x = random.normal(size=(rows, len(NAMES))).astype(np.float32).astype(np.float64)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + np.abs(x[:, 3]) + random.normal(size=rows)
    frame = pd.DataFrame(x, columns=NAMES)
    frame["y"] = np.where(signal > 0.8, "yes", "no")
    frame.to_csv(path, index=False)


def their_line(frame: pd.DataFrame) -> DecisionTreeClassifier:
    x, y = frame[NAMES].to_numpy(), frame["y"].to_numpy()
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(x, y)
    assert tree.score(x, y) > 0.5
    return tree


def our_line(data: str | pd.DataFrame) -> treecompile.Model:
    return treecompile.learn(
        data, target="y", algorithm="cart", prune="none", max_depth=DEPTH
    )


def numbers(path: str) -> None:
    """Read the file, and make numbers of its columns."""
    table = read_table(path)
    for name in NAMES:
        assert Raw.of(table, name, frozenset()).numbers() is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 rows, once")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows, rounds = (50_000, 1) if options.quick else (options.rows, options.rounds)
    print_machine("scikit-learn", "pandas", "pyarrow", "treecompile")
    with tempfile.TemporaryDirectory(prefix="treecompile-line-") as folder:
        path = Path(folder) / "rows.csv"
        write(path, rows)
        file = str(path)
        frame = pd.read_csv(file, engine="pyarrow")
        contests: dict[str, dict[str, Callable[[], object]]] = {
            "read": {
                "pandas": lambda: pd.read_csv(file, engine="pyarrow"),
                "treecompile": lambda: numbers(file),
            },
            "learn from a frame": {
                "scikit-learn": lambda: their_line(frame),
                "treecompile": lambda: our_line(frame),
            },
            "the whole line": {
                "scikit-learn": lambda: their_line(pd.read_csv(file, engine="pyarrow")),
                "treecompile": lambda: our_line(file),
            },
        }
        cells = []
        for what, contestants in contests.items():
            for name, timing in race(contestants, rounds).items():
                taken = duration(timing.seconds)
                cells.append([what, name, taken, f"{timing.ratio:.2f}"])
    heads = ["what", "by", "best", "ratio to the first"]
    print_table(f"{rows:,} rows of {len(NAMES)} numbers", heads, cells)


if __name__ == "__main__":
    main()
