"""C4.5 against the printed output of the reference program."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from tests.oracles.c45_reference import (
    PRINTED,
    Problem,
    expected_errors,
    printed,
    read_problem,
    read_reference,
)
from treecompile.api import Model
from treecompile.data import DataOptions
from treecompile.ir import Leaf, Tree
from treecompile.learn_options import LearnOptions
from treecompile.training import learn
from treecompile.verify.engines import Database, run_python, run_sql

pytestmark = pytest.mark.skipif(
    not PRINTED.exists(), reason="the reference outputs are not here"
)

SETS = ("golf", "labor-neg", "vote", "hypo", "monk1")
OPTIONS = ("", "-g", "-s")


@cache
def problem(name: str) -> Problem:
    return read_problem(name)


@cache
def learned(name: str, option: str, prune: str) -> Model:
    given = problem(name)
    options = LearnOptions(
        algorithm="c45",
        prune=prune,
        predict_missing="fractional",
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
    expected = read_reference(name, option)
    found = learned(name, option, "none")
    assert printed(tree_of(found), is_pruned=False) == expected.grown
    assert found.n_nodes == expected.training[0].size


@every_set
@everything
def test_the_pruned_tree_is_the_same(name: str, option: str) -> None:
    expected = read_reference(name, option)
    found = learned(name, option, "pessimistic")
    if expected.pruned is not None:
        assert printed(tree_of(found), is_pruned=True) == expected.pruned
    assert found.n_nodes == expected.training[1].size


@every_set
@everything
def test_the_errors_are_the_same(name: str, option: str) -> None:
    expected = read_reference(name, option)
    for place, prune in enumerate(("none", "pessimistic")):
        model = learned(name, option, prune)
        frames = [(problem(name).train, expected.training)]
        test = problem(name).test
        if expected.test is not None:
            assert test is not None
            frames.append((test, expected.test))
        for frame, results in frames:
            wrong = int((model.predict(frame) != frame["class"]).sum())
            assert wrong == results[place].errors


def wrong_answers(model: Model, frame: pd.DataFrame) -> tuple[int, int]:
    """How many rows the generated module and its SQL on SQLite answer wrong."""
    body, actual = model.program.body, frame["class"].tolist()
    columns = [frame[feature.name].astype(object) for feature in body.features]
    rows = list(zip(*(c.where(c.notna(), None) for c in columns), strict=True))
    answers = run_python(model.emit("python"), body.features, rows)
    found = run_sql(model.emit("sql"), body.features, rows, Database.named("sqlite"))
    pairs = zip(answers, found, actual, strict=True)
    wrong = [(said.label != right, sql != right) for said, sql, right in pairs]
    return sum(python for python, _ in wrong), sum(sql for _, sql in wrong)


@every_set
@pytest.mark.parametrize("option", ["", "-s"])
def test_the_artefacts_make_the_same_errors(name: str, option: str) -> None:
    expected = read_reference(name, option)
    model = learned(name, option, "pessimistic")
    errors = expected.training[1].errors
    assert wrong_answers(model, problem(name).train) == (errors, errors)
    test = problem(name).test
    if expected.test is not None and test is not None:
        errors = expected.test[1].errors
        assert wrong_answers(model, test) == (errors, errors)


@every_set
@everything
def test_the_estimate_is_the_same(name: str, option: str) -> None:
    tree = tree_of(learned(name, option, "pessimistic"))
    leaves = [node for node in tree.nodes if isinstance(node, Leaf)]
    errors = sum(expected_errors(leaf, tree) for leaf in leaves)
    estimate = 100 * errors / len(problem(name).train)
    assert f"{estimate:.1f}" == read_reference(name, option).estimate
