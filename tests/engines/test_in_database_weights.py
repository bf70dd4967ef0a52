"""Weighted rows: the same tree in a database as in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.in_database import (
    STORES,
    StoppedError,
    learned_in_database,
    random_frame,
    random_options,
    run_journalled,
)
from tests.support.tables import table_of
from treecompile.database.grow import refine
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import TreecompileError
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions

WEIGHTED = DataOptions("y", weights="w")
WEIGHTS = {
    "whole": lambda rng, rows: rng.integers(1, 9, rows).astype(float),
    "fractions": lambda rng, rows: rng.random(rows) + 0.01,
    "of many sizes": lambda rng, rows: np.exp(rng.normal(size=rows) * 5),
    "all the same": lambda rng, rows: np.full(rows, 0.1),
}


def weighted_frame(seed: int, rows: int, kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, rows)
    return frame.assign(w=WEIGHTS[kind](rng, rows))  # type: ignore[no-untyped-call]


def of_labels(frame: pd.DataFrame, which: str) -> dict[str, Any]:
    labels = [str(label) for label in sorted(set(frame["y"]))]
    choices: dict[str, dict[str, Any]] = {
        "none": {},
        "balanced": {"class_weight": "balanced"},
        "weights": {"class_weight": ((labels[0], 2.5), (labels[-1], 0.3))},
    }
    return choices[which]


@pytest.mark.parametrize("which", ["none", "balanced", "weights"])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("store", STORES)
def test_the_model_is_that_of_memory(
    store: str,
    kind: str,
    which: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = weighted_frame(len(kind) + len(which), 600, kind)
    rng = np.random.default_rng(len(kind) * len(which))
    options = replace(random_options(rng), **of_labels(frame, which))
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, WEIGHTED, options)
    here = training.learn(frame, WEIGHTED, options)
    assert dumps(there.program) == dumps(here.program)
    assert there.notes == here.notes


@pytest.mark.parametrize("criterion", ["gini", "gain-ratio", "distance"])
def test_labels_alone_can_have_weights(criterion: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(3), 500)
    options = LearnOptions(
        "cart", prune="none", max_depth=4, class_weight="balanced", criterion=criterion
    )
    columns = DataOptions("y")
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


def test_id3_takes_weights(tmp_path: Path) -> None:
    frame = weighted_frame(5, 400, "fractions")[["text", "flag", "y", "w"]]
    options = LearnOptions("id3", chi2=0.2)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, WEIGHTED, options)
    here = training.learn(frame, WEIGHTED, options)
    assert dumps(there.program) == dumps(here.program)


def test_a_note_where_weights_are_no_cases(tmp_path: Path) -> None:
    frame = weighted_frame(6, 200, "whole").assign(w=1000.0)
    options = LearnOptions("cart", prune="none", chi2=0.05, max_depth=2)
    with table_of("duckdb", frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, WEIGHTED, options)
    assert there.notes == training.learn(frame, WEIGHTED, options).notes
    assert "1000 for each row" in there.notes[-1]


def test_a_run_goes_on_with_weights(tmp_path: Path) -> None:
    frame = weighted_frame(7, 300, "fractions")
    options = LearnOptions("cart", prune="none", max_depth=5)
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where:
        with pytest.raises(StoppedError):
            run_journalled(where, state, options, WEIGHTED, level=3)
        found, said, _ = run_journalled(
            where, state, options, WEIGHTED, temporary_tables=False
        )
    assert said[0].startswith("resuming at level 3")
    assert found == dumps(training.learn(frame, WEIGHTED, options).program)


REFUSED: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({"weights": "none"}, {}, "no column 'none'"),
    ({"weights": "text"}, {}, "the weights 'text' are not numbers"),
    ({"weights": "few"}, {}, "the weight 'few' is missing in "),
    ({"weights": "normal0"}, {}, "is 0, negative or not finite in "),
    ({"weights": "w", "target": "normal"}, {}, "--weights, for a target that is a num"),
    (
        {"target": "normal"},
        {"class_weight": "balanced"},
        "--class-weight is for labels",
    ),
    ({}, {"class_weight": (("x", 1.0),)}, "'y' has no label 'x'"),
)


@pytest.mark.parametrize(("columns", "options", "message"), REFUSED)
def test_refusals_say_what_to_do(
    columns: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    frame = weighted_frame(8, 100, "whole")
    frame["normal0"] = frame["normal"].fillna(0)
    given = LearnOptions(algorithm="cart", prune="none", **options)
    with (
        table_of("duckdb", frame, tmp_path) as (url, table),
        pytest.raises(TreecompileError) as caught,
    ):
        learned_in_database(url, table, replace(DataOptions("y"), **columns), given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
