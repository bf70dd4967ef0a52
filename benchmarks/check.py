"""Whether anything has become slower: ratios to peers, beside those on record.

    python benchmarks/check.py [--record]

Each figure is the time of a peer divided by ours, measured in turns in one run, so that
a faster or slower machine changes little: above 1, we are faster. Takes a minute.
Exit code 1 if a ratio is more than 20 % below its record. `--record` writes today's
ratios to ratios.toml; do that on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterator
from os import cpu_count, getloadavg
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import load_module, numbers, numeric_tree, race
from databases import ENGINES
from learn import C45, CART, LABELS, NONE, dataset, ours
from learn import numbers as learning_numbers
from learn_peers import Problem, lightgbm_run, sklearn_run
from predict import as_dicts, hand_written, over
from sql import hand_written as hand_written_sql
from sql import over_table

import treecompile
from treecompile.model.ir import Tree

RECORD = Path(__file__).with_name("ratios.toml")
LEAST = 0.8  # of the ratio on record
Ratio = tuple[str, float]  # what is measured; the peer's time divided by ours


def measured(
    what: str, mine: Callable[[], Any], peer: Callable[[], Any], rounds: int
) -> Ratio:
    return what, race({"ours": mine, "peer": peer}, rounds)["peer"].ratio


def learning() -> Iterator[Ratio]:
    x, signal = learning_numbers(300_000, 10)
    classes = (signal > 0).astype(np.int32)
    labels = dataset(NONE, x, classes, LABELS)
    problem = Problem(NONE, x, classes, True, 8)
    run = lightgbm_run(problem)
    assert run is not None
    yield measured(
        "CART, labels, beside LightGBM", lambda: ours(labels, CART, 8), run, 5
    )
    small = slice(0, 50_000)
    few = dataset(NONE, x[small], signal[small], ())
    problem = Problem(NONE, x[small], signal[small], False, None)
    yield measured(
        "CART, numbers, full depth, beside scikit-learn",
        lambda: ours(few, CART, None),
        sklearn_run(problem),
        3,
    )
    few = dataset(NONE, x[small], classes[small], LABELS)
    problem = Problem(NONE, x[small], classes[small], True, 8, is_c45=True)
    yield measured(
        "C4.5, beside scikit-learn", lambda: ours(few, C45, 8), sklearn_run(problem), 3
    )


def predicting() -> Iterator[Ratio]:
    tree = numeric_tree(10)
    names = [f"x{position}" for position in range(10)]
    model = treecompile.from_sklearn(tree, feature_names=names)
    body = model.program.body
    assert isinstance(body, Tree)
    module = load_module(model.emit("python"))
    by_hand = load_module(hand_written(body, checked=True))["predict"]
    rows = numbers(20_000, seed=2)
    dicts = as_dicts(rows, names)
    mine, peer = over(module["predict"], dicts), over(by_hand, dicts)
    yield measured("one row in Python, beside code by hand", mine, peer, 9)
    frame = pd.DataFrame(numbers(300_000, seed=3), columns=names)
    for name in ("duckdb", "sqlite"):
        engine = ENGINES[name]()
        engine.load(frame)
        queries = [
            f"SELECT sum(y) FROM ({over_table(text)}) AS q"
            for text in (
                model.emit("sql", dialect=name),
                hand_written_sql(body, engine, checked=True),
            )
        ]
        mine, peer = (lambda q=q, e=engine: e.fetch(q) for q in queries)
        yield measured(f"{name}, beside SQL by hand", mine, peer, 7)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    is_recording = parser.parse_args().record
    known = tomllib.loads(RECORD.read_text()) if RECORD.exists() else {}
    print(f"{cpu_count()} cores, load {getloadavg()[0]:.1f}\n")
    print("| what | ratio | on record |\n|---|---|---|")
    found, slower = [], []
    for what, ratio in (*learning(), *predicting()):
        least = known.get(what)
        print(f"| {what} | {ratio:.2f} | {least or 'none'} |", flush=True)
        found.append(f"{what!r} = {ratio:.2f}\n")
        if least is not None and ratio < LEAST * least:
            slower.append(f"{what}: {ratio:.2f} instead of {least}")
    if is_recording:
        RECORD.write_text("# Written by check.py --record.\n" + "".join(found))
        return 0
    if slower:
        print(f"\nslower than on record: {'; '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
