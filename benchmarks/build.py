"""How long `build` takes, compared with `learn` and three times `emit`.

    python benchmarks/build.py            # real tables of tests/tables
    python benchmarks/build.py --quick    # two of them

Every command runs in a process of its own, as users run it. `build` also verifies the
Python and the SQL, and compares other forms of the model.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from common import print_table, race

import treecompile

TABLES = Path(__file__).parent.parent / "tests" / "tables"
NAMES = (
    *("vote.arff", "soybean.arff", "car.arff", "credit-g.arff", "mushroom.arff"),
    *("glass.arff", "wdbc.csv", "churn.csv", "diabetes.arff"),
)


def command(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "treecompile", *arguments, "-q", "--force"], check=True
    )


def measure(name: str, target: str, rounds: int) -> list[str]:
    data = str(TABLES / name)
    with TemporaryDirectory() as folder:

        def inside(file: str) -> str:
            return str(Path(folder) / file)

        def steps() -> None:
            model = inside("model.json")
            command("learn", data, "--target", target, "-o", model)
            for to in ("python", "sql", "markdown"):
                command("emit", model, "--to", to, "-o", inside(to))

        def build() -> None:
            command("build", data, "--target", target, "--out", inside("out"))

        taken = race({"learn and emit": steps, "build": build}, rounds)
        leaves = treecompile.load(inside("model.json")).n_leaves
    return [
        name,
        str(leaves),
        f"{taken['learn and emit'].seconds:.2f} s",
        f"{taken['build'].seconds:.2f} s",
        f"{taken['build'].ratio:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    listed = tomllib.loads((TABLES / "tables.toml").read_text(encoding="utf-8"))
    chosen = NAMES[: 2 if options.quick else None]
    rows = [measure(name, listed[name]["target"], options.rounds) for name in chosen]
    heads = ["table", "leaves", "learn + emit", "build", "build / (learn + emit)"]
    print_table("`build` beside its parts", heads, rows)


if __name__ == "__main__":
    main()
