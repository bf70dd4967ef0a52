"""Two versions of treecompile do the same work: what differs, and which is faster?

    python benchmarks/before_after.py OLD_PYTHON NEW_PYTHON

Each argument is an interpreter with one version and the libraries imported below. Both
versions learn from the same tables, answer the same rows in each artefact, and import
the same models, through the public interface alone. Exit code 1: something differs.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from common import print_table, race
from sklearn import ensemble, tree

import treecompile

Json = dict[str, Any]
TABLES = Path(__file__).resolve().parents[1] / "tests" / "oracles" / "data"
# Options that one of the versions does not have: both nest a tree, and list rules.
ONLY_OLD = {"layout": "decision"}

DEEP: Json = {"algorithm": "cart", "max_depth": 8, "prune": "none"}
NUMBERS = ["x0", "x1", "x2", "x3", "count"]
SIZES = {"ordinal": {"size": ["s", "m", "l"]}}
ID3: list[Json] = [
    {"algorithm": "id3"},
    {"algorithm": "id3", "criterion": "gain-ratio", "chi2": 0.05, "max_depth": 4},
]
LABELS: list[Json] = [
    {"algorithm": "c45"},
    {"algorithm": "c45", "subset": True, "cf": 0.1},
    {"algorithm": "c45", "prune": "none", "missing": "majority", "min_leaf": 5},
    {"algorithm": "cart", "alpha": "1se", "seed": 3},
    {"algorithm": "cart", "prune": "none", "criterion": "entropy", "max_leaves": 20},
    {"algorithm": "cart", "prune": "reduced-error", "validation_fraction": 0.3},
]
REGRESS = [{"algorithm": "cart", "alpha": "cv"}, DEEP | {"min_sse": 10.0}]
INVENTED: list[Json] = [  # for the columns of the invented tables
    {"algorithm": "c45", "weights": "w", "ignore": ["number"]},
    {"algorithm": "cart", "weights": "w", "ignore": ["number"], "alpha": 0.01},
    {"algorithm": "cart", "class_weight": {"b": 3.0}, "prune": "none"},
    {"algorithm": "id3", "ignore": ["w", "number", *NUMBERS], **SIZES},
    {"algorithm": "cart", "max_depth": 5, "alpha": "cv", **SIZES},
    {"algorithm": "c45", "costs": {"x0": 2.0, "x1": 5.0}, "one_hot": ["colour"]},
    {"algorithm": "cart", "one_hot": ["colour"], "criterion": "distance", "alpha": 0.0},
    {"algorithm": "cart", "categorical": ["count"], "criterion": "chi-square"},
]


def invented(seed: int, rows: int) -> pd.DataFrame:
    """Numbers with ties, categories, missing values, weights and noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows).round(2) for i in range(4)})
    frame["count"] = rng.integers(0, 5, rows)
    frame["colour"] = rng.choice(["red", "green", "blue", "it's"], rows)
    frame["size"] = rng.choice(["s", "m", "l"], rows)
    frame["w"] = rng.integers(1, 4, rows)
    score = frame.x0 + frame.x1 * (frame.colour == "red") + frame["count"] / 3
    noisy = np.where(rng.random(rows) > 0.1, score, 0.5)
    frame["y"] = np.select([noisy > 1.2, noisy > 0.2], ["c", "b"], "a")
    frame["number"] = (score + rng.normal(scale=0.3, size=rows)).round(3)
    for name in ("x1", "colour", "size"):
        frame[name] = frame[name].where(rng.random(rows) > 0.08 * (seed % 3), None)
    return frame


def cases(folder: Path) -> Iterator[tuple[str, str, Json]]:
    """Path of a table, target, options of learning."""
    listed = json.loads((TABLES / "tables.json").read_text(encoding="utf-8"))
    for table in list(listed.values())[1:]:  # the first, golf, has 14 rows
        path, target = str(TABLES / table["files"]["train"]), table["target"]
        for options in LABELS if table["labels"] else REGRESS:
            yield path, target, options
        if "numeric" not in table["attributes"].values():
            for options in ID3:
                yield path, target, {"categorical": [*table["attributes"]]} | options
    for target, other in (("y", "number"), ("number", "y")):
        some = {"ignore": [other, "w"]}
        for seed in range(3):
            invented(seed, 400).to_parquet(path := folder / f"made{seed}.parquet")
            for options in REGRESS if target == "number" else [*LABELS, *INVENTED]:
                yield str(path), target, some | options
        invented(5, 250_000).to_parquet(path := folder / "large.parquet")
        yield str(path), target, some | DEEP  # counted by bins
        yield f"{folder}/made[2].parquet", target, some | DEEP  # a pattern: in DuckDB


def emitted(model: Any, to: str, **options: Any) -> str:
    try:
        return str(model.emit(to, **options, **ONLY_OLD))
    except Exception:
        return str(model.emit(to, **options))


def probes(model: Any, path: str, options: Json) -> pd.DataFrame:
    """Rows with values at and beside thresholds, missing ones and unseen ones."""
    table = pd.read_csv(path) if path.endswith(".csv") else pd.read_parquet(path)
    rng = np.random.default_rng(1)
    rows = table.iloc[rng.integers(0, len(table), 300)].reset_index(drop=True)
    sql = emitted(model, "sql", dialect="duckdb", output="rule", comments=False)
    cuts = np.array(sorted({float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", sql)}))
    beside = [*cuts, *np.nextafter(cuts, -np.inf), *np.nextafter(cuts, np.inf), np.nan]
    for name in rows.columns:
        new, type_ = [None, "never seen"], "object"
        if rows[name].dtype.kind in "if":
            is_code = name in options.get("categorical", [])
            new, type_ = ([None, 99], "Int64") if is_code else (beside, "float64")
        changed = np.flatnonzero(rng.random(len(rows)) < 0.3)
        values = rows[name].astype(object)
        values[changed] = [new[i] for i in rng.integers(0, len(new), len(changed))]
        rows[name] = values.astype(type_)
    return rows


def in_python(model: Any, rows: pd.DataFrame) -> tuple[Json, list[Any]]:
    """The generated module, and the rows as it takes them."""
    module: Json = {"__name__": "artefact"}
    exec(compile(emitted(model, "python"), "artefact", "exec"), module)
    return module, rows.astype(object).where(rows.notna(), None).to_dict("records")


def answers(model: Any, rows: pd.DataFrame) -> Json:
    """The answers of the model and of what is generated from it."""
    module, records = in_python(model, rows)
    found: Json = {"model": list(model.predict(rows))}
    if "predict_proba" in module:
        found["probabilities"] = model.predict_proba(rows).to_numpy().tolist()
    for name in {"predict", "predict_proba"} & module.keys():
        found[f"{name} in Python"] = [module[name](record) for record in records]
    with duckdb.connect() as database:
        database.register("t", rows)
        sql = emitted(model, "sql", dialect="duckdb")
        found["DuckDB"] = database.execute(f"SELECT {sql}\nFROM t").fetchall()
    with sqlite3.connect(":memory:") as file:
        rows.to_sql("t", file, index=False)
        found["SQLite"] = list(file.execute(f"SELECT {emitted(model, 'sql')}\nFROM t"))
    return found


def learned(path: str, target: str, options: Json) -> Json:
    model = treecompile.learn(path, target=target, **options)
    with TemporaryDirectory() as folder:
        model.save(f"{folder}/model.json")
        command = [sys.executable, "-m", "treecompile", "show", "--json", "model.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return {
        "rules": [{**rule, "if": None} for rule in json.loads(done.stdout)["rules"]],
        "thresholds": emitted(model, "sql", output="rule", comments=False),
        "importances": {n: f"{x:.11e}" for n, x in model.importances.items()},
        **answers(model, probes(model, path.replace("[2]", "2"), options)),
    }


ENSEMBLES = ("RandomForest", "ExtraTrees", "GradientBoosting", "HistGradientBoosting")
HOMES: Json = {"DecisionTree": tree, "LGBM": lightgbm, "XGB": xgboost}
HOMES |= dict.fromkeys(ENSEMBLES, ensemble)
TAKE = {"LGBM": treecompile.from_lightgbm, "XGB": treecompile.from_xgboost}


def imported(library: str, labels: int) -> Json:
    """A fitted model with so many labels; none: of a number."""
    frame = invented(1, 600).fillna({"x1": 0.25})
    X = frame[NUMBERS]
    y = frame.y.map({"a": 0, "b": 1, "c": labels - 1}) if labels else frame.number
    quiet = {"verbose": -1} if library == "LGBM" else {}
    kind = getattr(HOMES[library], library + ("Classifier" if labels else "Regressor"))
    fitted = kind(max_depth=3, random_state=0, **quiet).fit(X, y)
    model = TAKE.get(library, treecompile.from_sklearn)(fitted)
    found = answers(model, X)
    if model.n_trees > 1:
        found["margins"] = model.margin(X).to_numpy().tolist()
    return found


@cache
def races() -> Json:
    """What is timed."""
    learn = treecompile.learn
    frame = invented(7, 100_000).drop(columns="w")
    labels, numbers = frame.drop(columns="number"), frame.drop(columns="y")
    model, small = learn(labels, target="y", **DEEP), learn(labels[:999], target="y")
    module, records = in_python(model, labels)
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT labels.* FROM labels, range(10)")
    query = f"SELECT {emitted(model, 'sql', dialect='duckdb')}\nFROM t"
    forest = lightgbm.LGBMClassifier(verbose=-1).fit(labels[["x0", "x2"]], labels.y)
    return {
        "learn C4.5": lambda: learn(labels, target="y", algorithm="c45"),
        "learn CART, labels": lambda: learn(labels, target="y", **DEEP),
        "learn CART, numbers": lambda: learn(numbers, target="number", **DEEP),
        "emit Python": lambda: emitted(model, "python"),
        "emit SQL": lambda: emitted(model, "sql"),
        "emit the document": lambda: model.emit("markdown"),
        "verify Python": lambda: small.verify(small.emit("python")),
        "verify SQL": lambda: small.verify(small.emit("sql")),
        "100,000 rows in Python": lambda: [module["predict"](row) for row in records],
        "1,000,000 rows in DuckDB": lambda: database.sql(query).to_arrow_table(),
        "import 300 trees": lambda: treecompile.from_lightgbm(forest),
    }


def do(version: Any, task: str) -> Json:
    print(task, file=version.stdin, flush=True)
    return dict(json.loads(version.stdout.readline()))


def main(*pythons: str) -> int:
    commands = [[python, __file__, "--work"] for python in pythons]
    old, new = (subprocess.Popen(c, text=True, stdin=-1, stdout=-1) for c in commands)
    differing, rows = 0, []
    with TemporaryDirectory() as folder:
        tasks = [f"learned{case}" for case in cases(Path(folder))]
        for library in HOMES:
            tasks += [f"imported('{library}', {labels})" for labels in (0, 2, 3)]
        for task in tasks:
            before, after = do(old, task), do(new, task)
            if wrong := [key for key in before if before[key] != after.get(key)]:
                differing += 1
                print(task, "differs in", ", ".join(wrong), flush=True)
    print(f"{len(tasks)} models compared, {differing} differ")
    for name in do(new, "races()"):
        task = f"{{'': races()['{name}']() and None}}"
        times = race({"old": partial(do, old, task), "new": partial(do, new, task)}, 7)
        seconds = [f"{each.seconds:.3f} s" for each in times.values()]
        rows.append([name, *seconds, f"{times['new'].ratio:.2f}"])
    print_table("Times", ["task", "before", "after", "ratio"], rows)
    return int(differing > 0)


if __name__ == "__main__":
    if sys.argv[1:] != ["--work"]:
        sys.exit(main(*sys.argv[1:]))
    for line in sys.stdin:
        print(json.dumps({k: repr(v) for k, v in eval(line).items()}), flush=True)
