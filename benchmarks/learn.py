"""How fast CART and C4.5 learn, compared with their peers on the same arrays.

    python benchmarks/learn.py [--quick] [--repeats N]

Prints Markdown. Contestants take turns, and the best time of each counts, so that other
work on the machine affects all equally: trust the ratios, not the seconds. Peak memory
is measured in a separate process.
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
from learn_peers import PEERS, Problem, versions

import treecompile
from treecompile.learning import cart
from treecompile.learning.c45 import learner as c45
from treecompile.learning.c45.learner import C45Options
from treecompile.learning.options import GrowthLimits
from treecompile.model.ir import Feature, Kind, Tree, ValueType
from treecompile.tables.dataset import Dataset

ROOT = Path(__file__).resolve().parent.parent
LABELS = ("no", "yes")
NONE = np.zeros((0, 0), np.int32)  # no categories
CART, C45, GROWN = "CART", "C4.5", "C4.5, not pruned"


def numbers(rows: int, columns: int) -> tuple[Any, Any]:
    """Normal columns, of which four matter, and a noisy numeric target."""
    random = np.random.default_rng(rows + columns)
    # scikit-learn works on 32-bit floats: round, so that all see the same numbers.
    x = random.normal(size=(rows, columns)).astype(np.float32).astype(np.float64)
    signal = x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3]
    return x, signal + random.normal(scale=0.5, size=rows)


def categories(rows: int) -> tuple[Any, Any, Any]:
    """Twelve columns of 2 to 20 categories, four numeric ones, and the labels."""
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


def ours(data: Dataset, algorithm: str, depth: int | None) -> Tree:
    if algorithm == CART:
        return cart.learn(data, GrowthLimits(max_depth=depth), _silent)
    limits = GrowthLimits(max_depth=depth, min_leaf=2)
    return c45.learn(data, limits, _silent, C45Options(is_pruning=algorithm == C45))


def _silent(rows: int) -> None:
    """Ignore progress."""


def race(repeats: int, *contestants: Callable[[], Any]) -> list[tuple[float, Any]]:
    """The best time of each contestant, taking turns, and its result."""
    best: list[tuple[float, Any]] = [(float("inf"), None)] * len(contestants)
    for _ in range(repeats):
        for place, contestant in enumerate(contestants):
            started = time.perf_counter()
            made = contestant()
            spent = time.perf_counter() - started
            best[place] = min(best[place], (spent, made), key=lambda each: each[0])
    return best


def against_peers(quick: bool, repeats: int) -> None:
    print(f"| data | algorithm | depth | treecompile | {' | '.join(PEERS)} | nodes |")
    print(f"|---|---|---|---|{'---|' * len(PEERS)}---|")
    small = 5_000 if quick else 100_000
    for rows, columns, depths in (
        (small, 20, (8, None)),
        (10 * small, 10, (8,)),
    ):
        x, signal = numbers(rows, columns)
        labels = (signal > 0).astype(np.int32)
        turns = 1 if rows > 500_000 else repeats
        for depth in depths:
            size = f"{rows:,} x {columns} numeric"
            problem = Problem(NONE, x, labels, True, depth)
            compare(f"{size}, labels", CART, problem, turns)
            compare(
                f"{size}, numbers", CART, Problem(NONE, x, signal, False, depth), turns
            )
            for algorithm in (GROWN, C45)[rows > 500_000 :]:
                problem = Problem(NONE, x, labels, True, depth, is_c45=True)
                compare(f"{size}, labels", algorithm, problem, turns)
    codes, x, y = categories(small)
    for depth in (8, None):
        for algorithm in (CART, C45):
            problem = Problem(codes, x, y, True, depth, is_c45=algorithm != CART)
            name = f"{small:,} x (12 categorical + 4 numeric), labels"
            compare(name, algorithm, problem, repeats)


def compare(name: str, algorithm: str, problem: Problem, repeats: int) -> None:
    """Print a line: our time, and each peer's time with its ratio to ours."""
    labels = LABELS if problem.is_labels else ()
    data = dataset(problem.codes, problem.x, problem.y, labels)
    runs = [peer(problem) for peer in PEERS.values()]
    available = [run for run in runs if run is not None]
    mine, *others = race(
        repeats,
        lambda: len(ours(data, algorithm, problem.depth).nodes),
        *available,
    )
    found = dict(zip(available, others, strict=True))
    cells, nodes = [], [f"{mine[1]:,}"]
    for run in runs:
        if run is None:
            cells.append("-")
            continue
        spent, made = found[run]
        cells.append(f"{spent:.3f} s, {spent / mine[0]:.1f}x")
        nodes.append(f"{made:,}")
    print(
        f"| {name} | {algorithm} | {problem.depth or 'full'} | {mine[0]:.3f} s "
        f"| {' | '.join(cells)} | {' / '.join(nodes)} |",
        flush=True,
    )


def scaling(quick: bool) -> None:
    every = (1_000, 10_000) if quick else (10_000, 30_000, 100_000, 300_000, 10**6)
    for algorithm in (CART, C45):
        print(f"\n| rows x 10 numeric, {algorithm} to depth 8 | time ", end="")
        print("| per row and log2(rows) | peak memory |\n|---|---|---|---|")
        for rows in every:
            spent = time_of(rows, 10, algorithm)
            each = spent / rows / np.log2(rows) * 1e9
            peaked = peak(rows, algorithm)
            print(
                f"| {rows:,} | {spent:.3f} s | {each:.0f} ns | {peaked:.1f}x |",
                flush=True,
            )
    rows = 2_000 if quick else 30_000
    for algorithm in (CART, C45):
        print(f"\n| features, {rows:,} rows, {algorithm} to depth 8 | time ", end="")
        print("| per feature |\n|---|---|---|")
        for columns in (5, 10, 20, 40, 80):
            spent = time_of(rows, columns, algorithm)
            each = f"{spent / columns * 1e3:.1f} ms"
            print(f"| {columns} | {spent:.3f} s | {each} |", flush=True)


def time_of(rows: int, columns: int, algorithm: str) -> float:
    x, signal = numbers(rows, columns)
    data = dataset(NONE, x, (signal > 0).astype(np.int32), LABELS)
    ((spent, _),) = race(3, partial(ours, data, algorithm, 8))
    return spent


def peak(rows: int, algorithm: str) -> float:
    """Peak memory minus that of an idle process, in multiples of the data's size."""
    command = [sys.executable, __file__, "--memory", str(rows), algorithm]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(text)


def measure_memory(rows: int, algorithm: str) -> None:
    x, signal = numbers(1_000, 10)
    small = dataset(NONE, x, (signal > 0).astype(np.int32), LABELS)
    ours(small, algorithm, 8)  # load all code
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the peak
    idle = highest()
    random = np.random.default_rng(0)
    columns = [random.normal(size=rows) for _ in range(10)]  # the only copy
    y = (columns[0] + columns[1] * columns[2] > 0).astype(np.int32)
    features = tuple(Feature(f"x{j}", Kind.NUMERIC, ValueType.FLOAT) for j in range(10))
    ours(Dataset("y", features, tuple(columns), LABELS, y, (), ""), algorithm, 8)
    print((highest() - idle) / (rows * 10 * 8))


def highest() -> int:
    """The peak of resident bytes; getrusage would include the parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def command_line() -> None:
    """Time the tennis example, 14 rows, from the command to the model file."""
    table = ROOT / "examples" / "tennis" / "tennis.csv"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "treecompile", "learn", str(table)]
        command += ["--target", "play", "-q", "-o", str(Path(folder) / "model.json")]
        ((spent, _),) = race(5, lambda: subprocess.run(command, check=True, cwd=ROOT))
    print(f"\n14 rows from the command line, including Python's start: {spent:.3f} s")


def chain() -> None:
    """Time a chain: with alternating labels, each split takes one case off an end."""
    x = np.arange(4_000.0)[:, None]
    data = dataset(NONE, x, np.arange(4_000) % 2, LABELS)
    ((spent, tree),) = race(1, lambda: ours(data, CART, 2_000))
    nodes = f"{len(tree.nodes):,} nodes"
    print(f"\nA chain of 2,000 levels, 4,000 rows: {spent:.3f} s, {nodes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        rows, algorithm = options.memory
        measure_memory(int(rows), algorithm)
        return
    print(
        f"treecompile {treecompile.__version__}, {versions()}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"{platform.machine()}; load at the start {os.getloadavg()[0]:.1f}\n"
    )
    against_peers(options.quick, 1 if options.quick else options.repeats)
    scaling(options.quick)
    chain()
    command_line()
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
