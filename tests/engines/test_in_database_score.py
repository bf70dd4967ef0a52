"""Predictions that a database writes into a new table are those of the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from tests.support.measured import (
    MODELS,
    TARGET,
    one_split,
    random_model,
    random_table,
)
from tests.support.tables import Typed, as_held, frame_of, table_of
from treecompile.api.model import Model
from treecompile.database.locations import TableLocation, open_files, open_table
from treecompile.database.score import score
from treecompile.emit.sql.text import Quoting
from treecompile.model.errors import (
    DataError,
    EngineError,
    OptionError,
    TreecompileError,
)
from treecompile.model.ir import Condition, Op, Program, ValueType

KEY = "row number"  # to find the rows again, whose order no database keeps


def with_key(columns: Typed) -> Typed:
    rows = len(columns[TARGET][1])
    return {**columns, KEY: (ValueType.INT, list(range(rows)))}


@contextmanager
def writing(
    store: str, columns: Typed, folder: Path
) -> Iterator[tuple[TableLocation, str, str]]:
    """A table to read, the name of one to make, and how queries mention that."""
    with (
        table_of(store, columns, folder) as (url, table),
        open_table(url, table, writes=True) as there,
    ):
        into = f"made_{folder.name}"
        if store == "spark":
            into = f'parquet."{folder}/made"'
        mentioned = Quoting(there.store.dialect).path("--into", into)
        try:
            yield there, into, mentioned
        finally:
            if store == "postgres":
                there.store.run(f"DROP TABLE IF EXISTS {mentioned}")


def made(there: TableLocation, table: str) -> pd.DataFrame:
    """What is in a table, the rows in the order of the key."""
    names = [column.name for column in there.store.columns(table)]
    found = dict(zip(names, there.store.arrays(f"SELECT * FROM {table}"), strict=True))
    return pd.DataFrame(found).sort_values(KEY, ignore_index=True)


CASES = [
    *(("duckdb", seed) for seed in range(8)),
    *(("sqlite", seed) for seed in range(300, 304)),
    *(("mariadb", seed) for seed in range(400, 404)),
    *(("postgres", seed) for seed in range(100, 103)),
    *(("spark", seed) for seed in range(201, 203)),
]


@pytest.mark.parametrize(("store", "seed"), CASES)
def test_predictions_are_those_of_the_model(
    store: str, seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    body = random_model(random)
    program = Program(TARGET, "random", body)
    columns = as_held(store, with_key(random_table(random, body, 100)))
    output = "label,probability,rule" if body.labels else "label,rule"
    with writing(store, columns, tmp_path) as (there, into, mentioned):
        score(program, there, into, output)
        found = made(there, mentioned)
        assert list(found.columns)[: len(columns)] == list(columns)
        with pytest.raises(EngineError, match="exists"):
            score(program, there, into)
        assert len(made(there, mentioned)) == 100
    model, frame = Model(program), frame_of(columns)
    predicted = model.predict(frame).tolist()
    if body.labels:
        assert found["prediction"].tolist() == predicted
        best = model.predict_proba(frame).max(axis=1)
        assert found["probability"].tolist() == best.tolist()
    else:
        assert found["prediction"].tolist() == predicted
    assert found["rule"].notna().all()


@pytest.mark.parametrize("store", ["duckdb", "postgres"])
def test_texts_that_mean_missing_are_missing(store: str, tmp_path: Path) -> None:
    feature = MODELS["text"].features[0]
    body = one_split(feature, Condition(0, Op.IN, ("0",), True), ("0", "1"))
    columns: Typed = {
        "f": (ValueType.STR, ["0", "1", "?", "it's", None]),
        KEY: (ValueType.INT, list(range(5))),
    }
    program = Program(TARGET, "made", body, na_values=("?",))
    with writing(store, columns, tmp_path) as (there, into, mentioned):
        score(program, there, into, na_values=("it's",))
        assert made(there, mentioned)["prediction"].tolist() == [*"01000"]
        assert made(there, mentioned)["f"].tolist()[2:4] == ["?", "it's"]


@pytest.mark.parametrize("store", ["duckdb", "postgres", "spark"])
def test_nothing_is_left_of_what_fails_in_the_middle(
    store: str, tmp_path: Path
) -> None:
    """One row of many holds what is no number."""
    body = MODELS["number"]
    columns: Typed = {
        "text": (ValueType.STR, [*["1"] * 5000, "one"]),
        KEY: (ValueType.INT, list(range(5001))),
    }
    program = Program(TARGET, "made", body)
    with writing(store, columns, tmp_path) as (there, into, mentioned):
        number = there.store.dialect.columns.number.fill("text")
        failing = f"(SELECT {number} AS f FROM {there.relation}) AS q"
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(EngineError) as caught:
            score(program, replace(there, relation=failing), into)
        assert "\n" not in str(caught.value)
        with pytest.raises(EngineError):
            there.store.columns(mentioned)
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.engine
def test_a_table_of_spark_goes_into_its_catalog(tmp_path: Path) -> None:
    columns = with_key(random_table(Random(1), MODELS["number"], 20))
    program = Program(TARGET, "made", MODELS["number"])
    name = "made_in_the_catalog"
    with writing("spark", columns, tmp_path) as (there, _, _):
        score(program, there, name)
        try:
            assert len(made(there, name)) == 20
            with pytest.raises(EngineError, match="already exists"):
                score(program, there, name)
        finally:
            there.store.session.sql(f"DROP TABLE {name}")  # type: ignore[attr-defined]


def test_parquet_files_go_into_one(tmp_path: Path) -> None:
    columns = with_key(random_table(Random(5), MODELS["number"], 90))
    frame, program = frame_of(columns), Program(TARGET, "made", MODELS["number"])
    (tmp_path / "in").mkdir()
    for start in range(0, 90, 30):
        frame[start : start + 30].to_parquet(tmp_path / "in" / f"{start}.parquet")
    into = tmp_path / "it's.parquet"
    with open_files(str(tmp_path / "in")) as there:
        score(program, there, str(into))
        found = pd.read_parquet(into).sort_values(KEY)
        assert found["prediction"].tolist() == Model(program).predict(frame).tolist()
        before = into.read_bytes()
        for wrong, message in (
            (into, "the file exists"),
            (tmp_path / "out.csv", "expected NAME.parquet"),
            (tmp_path / "none" / "out.parquet", "none"),
        ):
            with pytest.raises(TreecompileError, match=message):
                score(program, there, str(wrong))
        failing = replace(there, relation=f"(SELECT {there.relation}, error('x'))")
        with pytest.raises(EngineError):
            score(program, failing, str(tmp_path / "failed.parquet"))
    assert into.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"in", into.name}


WRONG: tuple[tuple[dict[str, Any], type[TreecompileError], str], ...] = (
    ({"output": "all"}, OptionError, "output='all': expected one of"),
    ({"output": "label,label"}, OptionError, "an output is given twice"),
    ({"label": "0.5"}, OptionError, "label needs output=probability"),
    ({"output": "probability", "label": "x"}, OptionError, "is not a label"),
    ({"into": 'a"b'}, OptionError, "into='a\"b': expected NAME"),
    ({"into": "none.such.made"}, EngineError, "^DuckDB: "),
)


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_what_is_wrong_is_said(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    columns = with_key(random_table(Random(5), MODELS["number"], 9))
    program = Program(TARGET, "made", MODELS["number"])
    with writing("duckdb", columns, tmp_path) as (there, into, _):
        with pytest.raises(error, match=message):
            score(program, there, **{"into": into, **options})
        for name in ("Prediction", "prediction"):
            rows = f'(SELECT *, 1 AS "{name}" FROM t) AS q'
            with pytest.raises(DataError, match="has a column 'prediction' already"):
                score(program, replace(there, relation=rows), into)
        with pytest.raises(DataError, match="^no column 'f': "):
            score(program, replace(there, relation="(SELECT 1 AS g) AS q"), into)
        found = there.store.arrays("SELECT table_name FROM duckdb_tables()")
    assert found[0].tolist() == ["t"]
