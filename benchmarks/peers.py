"""Other code generators, each run in its own process.

    python peers.py TOOL TARGET TIMES < estimator.pickle

prints JSON: the text that TOOL generates for the scikit-learn tree, the seconds it
takes, and the peak memory. ORBITAL_PYTHON names an interpreter that has orbital, and
likewise M2CGEN_PYTHON and SKOMPILER_PYTHON; the default is this interpreter.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

TABLE = "bench_rows"


def column_names(estimator: Any) -> list[str]:
    return [f"x{position}" for position in range(estimator.n_features_in_)]


def treecompile(estimator: Any, target: str) -> Callable[[], str]:
    from treecompile import from_sklearn

    model = from_sklearn(estimator, feature_names=column_names(estimator))
    if target in ("python", "markdown"):
        return lambda: model.emit(target)
    return lambda: model.emit("sql", dialect=target)


def m2cgen(estimator: Any, target: str) -> Callable[[], str]:
    import m2cgen

    return lambda: str(m2cgen.export_to_python(estimator))


def skompiler(estimator: Any, target: str) -> Callable[[], str]:
    from skompiler import skompile

    dialect = {"sqlite": "sqlite", "python": ""}.get(target, "postgresql")

    def make() -> str:
        expression = skompile(estimator.predict, inputs=column_names(estimator))
        if not dialect:
            return str(expression.to("python/code"))
        text = expression.to(f"sqlalchemy/{dialect}", from_obj=TABLE)
        return f"SELECT y FROM ({text}) AS answers"

    return make


def orbital(estimator: Any, target: str) -> Callable[[], str]:
    import orbital
    from orbital.types import DoubleColumnType
    from sklearn.pipeline import Pipeline

    columns = {name: DoubleColumnType() for name in column_names(estimator)}
    pipeline = Pipeline([("tree", estimator)])

    def make() -> str:
        parsed = orbital.parse_pipeline(pipeline, features=columns)
        text = orbital.export_sql(TABLE, parsed, dialect=target)
        return f"SELECT output_label AS y FROM ({text}) AS answers"

    return make


TOOLS = {
    "treecompile": treecompile,
    "m2cgen": m2cgen,
    "SKompiler": skompiler,
    "orbital": orbital,
}


@dataclass(frozen=True, slots=True)
class Made:
    """What a tool generated, or why it failed."""

    text: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0  # peak memory above the start
    problem: str = ""


def make(
    tool: str, target: str, estimator: Any, times: int = 1, limit: int = 60
) -> Made:
    """Generate `times` times within the limit; the best time counts."""
    python = os.environ.get(f"{tool.upper()}_PYTHON", sys.executable)
    try:
        done = subprocess.run(
            [python, __file__, tool, target, str(times)],
            input=pickle.dumps(estimator),
            capture_output=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return Made(problem=f"not done after {limit} s")
    if done.returncode:
        last = done.stderr.decode().strip().splitlines() or ["failed without a message"]
        return Made(problem=last[-1][:80])
    return Made(**json.loads(done.stdout))


def peak_memory() -> float:
    """The peak of this process in megabytes; 0 if the system does not report it."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(tool: str, target: str, times: str) -> None:
    estimator = pickle.load(sys.stdin.buffer)
    sys.setrecursionlimit(100_000)
    run = TOOLS[tool](estimator, target)
    before = peak_memory()
    taken = []
    for _ in range(int(times)):
        start = perf_counter()
        text = run()
        taken.append(perf_counter() - start)
    peak = peak_memory() - before
    found = {"text": text, "seconds": min(taken), "megabytes": peak}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
