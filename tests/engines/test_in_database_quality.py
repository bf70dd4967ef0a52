"""A model is measured in a database as it is in memory, on random models and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engines.tables import Typed, as_held, frame_of, table_of
from tests.random_models import SEVERAL, random_body, random_row
from treecompile.errors import DataError, EngineError
from treecompile.in_database.evaluate import evaluate
from treecompile.in_database.places import open_table
from treecompile.ir import (
    Body,
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    RuleSet,
    Split,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.quality import Evaluation, evaluate_on
from treecompile.read import read_table
from treecompile.semantics import negate

# SQLite calls a column otherwise that is named true, wherever it is selected.
NAMES = tuple(
    name
    for name in SEVERAL
    if name.isprintable() and len(name.encode()) < 60 and name != "true"
)
TARGET = "the answer"
TYPES = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}


def texts(body: Body) -> Iterator[object]:
    yield from body.labels
    for feature in body.features:
        yield from feature.categories


def random_model(random: Random, *, divides: bool = True) -> Body:
    """Any body without NUL, which not every database has, nor numbers of 300 digits."""
    body = random_body(random, NAMES, divides=divides)
    while any("\0" in text for text in texts(body) if isinstance(text, str)):
        body = random_body(random, NAMES, divides=divides)
    if body.labels:
        return body

    def small(node: Any) -> Any:
        value = random.uniform(-9, 9)
        stats = Moments(1.0, value, 0.0)
        if isinstance(node, Split):
            return replace(node, stats=stats)
        return replace(node, value=value, stats=stats)

    if isinstance(body, RuleSet):
        rules = tuple(map(small, body.rules))
        return replace(body, rules=rules, default=small(body.default))
    return replace(body, nodes=tuple(map(small, body.nodes)))


def random_answer(random: Random, labels: tuple[Label, ...]) -> Any:
    if random.random() < 0.1:
        return None
    if not labels:
        return random.uniform(-9, 9)
    if random.random() < 0.15 and not isinstance(labels[0], bool):
        return {str: "unseen", int: 77, float: 0.75}[type(labels[0])]
    return random.choice(labels)


def type_of(labels: tuple[Label, ...]) -> ValueType:
    if not labels:
        return ValueType.FLOAT
    return TYPES.get(type(labels[0]), ValueType.STR)


def random_table(random: Random, body: Body, rows: int) -> Typed:
    """The columns of the features, and the answers behind them."""
    values = [random_row(random, body) for _ in range(rows)]
    columns = zip(body.features, zip(*values, strict=True), strict=True)
    answers = [random_answer(random, body.labels) for _ in range(rows)]
    table = {feature.name: (feature.type, [*column]) for feature, column in columns}
    table = {
        name: (kind, [v.replace("\0", "") if isinstance(v, str) else v for v in column])
        for name, (kind, column) in table.items()
    }
    return {**table, TARGET: (type_of(body.labels), answers)}


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
    *(("duckdb", seed) for seed in range(24)),
    *(("sqlite", seed) for seed in range(300, 308)),
    *(("mariadb", seed) for seed in range(400, 404)),
    *(("postgres", seed) for seed in range(100, 108)),
    *(("spark", seed) for seed in range(203, 206)),
]


@pytest.mark.parametrize(("store", "seed"), CASES)
def test_the_evaluation_is_that_of_memory(
    store: str, seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    body = random_model(random, divides=store != "spark")
    program = Program(TARGET, "random", body)
    columns = as_held(store, random_table(random, body, random.choice((1, 30, 200))))
    with table_of(store, columns, tmp_path) as (url, table):
        found = there(url, table, program)
    assert_equal(found, evaluate_on(program, read_table(frame_of(columns))))


# ---------------------------------------------------------------- types of columns


def one_split(feature: Feature, test: Condition, labels: tuple[Label, ...]) -> Tree:
    """The first label where the test holds, the last where it does not."""
    one = ClassCounts((1.0,) * len(labels))
    other = negate(test)
    branches = (Branch(test, 1, 1.0), Branch(other, 2, 1.0))
    nodes: tuple[Node, ...] = (
        Split(branches, one, 0.0),
        Leaf(labels[0], one, 1.0),
        Leaf(labels[-1], one, 1.0),
    )
    return Tree((feature,), labels, nodes)


BIG = 2**53  # the double above it is two more
MODELS = {
    "number": one_split(
        Feature("f", Kind.NUMERIC, ValueType.FLOAT),
        Condition(0, Op.LE, 0.5, False),
        (0.5, 1.0),
    ),
    "integer": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.INT, (0, 1, BIG + 1)),
        Condition(0, Op.IN, (0, BIG + 1), False),
        (0, 1),
    ),
    "boolean": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
        Condition(0, Op.IN, (True,), False),
        (False, True),
    ),
    "text": one_split(
        Feature("f", Kind.CATEGORICAL, ValueType.STR, ("0", "1")),
        Condition(0, Op.IN, ("0",), False),
        ("0", "1"),
    ),
}
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
        with pytest.raises(DataError, match="there is no row to evaluate on"):
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
