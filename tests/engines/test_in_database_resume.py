"""A run that was stopped continues where it was, to the same model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest

from tests.support.databases import DATABASES, unavailable
from tests.support.in_database import (
    COLUMNS,
    STORES,
    StoppedError,
    random_frame,
    run_journalled,
)
from tests.support.tables import table_of
from treecompile.database import journal as journals
from treecompile.database import learn as in_database
from treecompile.database.grow import refine
from treecompile.database.grow.levels import LevelProgress, Listener
from treecompile.database.journal import Journal
from treecompile.database.journal import dumps as state_text
from treecompile.database.journal import loads as read_state
from treecompile.database.locations import open_table
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import DataError, EngineError
from treecompile.model.file.write import dumps

OPTIONS = (
    LearnOptions("cart", prune="none", max_depth=6),
    LearnOptions("cart", prune="none", max_leaves=9, criterion="entropy"),
    LearnOptions("cart", min_leaf=3, prune="cost-complexity", alpha=0.001, chi2=0.2),
)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("options", OPTIONS)
def test_every_level_can_be_the_last_of_a_run(
    options: LearnOptions, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(11), 300)
    frame = frame[["normal", "skewed", "few", "text", "y"]]
    here = dumps(training.learn(frame, COLUMNS, options).program)
    state = tmp_path / "model.json.state"
    with table_of(store, frame, tmp_path) as where:
        whole, said, _ = run_journalled(where, state, options)
        assert (whole, said) == (here, [])
        state.unlink()  # who writes the model removes it
        level, former = 1, ""
        while True:
            level += 1
            try:
                found, said, _ = run_journalled(where, state, options, level=level)
            except StoppedError:
                former = f"resuming at level {level}, from {state}; remove that file"
                continue
            assert found == here
            assert said[0].startswith(former)
            break
    assert level > 4


def test_every_query_can_be_the_last_of_a_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({name: rng.choice(list("abcd"), 200) for name in "pqrs"})
    frame["q"] = frame["q"].where(rng.random(200) < 0.9, None)
    frame["y"] = (frame["p"] + frame["q"].fillna("") + frame["r"]).isin(["abc", "bb"])
    options = LearnOptions("id3", max_leaves=30)
    state = tmp_path / "state"
    here = dumps(training.learn(frame, COLUMNS, options).program)
    resumed = 0
    with table_of("duckdb", frame, tmp_path) as where:
        whole, _, queries = run_journalled(where, state, options)
        assert whole == here
        for at in range(1, queries + 1):
            state.unlink(missing_ok=True)
            with pytest.raises(StoppedError):
                run_journalled(where, state, options, at=at)
            found, said, _ = run_journalled(where, state, options)
            assert found == here
            resumed += len(said)
    assert resumed > queries / 3


def test_without_a_table_it_goes_on_as_well(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(13), 300)[["normal", "few", "y"]]
    options = LearnOptions("cart", prune="none", max_depth=5)
    here = dumps(training.learn(frame, COLUMNS, options).program)
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where:
        with pytest.raises(StoppedError):
            run_journalled(where, state, options, level=3, temporary_tables=True)
        with pytest.raises(StoppedError):
            run_journalled(where, state, options, level=4, temporary_tables=False)
        found, said, _ = run_journalled(where, state, options, temporary_tables=False)
    assert found == here
    assert said[0].startswith("resuming at level 4")


CHANGES: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({}, {"max_depth": 3}, "is from a run with a different --max-depth"),
    ({}, {"min_gain": 0.001}, "is from a run with a different --min-gain"),
    ({"na_values": ("x",)}, {}, "is from a run with a different --na-value"),
    ({"ignore": ("few",)}, {}, "is from a run with a different --ignore"),
)


@pytest.mark.parametrize(("columns", "options", "why"), CHANGES)
def test_another_run_starts_anew_and_says_why(
    columns: dict[str, Any], options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    frame = random_frame(np.random.default_rng(14), 200)[["normal", "few", "y"]]
    first = LearnOptions("cart", prune="none", max_depth=4)
    other = replace(COLUMNS, **columns), replace(first, **options)
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where:
        with pytest.raises(StoppedError):
            run_journalled(where, state, first, level=3)
        found, said, _ = run_journalled(where, state, other[1], other[0])
    assert said == [f"{state} {why}: starting over"]
    assert found == dumps(training.learn(frame, *other).program)


def changed(frame: pd.DataFrame, how: str) -> pd.DataFrame:
    """A table of as many rows, and mostly of the same values in each column."""
    if how == "two values exchanged":
        other = frame.copy()
        places = frame["normal"].dropna().index[:2]
        other.loc[places, "normal"] = frame.loc[places[::-1], "normal"].to_numpy()
        return other
    if how == "two weights exchanged":
        other = frame.copy()
        places = pd.Index([frame["w"].idxmin(), frame["w"].idxmax()])
        other.loc[places, "w"] = frame.loc[places[::-1], "w"].to_numpy()
        return other
    if how == "the rows in another order":
        return frame[::-1]
    return frame[1:]


@pytest.mark.parametrize("store", STORES)
def test_other_rows_are_another_run(store: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    frame = random_frame(rng, 200)[["normal", "few", "text", "y"]]
    frame["w"] = rng.integers(1, 9, 200)
    columns = replace(COLUMNS, weights="w")
    options = LearnOptions("cart", prune="none", max_depth=4)
    state = tmp_path / "state"
    with table_of(store, frame, tmp_path) as where, pytest.raises(StoppedError):
        run_journalled(where, state, options, columns, level=3)
    kept = state.read_text()
    for how, why in (
        ("the rows in another order", "resuming at level 3"),
        ("two values exchanged", "is from before the rows"),
        ("two weights exchanged", "is from before the rows"),
        ("one row less", "is from before the rows"),
    ):
        other = changed(frame, how)
        state.write_text(kept)
        (tmp_path / "data.db").unlink(missing_ok=True)
        with table_of(store, other, tmp_path) as where:
            found, said, _ = run_journalled(where, state, options, columns)
        assert why in said[0]
        assert found == dumps(training.learn(other, columns, options).program)


def test_what_no_digest_sees_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every database has a checksum."""
    monkeypatch.setattr(journals, "_checksums", lambda store, schema: [])
    x = np.arange(40.0)
    frame = pd.DataFrame({"x": x, "y": (x > 10) ^ (x > 30)})
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where, pytest.raises(StoppedError):
        run_journalled(where, state, LearnOptions("cart", prune="none"), level=2)
    (tmp_path / "data.db").unlink()
    frame["x"] = np.where((x > 5) & (x < 15), 20 - x, x)
    with (
        table_of("duckdb", frame, tmp_path) as where,
        pytest.raises(DataError, match="remove its state file to start over"),
    ):
        run_journalled(where, state, LearnOptions("cart", prune="none"))


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "older", "bytes"])
def test_a_damaged_state_is_not_believed(damage: str, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(16), 200)[["normal", "few", "y"]]
    options = LearnOptions("cart", prune="none", max_depth=4)
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where:
        with pytest.raises(StoppedError):
            run_journalled(where, state, options, level=3)
        text = state.read_text()
        made = {
            "cut": text[: len(text) // 2],
            "changed": text.replace('"feature":', '"feature": '),
            "empty": "",
            "older": text.replace('"version": "', '"version": "0.0.'),
            "bytes": "\ud800",
        }[damage]
        state.write_bytes(made.encode(errors="surrogatepass"))
        assert made != text
        found, said, _ = run_journalled(where, state, options)
    assert found == dumps(training.learn(frame, COLUMNS, options).program)
    (line,) = said
    assert line.endswith(": starting over")
    assert ("was written by treecompile 0.0." in line) == (damage == "older")


def test_a_state_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(17), 300)
    state = tmp_path / "state"
    with table_of("duckdb", frame, tmp_path) as where, pytest.raises(StoppedError):
        run_journalled(where, state, LearnOptions("cart", prune="none"), level=4)
    text = state.read_text().splitlines()[1]
    assert state_text(read_state(text)) == text
    assert len(text) < 40_000


def test_a_lost_connection_keeps_what_is_finished(tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(21), 200)[["normal", "few", "y"]]
    options = LearnOptions("cart", prune="none", max_depth=4)
    journal = Journal(tmp_path / "state")
    with table_of("postgres", frame, tmp_path) as where:

        def lose(level: LevelProgress) -> None:
            if level.number < 3:
                return
            with psycopg.connect(where[0], autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND query LIKE '%treecompile_rows%'"
                    " AND datname = current_database()"
                )

        with (
            pytest.raises(EngineError, match=r"^PostgreSQL: [^\n]+$"),
            open_table(*where) as there,
        ):
            in_database.learn(
                *(there.store, there.relation, COLUMNS, options),
                listener=Listener(lose),
                journal=journal,
            )
        assert journal.kept().startswith(f"{journal.path} keeps 2 finished levels")
        found, said, _ = run_journalled(where, journal.path, options)
    assert said[0].startswith("resuming at level 3")
    assert found == dumps(training.learn(frame, COLUMNS, options).program)


def test_spark_goes_on(tmp_path: Path) -> None:
    """One small table: each query takes a tenth of a second and more."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        unavailable("spark", error)
    DATABASES["spark"]()  # starts it as the other tests do
    frame = random_frame(np.random.default_rng(18), 300)[["normal", "text", "y"]]
    frame.to_parquet(tmp_path / "one.parquet")
    where = ("spark:local[1]", f'parquet."{tmp_path}/one.parquet"')
    options = LearnOptions("cart", prune="none", max_depth=2)
    state = tmp_path / "state"
    with pytest.raises(StoppedError):
        run_journalled(where, state, options, level=2)
    found, said, _ = run_journalled(where, state, options)
    assert said[0].startswith("resuming at level 2")
    assert found == dumps(training.learn(frame, COLUMNS, options).program)
