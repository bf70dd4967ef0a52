"""How fast and how exact generated forests are, beside the libraries and other tools.

    python benchmarks/forests.py [--quick] [--rows N] [--rounds N]

A margin counts as wrong if one bit of it differs from the library's, and a label if it
is another one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from os import getloadavg
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from common import (
    Floats,
    duration,
    load_module,
    numbers,
    print_machine,
    print_table,
    race,
)

import treecompile
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model import ir

FEATURES = 28
THREADS = 2
TABLE = "bench_rows"
TRAINING, EDGES = 1000, 3000  # rows
TIMED = 1000  # calls
Rows = Sequence[dict[str, Any]]
Wrong = tuple[int, int, int]  # margins; labels of training rows, and at edges


def training_rows(rows: int) -> tuple[Floats, Any]:
    """Numbers, in every other column some missing, and labels with some noise."""
    dice = np.random.default_rng(0)
    known = numbers(rows, FEATURES)
    signal = known[:, :6] @ [1, 2, -1, 0.5, 1, -2] + known[:, 6] * known[:, 7]
    known[:, ::2][dice.random((rows, FEATURES // 2)) < 0.1] = np.nan
    return known, (signal + dice.normal(size=rows) > 0).astype(int)


def test_rows(model: treecompile.Model, known: Floats, budget: int) -> Rows:
    """Rows of the training, and rows at the edges of all tests."""
    names = [feature.name for feature in model.any_program.body.features]
    edges = [row for row, _ in model.edge_rows(budget)]
    return [dict(zip(names, row, strict=True)) for row in known.tolist()] + edges


def as_array(rows: Rows) -> Floats:
    return np.array([[np.nan if v is None else v for v in r.values()] for r in rows])


def wrong(margins: Any, labels: Any, expected: Any, right: Any) -> Wrong:
    found = np.asarray(margins, dtype=np.float64)
    differs = found.view(np.int64) != np.asarray(expected, np.float64).view(np.int64)
    others = np.asarray(labels) != right
    return (
        int(differs.sum()),
        int(others[:TRAINING].sum()),
        int(others[TRAINING:].sum()),
    )


# ---------------------------------------------------------------- one row


def m2cgen_scores(estimator: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The generated function, and the same without the link at its end."""
    import m2cgen

    text = m2cgen.export_to_python(estimator)
    plain = load_module(text)
    plain["sigmoid"] = lambda margin: margin
    return load_module(text)["score"], plain["score"]


def one_row(
    title: str,
    model: treecompile.Model,
    estimator: Any,
    rows: Rows,
    expected: tuple[Any, Any],
    rounds: int,
) -> None:
    """Time one call per row, and count wrong margins and labels."""
    ours = load_module(model.emit("python"))
    lists = as_array(rows).tolist()
    margins = [ours["margin"](row) for row in rows]
    faults = {
        "generated": wrong(margins, [ours["predict"](row) for row in rows], *expected)
    }
    runs: dict[str, Callable[[], object]] = {
        "generated": lambda: [ours["predict"](row) for row in rows[:TIMED]]
    }
    try:
        score, plain = m2cgen_scores(estimator)
    except (ImportError, TypeError, ValueError) as error:
        print(f"\nm2cgen: left out: {error}")
    else:
        runs["m2cgen (lists)"] = lambda: [score(row) for row in lists[:TIMED]]
        labels = [int(score(row)[1] > 0.5) for row in lists]
        margins = [plain(row)[1] for row in lists]
        faults["m2cgen (lists)"] = wrong(margins, labels, *expected)
    times = race(runs, rounds)
    print_table(
        title,
        (
            *("", "per row", "ratio", f"wrong margins of {len(rows):,}"),
            f"wrong labels of {TRAINING:,} training rows",
            f"wrong labels of {len(rows) - TRAINING:,} edges",
        ),
        [
            (
                name,
                duration(t.seconds / TIMED),
                f"{t.ratio:.2f}",
                *map(str, faults[name]),
            )
            for name, t in times.items()
        ],
    )


# ---------------------------------------------------------------- many rows


def plain_case(forest: ir.Forest) -> str:
    """The sum of nested CASE, as a person would write it: without missing values."""

    def text(member: ir.Member, position: int = 0) -> str:
        node = member.tree.nodes[position]
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            return f"({member.values[node.value][0]!r}::DOUBLE)"
        first, second = node.branches
        test = f"{forest.features[first.when.feature].name} {first.when.op}"
        return (
            f"CASE WHEN {test} {first.when.value!r} THEN {text(member, first.then)}"
            f" ELSE {text(member, second.then)} END"
        )

    terms = " + ".join(map(text, forest.members))
    return f"SELECT {terms} AS margin FROM {TABLE}"


def in_duckdb(connection: Any, query: str) -> Callable[[], Any]:
    """Adds the margins up, so that fetching does not count."""
    query = query.rstrip().rstrip(";")
    name = connection.execute(f"DESCRIBE ({query})").fetchall()[-1][0]
    whole = f'SELECT sum("{name}") FROM ({query})'
    return lambda: connection.execute(whole).fetchall()


def margins_in_duckdb(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchnumpy().popitem()[1]


def tl2cgen_run(booster: Any, rows: Floats, folder: str) -> Callable[[], Any] | None:
    """Treelite's model, compiled by tl2cgen and gcc."""
    try:
        import tl2cgen
        import treelite
    except ImportError as error:
        print(f"\ntl2cgen: left out: {error}")
        return None
    library = str(Path(folder) / "forest.so")
    model = treelite.frontend.from_lightgbm(booster)
    tl2cgen.export_lib(model, toolchain="gcc", libpath=library)
    predictor = tl2cgen.Predictor(library, nthread=THREADS)
    data = tl2cgen.DMatrix(rows, dtype="float64")
    return lambda: predictor.predict(data, pred_margin=True)


def many_rows(
    model: treecompile.Model, booster: Any, rows: int, rounds: int, folder: str
) -> None:
    program = model.any_program
    assert isinstance(program, ir.ForestProgram)
    data, _ = training_rows(rows)
    names = [feature.name for feature in program.body.features]
    connection = duckdb.connect(config={"threads": THREADS})
    frame = pd.DataFrame(data, columns=names)
    connection.register("given", frame)
    connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM given")
    options = EmitOptions(dialect="duckdb", form="select", table=TABLE, output="margin")
    ours, plain = emit(program, "sql", options).text, plain_case(program.body)

    def library() -> Any:
        return booster.predict(data, raw_score=True, num_threads=THREADS)

    runs: dict[str, Callable[[], Any]] = {
        f"LightGBM, {THREADS} threads": library,
        f"DuckDB, {THREADS} threads": in_duckdb(connection, ours),
        f"DuckDB, plain CASE by hand, {THREADS} threads": in_duckdb(connection, plain),
    }
    expected = library()
    found = [expected]
    found += [margins_in_duckdb(connection, query) for query in (ours, plain)]
    if compiled := tl2cgen_run(booster, data, folder):
        runs[f"tl2cgen, {THREADS} threads"] = compiled
        found.append(compiled().ravel())
    times = race(runs, rounds)
    print_table(
        f"{rows:,} rows, margins",
        ("", "time", "ratio to LightGBM", "wrong margins"),
        [
            (
                name,
                duration(timing.seconds),
                f"{timing.ratio:.2f}",
                str(wrong(margins, expected, expected, expected)[0]),
            )
            for (name, timing), margins in zip(times.items(), found, strict=True)
        ],
    )


# ---------------------------------------------------------------- emitting


def emitting(trees: int) -> None:
    known, labels = training_rows(5_000)
    estimator = lightgbm.LGBMClassifier(n_estimators=trees, verbose=-1)
    start = perf_counter()
    estimator.fit(known, labels)
    fitted = perf_counter() - start
    start = perf_counter()
    model = treecompile.from_lightgbm(estimator)
    rows = [
        ("LightGBM, fit", duration(fitted), ""),
        ("from_lightgbm", duration(perf_counter() - start), ""),
    ]
    targets: dict[str, dict[str, Any]] = {
        "python": {"target": "python"},
        "duckdb": {"target": "sql", "dialect": "duckdb"},
        "sqlite": {"target": "sql", "dialect": "sqlite"},
        "markdown": {"target": "markdown"},
    }
    for name, how in targets.items():
        start = perf_counter()
        text = model.emit(how.pop("target"), **how)
        taken = duration(perf_counter() - start)
        rows.append((f"emit, {name}", taken, f"{len(text.encode()) / 1e6:.2f} MB"))
    title = f"A model of {trees:,} trees of 31 leaves"
    print_table(title, ("", "time", "text"), rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    trees, long = (10, 20) if given.quick else (100, 1500)
    rows = min(given.rows, 20_000) if given.quick else given.rows
    rounds = 2 if given.quick else given.rounds
    peers = ("lightgbm", "xgboost-cpu", "duckdb", "m2cgen", "treelite", "tl2cgen")
    print_machine("treecompile", "numpy", *peers)
    print(f"load at the start {getloadavg()[0]:.1f}")
    known, labels = training_rows(50_000)
    size = f"{trees} trees of 31 leaves"
    boosted = lightgbm.LGBMClassifier(n_estimators=trees, n_jobs=THREADS, verbose=-1)
    boosted.fit(known, labels)
    model = treecompile.from_lightgbm(boosted)
    tried = test_rows(model, known[:TRAINING], EDGES)
    array = as_array(tried)
    right = boosted.booster_.predict(array, raw_score=True), boosted.predict(array)
    one_row(f"LightGBM, {size}, one row", model, boosted, tried, right, rounds)
    extreme = xgboost.XGBClassifier(
        n_estimators=trees, max_leaves=31, max_depth=0, base_score=0.5, n_jobs=THREADS
    ).fit(known, labels)
    other = treecompile.from_xgboost(extreme)
    tried = test_rows(other, known[:TRAINING], EDGES)
    array = as_array(tried)
    right = extreme.predict(array, output_margin=True), extreme.predict(array)
    one_row(f"XGBoost, {size}, one row", other, extreme, tried, right, rounds)
    with tempfile.TemporaryDirectory() as folder:
        many_rows(model, boosted.booster_, rows, rounds, folder)
    emitting(long)


if __name__ == "__main__":
    main()
