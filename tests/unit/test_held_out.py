"""Pruning by rows that did not grow the tree: reduced error, and the choice of alpha.

Compared with the definitions, computed row by row and node by node.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.samples import balanced
from treecompile.learning import cart
from treecompile.learning.alpha import choose_alpha
from treecompile.learning.folds import fold_of
from treecompile.learning.options import ONE_SE, GrowthLimits, LearnOptions
from treecompile.learning.pruning import (
    collapse,
    cost_complexity,
    reduced_error,
    risk,
    weakest_links,
)
from treecompile.learning.training import learn
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import (
    Kind,
    Label,
    Leaf,
    Row,
    Split,
    Tree,
    Value,
)
from treecompile.model.semantics import answer, holds, predict
from treecompile.tables.dataset import Dataset, make_dataset, take
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table


def sample(seed: int, task: str, rows: int = 60) -> pd.DataFrame:
    """Numbers, categories, and both missing now and then."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 8, rows).astype(float)
    c = random.choice(np.array(["u", "v", "w", None], dtype=object), rows)
    noise = random.integers(0, 5, rows)
    y = np.where(np.isin(c, ["u"]), 3, 0) + x + noise
    x[random.random(rows) < 0.15] = np.nan
    answers = y.astype(float) if task == "regress" else np.where(y > 6, "p", "n")
    return pd.DataFrame({"x": x, "c": c, "z": random.normal(size=rows), "y": answers})


def grown(frame: pd.DataFrame, task: str, **options: Any) -> tuple[Dataset, Tree]:
    columns = DataOptions("y", task=task)
    body = learn(frame, columns, LearnOptions(prune="none", **options)).program.body
    assert isinstance(body, Tree)
    return make_dataset(read_table(frame), columns), body


def rows_of(data: Dataset) -> list[tuple[Row, Label]]:
    """The rows of a dataset as the semantics read them."""
    found = []
    for place, y in enumerate(data.y.tolist()):
        row: list[Value] = []
        for feature, column in zip(data.features, data.columns, strict=True):
            value = column[place].item()
            if feature.kind is not Kind.NUMERIC:
                value = feature.categories[value] if value >= 0 else None
            row.append(value)
        found.append((tuple(row), data.labels[y] if data.labels else y))
    return found


def pruned_by_definition(tree: Tree, data: Dataset) -> Tree:
    """Recursion over the nodes, each with the rows that come to it."""
    cut: set[int] = set()

    def loss(said: Label, rows: list[tuple[Row, Label]]) -> float:
        if tree.labels:
            return sum(y != said for _, y in rows)
        return sum((float(y) - float(said)) ** 2 for _, y in rows)

    def least(position: int, rows: list[tuple[Row, Label]]) -> float:
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            return loss(node.value, rows)
        below = 0.0
        for branch in node.branches:
            where = branch.when.feature
            feature = tree.features[where]
            chosen = []
            for row, y in rows:
                if holds(branch.when, feature, row[where]):
                    chosen.append((row, y))
            below += least(branch.then, chosen)
        own = loss(answer(node.stats, tree.labels), rows)
        if own <= below + 1e-9:
            cut.add(position)
            return own
        return below

    least(0, list(rows_of(data)))
    return collapse(tree, cut)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("task", "algorithm"),
    [("classify", "c45"), ("classify", "cart"), ("regress", "cart")],
)
def test_reduced_error_pruning_is_as_defined(
    task: str, algorithm: str, seed: int
) -> None:
    whole = sample(seed, task, 120)
    _, tree = grown(whole[:60], task, algorithm=algorithm)
    columns = DataOptions("y", task=task)
    whole_set = make_dataset(read_table(whole), columns)
    data = take(whole_set, np.arange(60, 120))
    assert [f.categories for f in data.features] == [
        f.categories for f in tree.features
    ]
    expected = pruned_by_definition(tree, data)
    assert reduced_error(tree, data.columns, data.y) == expected
    if algorithm == "cart":  # which grows until all is pure
        assert 1 < len(expected.nodes) < len(tree.nodes)


def test_id3_is_pruned_too() -> None:
    frame = pd.DataFrame({"a": list("uuvvvvww"), "b": list("stststst")})
    frame["y"] = list("pppnpnnn")
    other = pd.DataFrame({"a": list("uvvvw"), "b": list("sstts"), "y": list("pnpnn")})
    options: dict[str, Any] = {"target": "y", "algorithm": "id3"}
    assert treecompile.learn(frame, **options).n_leaves == 4
    model = treecompile.learn(frame, prune="reduced-error", validation=other, **options)
    # below a = v, the test of b is wrong as often as the leaf that takes its place
    assert model.n_leaves == 3
    assert model.notes[-1].startswith("the validation rows pruned the tree")


def test_ties_and_splits_that_no_row_reaches_are_pruned() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 3, "y": list("pqrs") * 3})
    _, tree = grown(frame, "classify", algorithm="cart")
    assert len(tree.nodes) == 7
    column = np.array([1.0, 1.0, 2.0])
    y = np.array([0, 1, 1])  # p, q, q
    pruned = reduced_error(tree, (column,), y)
    assert sum(isinstance(node, Leaf) for node in pruned.nodes) == 2
    empty = reduced_error(tree, (np.zeros(0),), np.zeros(0, int))
    assert len(empty.nodes) == 1


def test_a_large_tree_is_pruned_quickly() -> None:
    tree = balanced(13).body
    assert isinstance(tree, Tree)
    column = np.random.default_rng(0).integers(0, 2**13, 25_000).astype(float)
    # from 2 ** 12 on the tree is right, and below it what its nodes say is
    y = np.where(column < 2**12, 0.5, column)
    start = time.process_time()
    pruned = reduced_error(tree, (column,), y)
    assert time.process_time() - start < 5
    leaves = sum(isinstance(node, Leaf) for node in pruned.nodes)
    assert 0.9 * 2**12 < leaves <= 2**12 + 1
    root = pruned.nodes[0]
    assert isinstance(root, Split)
    assert isinstance(pruned.nodes[root.branches[0].then], Leaf)


def test_what_is_pruned_by_a_file(tmp_path: Path) -> None:
    frame = sample(1, "classify", 200)
    train, other = tmp_path / "train.csv", tmp_path / "other.csv"
    frame[:120].to_csv(train, index=False)
    frame[120:].to_csv(other, index=False)
    full = treecompile.learn(train, target="y", prune="none")
    pruned = treecompile.learn(
        train, target="y", prune="reduced-error", validation=other
    )
    assert 1 < pruned.n_leaves < full.n_leaves
    wrong = [
        (model.predict(other) != frame[120:]["y"].to_numpy()).sum()
        for model in (full, pruned)
    ]
    assert wrong[1] <= wrong[0]
    frame[120:].drop(columns="x").to_csv(other, index=False)
    with pytest.raises(DataError, match="^validation: no column 'x': the columns are"):
        treecompile.learn(train, target="y", prune="reduced-error", validation=other)
    frame[120:].assign(y=None).to_csv(other, index=False)
    with pytest.raises(DataError, match="no row has a known 'y' in other.csv"):
        treecompile.learn(train, target="y", prune="reduced-error", validation=other)


def test_held_out_rows_do_not_grow_the_tree() -> None:
    frame = sample(2, "classify", 300)
    options: dict[str, Any] = {"prune": "reduced-error", "validation_fraction": 0.3}
    model = treecompile.learn(frame, target="y", seed=1, **options)
    assert model.program.training is not None
    assert model.program.training.rows == 210
    assert (
        model.sha256 == treecompile.learn(frame, target="y", seed=1, **options).sha256
    )
    assert (
        model.sha256 != treecompile.learn(frame, target="y", seed=2, **options).sha256
    )


# ---------------------------------------------------------------- alpha


@pytest.mark.parametrize("task", ["classify", "regress"])
@pytest.mark.parametrize("seed", range(3))
def test_the_validated_errors_are_as_defined(task: str, seed: int) -> None:
    """Prune the tree of every fold at every alpha, and predict row by row."""
    options: dict[str, Any] = {"algorithm": "cart", "min_leaf": 2}
    data, tree = grown(sample(seed, task), task, **options)
    folds = fold_of(data, 5, seed, "cv")

    def grow(part: np.ndarray) -> Tree:
        return grown_on(sample(seed, task).iloc[part], data)

    def grown_on(frame: pd.DataFrame, like: Dataset) -> Tree:
        body = grown(frame, task, **options)[1]
        assert [f.categories for f in body.features] == [
            f.categories for f in like.features
        ]
        return body

    choice = choose_alpha(data, tree, grow, folds, "cv")
    steps = weakest_links(tree)
    whole = risk(tree.nodes[0])
    alphas = [step.alpha for step in steps]
    between = [*(sqrt(a * b) for a, b in pairwise(alphas)), inf]
    frame = sample(seed, task)
    every: list[list[float]] = [[] for _ in steps]
    for number in range(5):
        body = grown_on(frame[folds != number], data)
        share = (folds != number).mean()
        test = rows_of(take(data, np.flatnonzero(folds == number)))
        for place, alpha in enumerate(between):
            scaled = alpha * whole * share / risk(body.nodes[0])
            pruned = cost_complexity(body, scaled)
            for row, y in test:
                said = predict(pruned, row)
                wrong = (
                    float(said != y) if tree.labels else (float(said) - float(y)) ** 2
                )
                every[place].append(wrong)
    for entry, step, found in zip(choice.table, steps, every, strict=True):
        assert entry.step == step
        assert entry.error == pytest.approx(sum(found) / whole)
        deviation = np.std(found) * sqrt(len(found)) / whole
        assert entry.deviation == pytest.approx(deviation)
    errors = [entry.error for entry in choice.table]
    assert errors[choice.place] == pytest.approx(min(errors))
    assert min(errors) < min(errors[choice.place + 1 :], default=inf)


def grow_part(data: Dataset, part: np.ndarray) -> Tree:
    return cart.learn(take(data, part), GrowthLimits(), lambda rows: None)


def test_a_weight_of_six_is_six_rows() -> None:
    options: dict[str, Any] = {"algorithm": "cart", "prune": "reduced-error"}
    differ = 0
    for seed in range(5):
        frame = sample(seed, "classify", 120)
        frame["w"] = np.where(np.arange(120) % 3 == 0, 6.0, 1.0)
        times = frame.index.repeat(frame["w"].astype(int))
        several = frame.loc[times].drop(columns="w")
        train, other = frame[:60], frame[60:]
        one = treecompile.learn(
            train, target="y", weights="w", validation=other, **options
        )
        same = treecompile.learn(
            several.loc[:59], target="y", validation=several.loc[60:], **options
        )
        plain = treecompile.learn(
            train, target="y", weights="w", validation=other.assign(w=1), **options
        )
        assert one.program.body == same.program.body
        differ += one.program.body != plain.program.body
    assert differ
    with pytest.raises(DataError, match="^validation: no column 'w'"):
        treecompile.learn(
            train,
            target="y",
            weights="w",
            validation=other.drop(columns="w"),
            **options,
        )


def test_the_scale_of_the_weights_does_not_matter() -> None:
    frame = sample(3, "classify", 120)
    columns = DataOptions("y", weights="w")
    how = LearnOptions(algorithm="cart", prune="cost-complexity", alpha="cv")
    once, twice = (learn(frame.assign(w=w), columns, how).choice for w in (1.0, 2.0))
    assert once is not None
    assert twice is not None
    errors = [entry.error for entry in once.table]
    assert [entry.error for entry in twice.table] == pytest.approx(errors)


def test_the_rule_of_one_standard_error() -> None:
    smaller = 0
    for seed in range(5):
        data, tree = grown(sample(seed, "classify", 150), "classify", algorithm="cart")
        folds = fold_of(data, 10, 0, "")
        least, chosen = (
            choose_alpha(
                data,
                tree,
                partial(grow_part, data),
                folds,
                rule,
            )
            for rule in ("cv", ONE_SE)
        )
        assert least.table == chosen.table
        smaller += chosen.place > least.place
        best = least.table[least.place]
        bound = best.error + best.deviation + 1e-9
        assert chosen.table[chosen.place].error <= bound
        assert all(entry.error > bound for entry in chosen.table[chosen.place + 1 :])
    assert smaller


def test_alpha_is_chosen_and_told() -> None:
    frame = sample(5, "classify", 150)
    options: dict[str, Any] = {"algorithm": "cart", "prune": "cost-complexity"}
    full = treecompile.learn(frame, target="y", algorithm="cart", prune="none")
    small = treecompile.learn(frame, target="y", alpha="1se", **options)
    large = treecompile.learn(frame, target="y", alpha="cv", **options)
    assert small.n_leaves <= large.n_leaves < full.n_leaves
    kept = dict(small.program.options)
    assert kept["alpha"] == "1se"
    again = treecompile.learn(frame, target="y", alpha=kept["chosen_alpha"], **options)
    assert again.program.body == small.program.body
    assert any(note.startswith("alpha: ") for note in small.notes)
    other = frame.sample(frac=1, random_state=0)
    assert treecompile.learn(other, target="y", alpha="cv", **options).n_leaves >= 1


def test_a_single_label_has_nothing_to_choose() -> None:
    frame = pd.DataFrame({"x": range(20), "y": ["p"] * 20})
    model = treecompile.learn(
        frame, target="y", algorithm="cart", prune="cost-complexity", alpha="cv"
    )
    assert model.n_leaves == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prune": "reduced-error"}, "needs rows to prune by: add validation"),
        (
            {"prune": "reduced-error", "validation_fraction": 0.001},
            "validation_fraction=.* holds out none of .* rows: use a larger",
        ),
        ({"alpha": "cv", "prune": "none"}, "alpha is for prune=cost-complexity"),
        (
            {"prune": "cost-complexity", "alpha": "best"},
            "alpha='best': expected 0 or more, cv",
        ),
        ({"prune": "cost-complexity", "alpha": float("nan")}, "alpha=nan"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        treecompile.learn(sample(0, "classify"), target="y", **options)


# ---------------------------------------------------------------- folds


@pytest.mark.parametrize("count", [2, 3, 10, 60])
def test_folds_are_even_in_size_and_in_labels(count: int) -> None:
    data, _ = grown(sample(0, "classify"), "classify")
    folds = fold_of(data, count, 0, "cv")
    sizes = np.bincount(folds, minlength=count)
    assert len(sizes) == count
    assert sizes.max() - sizes.min() <= 1
    for label in range(len(data.labels)):
        of_label = np.bincount(folds[data.y == label], minlength=count)
        assert of_label.max() - of_label.min() <= 1
    assert (folds == fold_of(data, count, 0, "cv")).all()
    assert (folds != fold_of(data, count, 1, "cv")).any()


def test_a_chain_is_validated() -> None:
    frame = pd.DataFrame({"x": np.arange(200.0), "y": ["a", "b"] * 100})
    model = treecompile.learn(
        frame, target="y", algorithm="cart", prune="cost-complexity", alpha="1se"
    )
    assert model.n_leaves == 1
    data, tree = grown(frame, "classify", algorithm="cart")
    assert len(tree.nodes) == 399
    assert reduced_error(tree, data.columns, data.y) == tree
