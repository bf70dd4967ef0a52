"""How fast generated Python predicts, and how fast it is generated.

    python benchmarks/predict.py [--quick] [--rows N]

Contestants run in turn, so ratios hold on a busy machine as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import (
    Floats,
    duration,
    edge_rows,
    large_tree,
    load_module,
    nested_python,
    numbers,
    numeric_tree,
    print_machine,
    print_table,
    race,
)
from peers import Made, make
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import treecompile
from treecompile.model.ir import Condition, Kind, Op, Tree
from treecompile.model.semantics import membership, required_features

TENNIS = Path(__file__).parents[1] / "examples" / "tennis" / "tennis.csv"

# The conversions a person would write for values of other types.
HELPERS = """
def number(name, value):
    if value is None:
        return float("nan")
    if isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: expected a number")
    return float(value)


def text(name, value):
    if value is None or value != value:
        return None
    raise TypeError(f"{name} is {value!r}: expected a string")


"""


# ---------------------------------------------------------------- hand-written


def hand_written(tree: Tree, checked: bool) -> str:
    """The tree as nested ifs, with the checks of docs/guarantee.md or without."""
    if not checked:
        tests = nested_python(tree, lambda test: python_test(tree, test, "row[{!r}]"))
        return f"def predict(row):\n{tests}"
    lines = []
    for position in required_features(tree):
        feature = tree.features[position]
        numeric = feature.kind is Kind.NUMERIC
        check = "type(v{0}) is not float and type(v{0}) is not int"
        lines += [
            f"    v{position} = row[{feature.name!r}]",
            f"    if {check if numeric else 'type(v{0}) is not str'}:".format(position),
            f"        v{position} = {'number' if numeric else 'text'}"
            f"({feature.name!r}, v{position})",
        ]
    tests = nested_python(tree, lambda test: python_test(tree, test))
    read = "\n".join(lines)
    return f"{HELPERS}def predict(row):\n{read}\n{tests}"


def python_test(tree: Tree, test: Condition, read: str = "") -> str:
    """A condition; with a template `read` for the value, missing values are ignored."""
    feature = tree.features[test.feature]
    value = read.format(feature.name) if read else f"v{test.feature}"
    if feature.kind is Kind.NUMERIC:
        if test.missing and not read:
            return f"not {value} {'>' if test.op is Op.LE else '<='} {test.value!r}"
        return f"{value} {test.op} {test.value!r}"
    inside, chosen, missing = membership(test, feature)
    members = (*chosen, None) if missing == inside and not read else chosen
    if len(members) == 1:
        return f"{value} {'==' if inside else '!='} {members[0]!r}"
    return f"{value} {'in' if inside else 'not in'} {members!r}"


# ---------------------------------------------------------------- one row

Predict = Callable[[Any], Any]


def wrong(predict: Predict, rows: Sequence[Any], expected: Sequence[Any]) -> str:
    """Count the rows that are answered wrongly or not at all."""
    count = 0
    for row, answer in zip(rows, expected, strict=True):
        try:
            count += predict(row) != answer
        except TypeError:
            count += 1
    return str(count)


def over(predict: Predict, rows: Sequence[Any]) -> Callable[[], object]:
    def run() -> None:
        for row in rows:
            predict(row)

    return run


def over_values(predict: Callable[..., Any], rows: Any) -> Callable[[], object]:
    def run() -> None:
        for row in rows:
            predict(*row)

    return run


BY_NAME, BY_POSITION, M2CGEN = "predict", "decide", "m2cgen (lists)"


def one_row(
    title: str,
    model: treecompile.Model,
    samples: dict[str, tuple[list[dict[str, Any]], list[Any]]],
    rounds: int,
    estimator: DecisionTreeClassifier | None = None,
) -> None:
    """Time all contestants row by row on the sample `rows`; check them on all."""
    body = model.program.body
    assert isinstance(body, Tree)
    module = load_module(model.emit("python"))
    read, by_position = list(module["FEATURES"]), module["decide"]
    contestants: dict[str, Predict] = {  # as functions of a row
        BY_NAME: module["predict"],
        BY_POSITION: lambda row: by_position(*[row[name] for name in read])[0],
        "hand-written, checked": load_module(hand_written(body, True))["predict"],
        "hand-written, unchecked": load_module(hand_written(body, False))["predict"],
    }
    timed, _ = samples["rows"]
    runs = {name: over(predict, timed) for name, predict in contestants.items()}
    values = [tuple(row[name] for name in read) for row in timed]
    runs[BY_POSITION] = over_values(by_position, values)
    if estimator is not None:
        made = make("m2cgen", "python", estimator)
        if made.problem:
            print(f"m2cgen: left out: {made.problem}")
        else:
            score = load_module(made.text)["score"]

            def predict_by_list(row: dict[str, Any]) -> Any:
                shares = score(list(row.values()))
                return body.labels[shares.index(max(shares))]

            contestants[M2CGEN] = predict_by_list
            runs[M2CGEN] = over(score, [list(row.values()) for row in timed])
    times = race(runs, rounds)
    lines = []
    for name, predict in contestants.items():
        counts = [wrong(predict, *sample) for sample in samples.values()]
        ratio = times[name].ratio
        by_name, by_values = 1 / ratio, times[BY_POSITION].ratio / ratio
        each = duration(times[name].seconds / len(timed))
        lines.append((name, each, f"{by_name:.2f}", f"{by_values:.2f}", *counts))
    if estimator is not None:
        lines.append(_of_sklearn(contestants[BY_NAME], estimator, timed, len(samples)))
    sizes = [f"wrong of {len(sample[0])} {name}" for name, sample in samples.items()]
    heads = ("", "per row", "`predict` takes", "`decide` takes", *sizes)
    print_table(title, heads, lines)


def _of_sklearn(
    predict: Predict,
    estimator: DecisionTreeClassifier,
    rows: Sequence[dict[str, Any]],
    samples: int,
) -> tuple[str, ...]:
    few = [np.array([list(row.values())]) for row in rows[:50]]
    runs = {"ours": over(predict, rows[:50]), "its": over(estimator.predict, few)}
    slow = race(runs, 3)["its"]
    each = duration(slow.seconds / 50)
    return ("scikit-learn", each, f"{1 / slow.ratio:.4f}", "", *["0"] * samples)


def as_dicts(rows: Floats, names: Sequence[str]) -> list[dict[str, Any]]:
    """Rows as an application would have them: missing values are None."""
    return [
        {n: None if v != v else v for n, v in zip(names, row, strict=True)}
        for row in rows.tolist()
    ]


def numeric_rows(
    title: str,
    tree: DecisionTreeClassifier,
    known: Floats,
    names: list[str],
    rounds: int,
) -> None:
    edges, missing = edge_rows(tree, known)
    samples = {
        name: (as_dicts(rows, names), tree.predict(rows).tolist())
        for name, rows in {"rows": known, "edges": edges, "missing": missing}.items()
    }
    model = treecompile.from_sklearn(tree, feature_names=names)
    one_row(title, model, samples, rounds, tree)


def tennis_rows(rounds: int, copies: int) -> None:
    model = treecompile.learn(TENNIS, target="play")
    frame = pd.read_csv(TENNIS, dtype=str)
    unseen = frame.copy()
    unseen.loc[::2, "outlook"] = None
    unseen.loc[::3, "wind"] = "a gale"
    samples: dict[str, tuple[list[dict[str, Any]], list[Any]]] = {}
    for name, table in {"rows": frame, "missing or unseen": unseen}.items():
        plain = table.astype(object).where(table.notna(), None)
        rows: Any = plain.to_dict("records") * copies
        samples[name] = rows, model.predict(table).tolist() * copies
    one_row("tennis: categories, 5 leaves", model, samples, rounds)


# ---------------------------------------------------------------- many rows


def many_rows(tree: DecisionTreeClassifier, size: int, rounds: int) -> None:
    rows = numbers(size, seed=2)
    names = [f"x{position}" for position in range(10)]
    model = treecompile.from_sklearn(tree, feature_names=names)
    expected = tree.predict(rows)
    module = load_module(model.emit("python"))
    dicts, values = as_dicts(rows, names), list(map(tuple, rows.tolist()))
    predict, by_position = module["predict"], module["decide"]
    runs: dict[str, Callable[[], Any]] = {
        "decide in a loop": lambda: [by_position(*row)[0] for row in values],
        "predict in a loop": lambda: [predict(row) for row in dicts],
        "predict_many": lambda: module["predict_many"](dicts),
    }
    lines = []
    for name, timing in race(runs, rounds).items():
        missed = int(np.sum(np.asarray(runs[name]()) != expected))
        each = duration(timing.seconds / size)
        lines.append((name, each, f"{timing.ratio:.2f}", str(missed)))
    heads = ("", "per row", "ratio to the loop", "wrong")
    print_table(f"{size} rows of 10 numbers, depth 10", heads, lines)


# ---------------------------------------------------------------- generating

GENERATED = (
    ("treecompile", ("python", "sqlite", "duckdb", "postgres", "markdown")),
    ("m2cgen", ("python",)),
    ("SKompiler", ("python", "sqlite")),
    ("orbital", ("sqlite", "duckdb")),
)


def generating(leaves: int, times: int, limit: int, peers: bool) -> None:
    tree = large_tree(leaves)
    lines = []
    for tool, targets in GENERATED if peers else GENERATED[:1]:
        for target in targets:
            made = make(tool, target, tree, times, limit)
            lines.append((tool, target, *outcome(made)))
    title = f"Generating {tree.get_n_leaves()} leaves, depth {tree.get_depth()}"
    print_table(title, ("", "target", "time", "memory", "text"), lines)


def outcome(made: Made) -> tuple[str, str, str]:
    if made.problem:
        return made.problem.replace("|", "/"), "", ""
    size = f"{len(made.text) / 1e6:.2f} MB"
    return duration(made.seconds), f"{made.megabytes:.0f} MB", size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of seconds")
    parser.add_argument("--rows", type=int, default=50_000, help="of many")
    options = parser.parse_args()
    quick = options.quick
    rounds = 3 if quick else 31
    print_machine(
        "treecompile", "scikit-learn", "numpy", "pandas", "m2cgen", "SKompiler"
    )
    names = [f"x{position}" for position in range(10)]
    deep = numeric_tree(10)
    title = f"depth 10: 10 numbers, {deep.get_n_leaves()} leaves"
    numeric_rows(title, deep, numbers(2_000, seed=1), names, rounds)
    iris = load_iris()
    small = DecisionTreeClassifier(max_depth=3, random_state=0)
    small.fit(iris.data, iris.target)
    columns = [
        name.replace(" (cm)", "").replace(" ", "_") for name in iris.feature_names
    ]
    numeric_rows("iris: 4 numbers, depth 3", small, iris.data, columns, rounds * 5)
    tennis_rows(rounds * 5, 20)
    many_rows(
        deep, min(options.rows, 20_000) if quick else options.rows, 3 if quick else 7
    )
    generating(200 if quick else 5_000, 1 if quick else 5, 90, True)
    if not quick:
        generating(100_000, 1, 600, False)


if __name__ == "__main__":
    main()
