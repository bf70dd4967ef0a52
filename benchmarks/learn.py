"""How fast CART learns, against scikit-learn on the same arrays in the same run.

    python benchmarks/learn.py [--quick] [--repeats N]

Prints Markdown. Contestants take turns and the least time of each counts, so that other
work on the machine hurts both alike; trust the ratios, not the seconds. Peak memory is
measured in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treecompile
from treecompile.data import Dataset
from treecompile.ir import Feature, Kind, Tree, ValueType
from treecompile.learners import cart
from treecompile.learners.limits import Limits

ROOT = Path(__file__).resolve().parent.parent
LABELS = ("no", "yes")


def numbers(rows: int, columns: int) -> tuple[Any, Any]:
    """Normal columns, of which four tell something, and the signal with noise."""
    random = np.random.default_rng(rows + columns)
    # scikit-learn compares single floats: both learn from the same numbers.
    x = random.normal(size=(rows, columns)).astype(np.float32).astype(np.float64)
    signal = x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3]
    return x, signal + random.normal(scale=0.5, size=rows)


def categories(rows: int) -> tuple[Any, Any, Any]:
    """Twelve columns of 2 to 20 categories, four of numbers, and a label."""
    random = np.random.default_rng(rows)
    sizes = [2, 3, 4, 5, 6, 8, 8, 10, 12, 15, 20, 20]
    codes = np.column_stack([random.integers(0, size, rows) for size in sizes])
    x = random.normal(size=(rows, 4)).astype(np.float32).astype(np.float64)
    effects = [random.normal(size=size) for size in sizes]
    signal = sum(effects[j][codes[:, j]] for j in (3, 7, 11)) + x[:, 0]
    return codes, x, (signal + random.normal(size=rows) > 0).astype(np.int32)


def dataset(codes: Any, x: Any, y: Any, labels: tuple[str, ...]) -> Dataset:
    features, columns = [], []
    for j in range(codes.shape[1]):
        names = tuple(f"c{code:02}" for code in range(codes[:, j].max() + 1))
        features.append(Feature(f"c{j}", Kind.CATEGORICAL, ValueType.STR, names))
        columns.append(codes[:, j].astype(np.int32))
    for j in range(x.shape[1]):
        features.append(Feature(f"x{j}", Kind.NUMERIC, ValueType.FLOAT))
        columns.append(np.ascontiguousarray(x[:, j]))
    return Dataset("y", tuple(features), tuple(columns), labels, y, (), "")


def ours(data: Dataset, depth: int | None) -> Tree:
    return cart.learn(data, Limits(max_depth=depth), lambda rows: None)


def race(repeats: int, *contestants: Callable[[], Any]) -> list[tuple[float, Any]]:
    """The least time of each, taking turns, and what it made."""
    best: list[tuple[float, Any]] = [(float("inf"), None)] * len(contestants)
    for _ in range(repeats):
        for place, contestant in enumerate(contestants):
            started = time.perf_counter()
            made = contestant()
            spent = time.perf_counter() - started
            best[place] = min(best[place], (spent, made), key=lambda each: each[0])
    return best


def against_sklearn(quick: bool, repeats: int) -> None:
    print("| data | depth | treecompile | scikit-learn | faster | nodes |")
    print("|---|---|---|---|---|---|")
    none = np.zeros((0, 0), np.int32)
    small = 5_000 if quick else 100_000
    for rows, columns, depths in (
        (small, 20, (8, None)),
        (10 * small, 10, (8,)),
    ):
        x, signal = numbers(rows, columns)
        for task, labels in (("labels", LABELS), ("numbers", ())):
            y = (signal > 0).astype(np.int32) if labels else signal
            data = dataset(none, x, y, labels)
            for depth in depths:
                show(
                    f"{rows:,} x {columns} numeric, {task}",
                    depth,
                    *race(
                        1 if rows > 500_000 else repeats,
                        partial(ours, data, depth),
                        partial(fit, x, y, depth, bool(labels)),
                    ),
                )
    codes, x, y = categories(small)
    data = dataset(codes, x, y, LABELS)
    for depth in (8, None):

        def encoded(depth: int | None = depth) -> Any:
            wide = OneHotEncoder(sparse_output=False).fit_transform(codes)
            return fit(np.hstack([wide, x]), y, depth, True)

        show(
            f"{small:,} x (12 categorical + 4 numeric), labels",
            depth,
            *race(repeats, partial(ours, data, depth), encoded),
        )


def fit(x: Any, y: Any, depth: int | None, is_labels: bool) -> Any:
    kind = DecisionTreeClassifier if is_labels else DecisionTreeRegressor
    return kind(max_depth=depth, random_state=0).fit(x, y)


def show(
    data: str, depth: int | None, mine: tuple[float, Any], theirs: tuple[float, Any]
) -> None:
    nodes = f"{len(mine[1].nodes):,} / {theirs[1].tree_.node_count:,}"
    print(
        f"| {data} | {depth or 'full'} | {mine[0]:.2f} s | {theirs[0]:.2f} s "
        f"| {theirs[0] / mine[0]:.1f}x | {nodes} |",
        flush=True,
    )


def scaling(quick: bool) -> None:
    print("\n| rows x 10 numeric | depth 8 | per row and log2(rows) | peak memory |")
    print("|---|---|---|---|")
    for rows in (1_000, 10_000) if quick else (10_000, 30_000, 100_000, 300_000, 10**6):
        x, signal = numbers(rows, 10)
        y = (signal > 0).astype(np.int32)
        data = dataset(np.zeros((0, 0), np.int32), x, y, LABELS)
        ((spent, _),) = race(3, partial(ours, data, 8))
        each = spent / rows / np.log2(rows) * 1e9
        print(
            f"| {rows:,} | {spent:.3f} s | {each:.0f} ns | {peak(rows):.1f}x |",
            flush=True,
        )


def peak(rows: int) -> float:
    """Peak memory with the data in it, less an idle process, in sizes of the data."""
    command = [sys.executable, __file__, "--memory", str(rows)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(text)


def measure_memory(rows: int) -> None:
    x, signal = numbers(1_000, 10)
    none = np.zeros((0, 0), np.int32)
    ours(dataset(none, x, (signal > 0).astype(np.int32), LABELS), 8)  # loads all code
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak
    idle = highest()
    random = np.random.default_rng(0)
    columns = [random.normal(size=rows) for _ in range(10)]  # once, nothing else
    y = (columns[0] + columns[1] * columns[2] > 0).astype(np.int32)
    features = tuple(Feature(f"x{j}", Kind.NUMERIC, ValueType.FLOAT) for j in range(10))
    ours(Dataset("y", features, tuple(columns), LABELS, y, (), ""), 8)
    print((highest() - idle) / (rows * 10 * 8))


def highest() -> int:
    """The most bytes that were resident; getrusage would count the parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def command_line() -> None:
    """The 14 rows of the tennis example, from start to model file."""
    table = ROOT / "examples" / "tennis" / "tennis.csv"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "treecompile", "learn", str(table)]
        command += ["--target", "play", "-q", "-o", str(Path(folder) / "model.json")]
        ((spent, _),) = race(5, lambda: subprocess.run(command, check=True, cwd=ROOT))
    print(f"\n14 rows from the command line, Python's start included: {spent:.2f} s")


def chain() -> None:
    """Alternating labels: the best cut takes one case off an end, level after level."""
    x = np.arange(4_000.0)[:, None]
    data = dataset(np.zeros((0, 0), np.int32), x, np.arange(4_000) % 2, LABELS)
    ((spent, tree),) = race(1, lambda: ours(data, 2_000))
    nodes = f"{len(tree.nodes):,} nodes"
    print(f"\nA chain of 2,000 levels, 4,000 rows: {spent:.2f} s, {nodes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.memory)
        return
    print(
        f"treecompile {treecompile.__version__}, scikit-learn {sklearn.__version__}, "
        f"numpy {np.__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {platform.machine()}\n"
    )
    against_sklearn(options.quick, 1 if options.quick else options.repeats)
    scaling(options.quick)
    chain()
    command_line()


if __name__ == "__main__":
    main()
