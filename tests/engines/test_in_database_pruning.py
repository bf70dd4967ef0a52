"""Pruning by rows in a database gives the same as pruning by these rows in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
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
from tests.support.tables import as_held, frame_of, table_of, typed
from treecompile.database import learn as in_database
from treecompile.database import prune_rules
from treecompile.database.locations import TableLocation, open_table
from treecompile.database.model_rows import rows_for_model
from treecompile.database.prune_rules import RowGroups, prune_in_database
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
    ColumnSummary,
    Leaf,
    Moments,
    Program,
    RuleSet,
    Training,
    Tree,
    ValueQuality,
)
from treecompile.rules import pruning
from treecompile.rules.extract import extract
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


@pytest.mark.parametrize("seed", range(25))
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


# ---------------------------------------------------------------- rules


def assert_same_rules(found: Program, expected: Program) -> None:
    """To the last digit for labels; numbers but for the order of adding."""
    assert isinstance(found.body, RuleSet)
    assert isinstance(expected.body, RuleSet)
    if expected.body.labels:
        assert dumps(found) == dumps(expected)
        return
    pairs = zip(
        (*found.body.rules, found.body.default),
        (*expected.body.rules, expected.body.default),
        strict=True,
    )
    for one, other in pairs:
        assert (one.id, one.conditions) == (other.id, other.conditions)
        assert (one.value, one.weight) == pytest.approx((other.value, other.weight))
        assert isinstance(one.stats, Moments)
        assert isinstance(other.stats, Moments)
        assert one.stats.mean == pytest.approx(other.stats.mean)
        assert one.stats.sse == pytest.approx(other.stats.sse, rel=1e-9, abs=1e-9)
    assert found.training is not None
    assert expected.training is not None
    assert isinstance(found.training.validation, ValueQuality)
    assert isinstance(expected.training.validation, ValueQuality)
    assert found.training.validation.r_squared == pytest.approx(
        expected.training.validation.r_squared
    )


CASES = [
    *(("duckdb", seed) for seed in range(24)),
    *(("sqlite", seed) for seed in range(300, 308)),
    *(("mariadb", seed) for seed in range(400, 404)),
    *(("postgres", seed) for seed in range(100, 106)),
    ("spark", 200),
]


@pytest.mark.parametrize(("store", "seed"), CASES)
def test_rules_pruned_by_a_table_are_those_of_memory(
    store: str, seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    body = random_model(random)
    summary = Training("", 1, tuple(ColumnSummary(0) for _ in body.features))
    program = Program(TARGET, "random", body, training=summary)
    columns = as_held(store, random_table(random, body, random.choice((5, 100, 400))))
    with (
        table_of(store, columns, tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        found = prune_in_database(program, place, pruning.VALIDATION)
    here = pruning.prune(program, "validation", frame_of(columns))
    assert_same_rules(found.program, here.program)
    assert found.notes == here.notes


@pytest.mark.parametrize("target", ["y", "z"])
def test_rules_of_a_learned_tree_are_pruned_by_a_table(
    target: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    train, held_out = sample(rng, 400), sample(rng, 300)
    learned = training.learn(
        train,
        DataOptions(target=target),
        LearnOptions("cart", prune="none", max_depth=6),
    )
    with (
        table_of("duckdb", typed(held_out), tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        found = prune_in_database(learned.program, place, pruning.VALIDATION)
    here = pruning.prune(learned.program, "validation", held_out)
    assert_same_rules(found.program, here.program)
    assert found.notes == here.notes
    assert isinstance(found.program.body, RuleSet)
    assert isinstance(learned.program.body, Tree)
    leaves = sum(isinstance(node, Leaf) for node in learned.program.body.nodes)
    assert 1 < len(found.program.body.rules) < leaves


def test_the_client_gets_groups_and_not_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    train, held_out = sample(rng, 200), sample(rng, 5000)
    learned = training.learn(
        train, COLUMNS, LearnOptions("cart", prune="none", max_depth=2)
    )
    assert isinstance(learned.program.body, Tree)
    rules = extract(learned.program.body)
    program = replace(learned.program, body=rules)
    with (
        table_of("duckdb", typed(held_out), tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        read = rows_for_model(place.store, place.relation, program)
        cases = RowGroups(place.store, read, rules).cases()
        assert cases.counts is not None
        assert cases.counts.sum() == held_out["y"].notna().sum()
        assert cases.rows < 100
        monkeypatch.setattr(prune_rules, "MOST", cases.rows)
        prune_in_database(program, place, pruning.VALIDATION)
        monkeypatch.setattr(prune_rules, "MOST", cases.rows - 1)
        with pytest.raises(DataError, match="kinds of rows: prune by a part"):
            prune_in_database(program, place, pruning.VALIDATION)


@pytest.mark.parametrize(
    ("store", "seed"),
    [*(("duckdb", seed) for seed in range(12)), ("postgres", 20), ("postgres", 21)],
)
def test_rules_as_c45rules_makes_them_are_those_of_memory(
    store: str, seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    rows = sample(rng, int(rng.choice([60, 400, 1500])))
    rows["size"] = rng.choice(np.array(["s", "m", "l", None], dtype=object), len(rows))
    rows["whole"] = rng.integers(0, 4, len(rows))
    columns = DataOptions(
        target="y",
        ordinal=(("size", ("s", "m", "l")),),
        categorical=("whole",),
    )
    options = LearnOptions(
        ("c45", "cart")[seed % 2],
        prune="none",
        cf=(0.25, 0.4)[seed % 2 == 0],
        max_depth=8,
    )
    if seed % 2:
        options = replace(options, cf=0.25)
    learned = training.learn(rows, columns, options)
    with (
        table_of(store, typed(rows), tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        found = prune_in_database(learned.program, place, pruning.C45RULES)
    here = pruning.prune(learned.program, "c45rules", rows)
    assert dumps(found.program) == dumps(here.program)
    assert found.notes == here.notes


@pytest.mark.parametrize("seed", range(20))
def test_any_rules_are_pruned_as_c45rules_does(seed: int, tmp_path: Path) -> None:
    random = Random(seed + 500)
    body = random_model(random)
    while not body.labels:
        body = random_model(random)
    program = Program(TARGET, "random", body)
    columns = random_table(random, body, 150)
    with (
        table_of("duckdb", columns, tmp_path) as (url, table),
        open_table(url, table) as place,
    ):
        found = prune_in_database(program, place, pruning.C45RULES)
    here = pruning.prune(program, "c45rules", frame_of(columns))
    assert dumps(found.program) == dumps(here.program)


def test_rules_are_not_pruned_by_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    train = sample(rng, 200)
    program = training.learn(
        train, COLUMNS, LearnOptions("cart", prune="none", max_depth=2)
    ).program
    for rows, message in (
        (train[:0], "^t has no rows: expected rows with known targets"),
        (train.assign(y="new"), "^no row has a known 'y' in t: expected a label"),
    ):
        with (
            table_of("duckdb", typed(rows), tmp_path) as (url, table),
            open_table(url, table) as place,
            pytest.raises(DataError, match=message),
        ):
            prune_in_database(program, place, pruning.VALIDATION)
        (tmp_path / "data.db").unlink()
