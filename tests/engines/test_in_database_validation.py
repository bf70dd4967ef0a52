"""Rows in a database prune and measure a tree as the same rows in memory do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

from tests.support.measured import (
    TARGET,
    random_model,
    random_table,
)
from tests.support.tables import frame_of, table_of, typed
from treecompile.database import learn as in_database
from treecompile.database.locations import TableLocation, open_table
from treecompile.database.validation import (
    ValidationInDatabase,
    validation_of,
    validation_table,
)
from treecompile.learning import training
from treecompile.learning.held_out import node_losses
from treecompile.learning.options import LearnOptions
from treecompile.measure.quality import read_cases
from treecompile.model.errors import DataError
from treecompile.model.file.write import dumps
from treecompile.model.ir import (
    Program,
    Tree,
    ValueQuality,
)
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table

COLUMNS = DataOptions(target="y")


def sample(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    x = rng.normal(size=rows).round(1)
    c = rng.choice(np.array(["u", "v", "w"], dtype=object), rows)
    noise = rng.normal(size=rows)
    y = np.where((x + (c == "u") + noise) > 0.5, "yes", "no").astype(object)
    y[rng.random(rows) < 0.2] = "maybe"
    x[rng.random(rows) < 0.1] = np.nan
    c[rng.random(rows) < 0.1] = None
    y[rng.random(rows) < 0.03] = None
    return pd.DataFrame({"x": x, "c": c, "z": rng.normal(size=rows), "y": y})


@contextmanager
def both(
    store: str, train: pd.DataFrame, held_out: pd.DataFrame, folder: Path
) -> Iterator[tuple[TableLocation, ValidationInDatabase]]:
    """A table to learn from and one to prune by, in one database."""
    with ExitStack() as stack:
        url, table = stack.enter_context(table_of(store, typed(train), folder, "t"))
        _, other = stack.enter_context(table_of(store, typed(held_out), folder, "v"))
        place = stack.enter_context(open_table(url, table))
        yield place, validation_table(place, other)


@pytest.mark.parametrize("prune", ["reduced-error", "none"])
@pytest.mark.parametrize(
    ("store", "seed"),
    [*(("duckdb", seed) for seed in range(6)), ("postgres", 6), ("postgres", 7)],
)
def test_the_tree_pruned_by_a_table_is_that_of_memory(
    store: str, seed: int, prune: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    train, held_out = sample(rng, 300), sample(rng, int(rng.choice([20, 200])))
    held_out.loc[0, ["c", "y"]] = "never seen"
    options = LearnOptions("cart", prune=prune, max_depth=6)
    with both(store, train, held_out, tmp_path) as (place, rows):
        found = in_database.learn(
            place.store, place.relation, COLUMNS, options, validation=rows
        )
    here = training.learn(train, COLUMNS, options, held_out)
    assert dumps(found.program) == dumps(here.program)
    assert found.notes == here.notes
    unpruned = training.learn(
        train, COLUMNS, LearnOptions("cart", prune="none", max_depth=6)
    )
    assert isinstance(unpruned.program.body, Tree)
    assert isinstance(found.program.body, Tree)
    if prune != "none":
        assert len(found.program.body.nodes) < len(unpruned.program.body.nodes)


@pytest.mark.parametrize("store", ["duckdb", "postgres"])
def test_a_regression_is_pruned_by_a_table(store: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    train, held_out = sample(rng, 300), sample(rng, 200)
    for frame in (train, held_out):
        frame["z"] += frame["x"].fillna(0) * 2 + (frame["c"] == "u")
    columns = DataOptions(target="z")
    options = LearnOptions("cart", prune="reduced-error", max_depth=6)
    with both(store, train, held_out, tmp_path) as (place, rows):
        found = in_database.learn(
            place.store, place.relation, columns, options, validation=rows
        )
    here = training.learn(train, columns, options, held_out)
    assert isinstance(found.program.body, Tree)
    assert isinstance(here.program.body, Tree)
    shapes = [
        [getattr(node, "branches", None) is None for node in body.nodes]
        for body in (found.program.body, here.program.body)
    ]
    assert shapes[0] == shapes[1]
    assert 3 < len(shapes[0]) < 80
    assert found.program.training is not None
    assert here.program.training is not None
    one = found.program.training.validation
    other = here.program.training.validation
    assert isinstance(one, ValueQuality)
    assert isinstance(other, ValueQuality)
    assert one.r_squared == pytest.approx(other.r_squared, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_losses_of_any_tree_are_those_of_memory(seed: int, tmp_path: Path) -> None:
    """Also of numbers, but for the order in which they are added."""
    random = Random(seed)
    body = random_model(random)
    while not isinstance(body, Tree):
        body = random_model(random)
    program = Program(TARGET, "random", body)
    columns = random_table(random, body, 200)
    with (
        table_of("duckdb", columns, tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        found = ValidationInDatabase(place).losses(program)
    cases = read_cases(program, read_table(frame_of(columns)))
    expected = node_losses(body, cases.columns, cases.y, None)
    if body.labels:
        assert found == expected
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_rows_to_prune_by_may_be_in_files_of_any_kind(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    train, held_out = sample(rng, 300), sample(rng, 100)
    folder = tmp_path / "held out"
    folder.mkdir()
    held_out.to_csv(folder / "1.csv", index=False)
    held_out.to_parquet(folder / "1.parquet")
    options = LearnOptions("cart", prune="reduced-error")
    here = training.learn(train, COLUMNS, options, held_out)
    for file in ("1.csv", "1.parquet", "*.parquet", ""):
        with (
            table_of("duckdb", typed(train), tmp_path) as (url, table),
            open_table(url, table) as place,
            validation_of(place, str(folder / file)) as rows,
        ):
            found = in_database.learn(
                place.store, place.relation, COLUMNS, options, validation=rows
            )
        assert found.program.body == here.program.body
        assert found.program.training is not None
        assert here.program.training is not None
        assert found.program.training.validation == here.program.training.validation
        (tmp_path / "data.db").unlink()


def test_what_is_wrong_with_the_rows_to_prune_by_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    train, held_out = sample(rng, 100), sample(rng, 50)
    options = LearnOptions("cart", prune="reduced-error", max_depth=2)
    for change, message in (
        (held_out.drop(columns="y"), "validation: no column 'y': "),
        (held_out.assign(x="text"), "validation: column 'x' holds .* values where the"),
        (
            held_out.assign(y="other"),
            "validation: no row has a known 'y' in v: expected",
        ),
        (held_out[:0], "validation: no row has a known 'y' in v"),
    ):
        with (
            both("duckdb", train, change, tmp_path) as (place, rows),
            pytest.raises(DataError, match=message),
        ):
            in_database.learn(
                place.store, place.relation, COLUMNS, options, validation=rows
            )
        (tmp_path / "data.db").unlink()
