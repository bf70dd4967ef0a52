"""Compare the speed of two versions of treecompile by one of the benchmarks.

    python benchmarks/compare.py [--rounds N] OTHER_TREE learn.py --quick

OTHER_TREE is another checkout. The benchmark of each tree runs with the code of that
tree, in turn, N times. For every time that it prints, the best round of this tree is
compared with the best round of the other. Peers do not depend on treecompile: if their
ratios are far from 1, the machine is too busy.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
TIME = re.compile(r"(?<![\w.])([0-9.]+) (s|ms|us|ns)\b")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
FIGURE = re.compile(r"[0-9][0-9.,]*(x| GB| MB| %)?")

Line = tuple[list[str], list[float]]  # labels and times in seconds


def run(tree: Path, arguments: list[str]) -> list[Line]:
    """The lines with times that a benchmark prints."""
    script, *options = arguments
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, str(tree / "benchmarks" / script), *options]
    text = subprocess.check_output(command, cwd=tree, env=environment, text=True)
    found, title, heads = [], "", [""]
    for line in text.splitlines():
        inner = line.strip().removeprefix("|").removesuffix("|")
        cells = [cell.strip() for cell in inner.split("|")]
        labels, times = [], []
        for column, cell in enumerate(cells):
            for amount, unit in TIME.findall(cell):
                parts = (title, row_name(cells), heads[column])
                labels.append(" / ".join(filter(None, parts)))
                times.append(float(amount) * UNITS[unit])
        if times:
            found.append((labels, times))
        elif line.startswith("#"):
            title = line.strip("# ").partition(":")[0]
        elif line.startswith("| "):
            heads = cells
        elif not line.startswith("|"):
            heads = [""]
    return found


def row_name(cells: list[str]) -> str:
    """The cells that hold more than a figure, or the first cell."""
    texts = [c for c in cells if re.search("[A-Za-z]", FIGURE.sub("", TIME.sub("", c)))]
    return ", ".join(texts) or cells[0]


def best(runs: list[list[Line]]) -> list[Line]:
    """The best of all rounds for each time in the output."""
    found = []
    for same in zip(*runs, strict=True):
        rounds = zip(*(times for _, times in same), strict=True)
        found.append((same[0][0], [min(times) for times in rounds]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("benchmark", nargs=argparse.REMAINDER, help="learn.py --quick")
    options = parser.parse_args()
    trees = options.other.resolve(), ROOT
    runs: tuple[list[list[Line]], list[list[Line]]] = ([], [])
    for _ in range(options.rounds):
        for tree, found in zip(trees, runs, strict=True):
            found.append(run(tree, options.benchmark))
    print("| line | other | this | this / other |\n|---|---|---|---|")
    ratios = []
    for (_, before), (labels, after) in zip(*map(best, runs), strict=True):
        for name, old, new in zip(labels, before, after, strict=True):
            ratios.append(new / old)
            print(f"| {name} | {old:.3g} s | {new:.3g} s | {new / old:.2f} |")
    print(f"\nMedian ratio: {median(ratios):.3f}")


if __name__ == "__main__":
    main()
