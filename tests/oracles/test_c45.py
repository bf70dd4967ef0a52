"""C4.5 against what the reference program, release 8, printed."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from tests.support.c45_reference import (
    SETS,
    as_printed,
    expected_errors,
    printed_trees,
)
from tests.support.reference import read_table
from treecompile.api.model import Model
from treecompile.engines.addresses import ENGINES
from treecompile.learning.options import LearnOptions
from treecompile.learning.training import learn
from treecompile.model.ir import Leaf, Tree
from treecompile.tables.options import DataOptions
from treecompile.verify.execution import run_sql
from treecompile.verify.python_process import run_python

OPTIONS = ("", "-g", "-s")


@cache
def learned(name: str, option: str, prune: str) -> Model:
    given = read_table(name)
    options = LearnOptions(
        algorithm="c45",
        prune=prune,
        criterion="gain" if option == "-g" else "gain-ratio",
        subset=option == "-s",
    )
    columns = DataOptions("class", task="classify", labels=tuple(given.labels))
    return Model(learn(given.train, columns, options).program)


def tree_of(model: Model) -> Tree:
    assert isinstance(model.program.body, Tree)
    return model.program.body


everything = pytest.mark.parametrize("option", OPTIONS)
every_set = pytest.mark.parametrize("name", SETS)


@every_set
@everything
def test_the_grown_tree_is_the_same(name: str, option: str) -> None:
    expected = printed_trees(name, option)
    found = learned(name, option, "none")
    assert as_printed(tree_of(found), is_pruned=False) == expected["grown"]
    assert found.n_nodes == expected["training"][0]["size"]


@every_set
@everything
def test_the_pruned_tree_is_the_same(name: str, option: str) -> None:
    expected = printed_trees(name, option)
    found = learned(name, option, "pessimistic")
    if expected["pruned"] is not None:  # it is printed if pruning changed the tree
        assert as_printed(tree_of(found), is_pruned=True) == expected["pruned"]
    assert found.n_nodes == expected["training"][1]["size"]


@every_set
@everything
def test_the_errors_are_the_same(name: str, option: str) -> None:
    expected = printed_trees(name, option)
    for place, prune in enumerate(("none", "pessimistic")):
        model = learned(name, option, prune)
        frames = [(read_table(name).train, expected["training"])]
        test = read_table(name).test
        assert (test is None) == (expected["test"] is None)
        if test is not None:
            frames.append((test, expected["test"]))
        for frame, figures in frames:
            wrong = int((model.predict(frame) != frame["class"]).sum())
            assert wrong == figures[place]["errors"]


def wrong_answers(model: Model, frame: pd.DataFrame) -> tuple[int, int]:
    """How many rows the generated module and its SQL on SQLite answer wrong."""
    body, actual = model.program.body, frame["class"].tolist()
    columns = [frame[feature.name].astype(object) for feature in body.features]
    rows = list(zip(*(c.where(c.notna(), None) for c in columns), strict=True))
    answers = run_python(model.emit("python"), body.features, rows)
    found = run_sql(model.emit("sql"), body.features, rows, ENGINES["sqlite"])
    pairs = zip(answers, found, actual, strict=True)
    wrong = [(said[0] != right, sql != right) for said, sql, right in pairs]
    return sum(python for python, _ in wrong), sum(sql for _, sql in wrong)


@every_set
@pytest.mark.parametrize("option", ["", "-s"])
def test_the_artefacts_make_the_same_errors(name: str, option: str) -> None:
    expected = printed_trees(name, option)
    model = learned(name, option, "pessimistic")
    errors = expected["training"][1]["errors"]
    assert wrong_answers(model, read_table(name).train) == (errors, errors)
    test = read_table(name).test
    if test is not None:
        errors = expected["test"][1]["errors"]
        assert wrong_answers(model, test) == (errors, errors)


@every_set
@everything
def test_the_estimate_is_the_same(name: str, option: str) -> None:
    tree = tree_of(learned(name, option, "pessimistic"))
    leaves = [node for node in tree.nodes if isinstance(node, Leaf)]
    errors = sum(expected_errors(leaf, tree) for leaf in leaves)
    estimate = 100 * errors / len(read_table(name).train)
    assert float(f"{estimate:.1f}") == printed_trees(name, option)["estimate"]
