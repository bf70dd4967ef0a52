"""A database measures random models on random rows as it is done in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.measured import (
    BIG,
    MODELS,
    TARGET,
    one_split,
    random_model,
    random_table,
    type_of,
)
from tests.support.tables import Typed, as_held, frame_of, table_of
from treecompile.database.evaluate import evaluate
from treecompile.database.locations import open_table
from treecompile.measure.quality import Evaluation, evaluate_on
from treecompile.model.errors import DataError, EngineError
from treecompile.model.ir import (
    Condition,
    Op,
    Program,
    ValueQuality,
    ValueType,
)
from treecompile.tables.read import read_table


def there(
    url: str, table: str, program: Program, na_values: tuple[str, ...] = ()
) -> Evaluation:
    with open_table(url, table) as place:
        return evaluate(place.store, place.relation, program, na_values)


def assert_equal(found: Evaluation, expected: Evaluation) -> None:
    """Counts to the last one, sums of squares but for the order of adding."""
    if not isinstance(expected.quality, ValueQuality):
        assert found == expected
        return
    assert isinstance(found.quality, ValueQuality)
    assert found.unknown == expected.unknown
    for one, other in zip(found.rules, expected.rules, strict=True):
        assert one.rule == other.rule
        assert (one.rows, one.tally.matched) == (other.rows, other.tally.matched)
        assert one.squared_error == pytest.approx(other.squared_error, rel=1e-9)
        found_errors = one.tally.errors, one.tally.matched_errors
        errors = other.tally.errors, other.tally.matched_errors
        assert found_errors == pytest.approx(errors, rel=1e-9)
    for name in ("mean_absolute_error", "root_mean_squared_error", "r_squared"):
        value = getattr(expected.quality, name)
        wanted = None if value is None else pytest.approx(value, rel=1e-9)
        assert getattr(found.quality, name) == wanted
    assert found.quality.rows == expected.quality.rows


CASES = [
    *(("duckdb", seed) for seed in range(12)),
    *(("sqlite", seed) for seed in range(300, 304)),
    *(("mariadb", seed) for seed in range(400, 404)),
    *(("postgres", seed) for seed in range(100, 104)),
    *(("spark", seed) for seed in range(203, 206)),
]


@pytest.mark.parametrize(("store", "seed"), CASES)
def test_the_evaluation_is_that_of_memory(
    store: str, seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    body = random_model(random)
    program = Program(TARGET, "random", body)
    columns = as_held(store, random_table(random, body, random.choice((1, 30, 200))))
    with table_of(store, columns, tmp_path) as (url, table):
        found = there(url, table, program)
    assert_equal(found, evaluate_on(program, read_table(frame_of(columns))))


# ---------------------------------------------------------------- types of columns


COLUMNS: dict[str, tuple[ValueType, list[Any]]] = {
    "booleans": (ValueType.BOOL, [True, False, None, True]),
    "zeros": (ValueType.INT, [0, 1, None, 1]),
    "integers": (ValueType.INT, [BIG + 1, BIG, 0, None]),
    "whole": (ValueType.FLOAT, [0.0, 1.0, float(BIG), 1e300]),
    "bits": (ValueType.FLOAT, [0.0, 1.0, None, 1.0]),
    "numbers": (ValueType.FLOAT, [0.0, 0.5, None, 1.0]),
    "infinite": (ValueType.FLOAT, [0.0, 1.0, None, float("-inf")]),
    "texts": (ValueType.STR, ["0", "1", None, "NA"]),
    "nothing": (ValueType.STR, [None, None, "NA", "NA"]),
    "never": (ValueType.FLOAT, [None] * 4),
}


@pytest.mark.parametrize("store", ["duckdb", "postgres", "sqlite", "mariadb"])
@pytest.mark.parametrize("model", MODELS)
def test_columns_are_converted_as_in_memory_or_refused(
    store: str, model: str, tmp_path: Path
) -> None:
    """Each column is once the feature, and once the target."""
    body = MODELS[model]
    feature, labels = body.features[0], body.labels
    known = {"number": 0.5, "integer": 0, "boolean": True, "text": "0"}[model]
    columns = as_held(
        store,
        {
            **COLUMNS,
            "known": (feature.type, [known] * 4),
            "good": (type_of(labels), [labels[0], labels[0], labels[-1], labels[-1]]),
        },
    )
    frame = read_table(frame_of(columns))
    compared = refused = 0
    with table_of(store, columns, tmp_path) as (url, table):
        for held in COLUMNS:
            if (store, held) == ("mariadb", "booleans"):
                continue  # which are small numbers there
            for name, target in ((held, "good"), ("known", held)):
                named = replace(body, features=(replace(feature, name=name),))
                program = Program(target, "made", named)
                try:
                    expected = evaluate_on(program, frame, ("NA",))
                except DataError:
                    refused += 1
                    with pytest.raises(DataError, match=": (expected|convert)") as said:
                        there(url, table, program, ("NA",))
                    assert "\n" not in str(said.value)
                else:
                    compared += 1
                    assert there(url, table, program, ("NA",)) == expected
    assert compared >= 6
    assert refused >= 2


def test_texts_that_mean_missing_are_missing(tmp_path: Path) -> None:
    feature = MODELS["text"].features[0]
    body = one_split(feature, Condition(0, Op.IN, ("0",), True), ("0", "1"))
    program = Program(TARGET, "made", body, na_values=("?",))
    columns: Typed = {
        "f": (ValueType.STR, ["0", "1", "?", "it's", None]),
        TARGET: (ValueType.STR, ["0", "?", "1", "1", "it's"]),
    }
    with table_of("duckdb", columns, tmp_path) as (url, table):
        found = there(url, table, program, ("it's",))
    frame = read_table(frame_of(columns))
    assert found == evaluate_on(program, frame, ("it's",))
    assert found.unknown == 2
    assert found != evaluate_on(program, frame)


@pytest.mark.parametrize("name", ["f", TARGET])
def test_a_column_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    columns: dict[str, tuple[ValueType, list[Any]]] = {
        "f": (ValueType.STR, ["0"]),
        TARGET: (ValueType.STR, ["0"]),
    }
    columns[name.upper()] = columns.pop(name)
    program = Program(TARGET, "made", MODELS["text"])
    with (
        table_of("duckdb", columns, tmp_path) as (url, table),
        pytest.raises(DataError, match=f"^no column '{name}': "),
    ):
        there(url, table, program)


def test_no_row_and_no_table_are_errors(tmp_path: Path) -> None:
    columns: Typed = {"f": (ValueType.STR, []), TARGET: (ValueType.STR, [])}
    program = Program(TARGET, "made", MODELS["text"])
    with table_of("duckdb", columns, tmp_path) as (url, table):
        with pytest.raises(DataError, match="there are no rows to evaluate on"):
            there(url, table, program)
        with pytest.raises(EngineError, match="none"):
            there(url, "none", program)


def test_answers_that_are_all_unknown_are_counted(tmp_path: Path) -> None:
    for body in (MODELS["number"], replace(MODELS["number"], labels=())):
        columns: Typed = {
            "f": (ValueType.FLOAT, [0.0, 1.0]),
            TARGET: (ValueType.FLOAT, [None, None]),
        }
        program = Program(TARGET, "made", body)
        folder = tmp_path / str(len(body.labels))
        folder.mkdir()
        with table_of("duckdb", columns, folder) as (url, table):
            found = there(url, table, program)
        assert found == evaluate_on(program, read_table(frame_of(columns)))
        assert found.unknown == 2


@pytest.mark.engine
def test_a_lost_connection_is_one_line(tmp_path: Path) -> None:
    columns: Typed = {"f": (ValueType.STR, ["0"]), TARGET: (ValueType.STR, ["0"])}
    program = Program(TARGET, "made", MODELS["text"])
    for store in ("duckdb", "postgres"):
        with (
            table_of(store, columns, tmp_path) as (url, table),
            open_table(url, table) as place,
        ):
            place.store.connection.close()  # type: ignore[attr-defined]
            with pytest.raises(EngineError) as caught:
                evaluate(place.store, place.relation, program)
        assert "\n" not in str(caught.value)


@pytest.mark.engine
def test_spark_tells_what_is_wrong_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns: Typed = {"f": (ValueType.STR, ["0"]), TARGET: (ValueType.STR, ["0"])}
    program = Program(TARGET, "made", MODELS["text"])
    with table_of("spark", columns, tmp_path) as (url, table):
        capfd.readouterr()
        with pytest.raises(EngineError, match="^Spark: .*none") as caught:
            there(url, "none", program)
        assert "\n" not in str(caught.value)
        assert capfd.readouterr() == ("", "")
        from pyspark import SparkContext

        with open_table(url, table) as place:
            monkeypatch.setattr(SparkContext, "_active_spark_context", None)
            with pytest.raises(EngineError, match="^Spark: the session has ended"):
                evaluate(place.store, place.relation, program)
            monkeypatch.undo()
