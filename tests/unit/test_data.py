"""From a table to a dataset: kinds, types, missing values, orders, refusals."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treecompile.model.errors import DataError, OptionError, TreecompileError
from treecompile.model.ir import (
    Feature,
    Kind,
    Label,
    Program,
    Tree,
    ValueType,
)
from treecompile.model.values import parse_number
from treecompile.tables.dataset import (
    Dataset,
    encode,
    encode_answers,
    make_dataset,
)
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table

NAN, INF = math.nan, math.inf
NUMERIC, CATEGORICAL, ORDINAL = Kind.NUMERIC, Kind.CATEGORICAL, Kind.ORDINAL
FLOAT, STR, INT, BOOL = ValueType.FLOAT, ValueType.STR, ValueType.INT, ValueType.BOOL


def text(**columns: list[str]) -> RawTable:
    arrays = tuple(np.array(column, dtype=object) for column in columns.values())
    return RawTable(tuple(columns), arrays, text=True, source="data.csv")


def frame(**columns: Any) -> RawTable:
    return read_table(pd.DataFrame(columns))


def objects(*values: Any) -> pd.Series[Any]:
    return pd.Series(values, dtype=object)


def learn(table: RawTable, **options: Any) -> Dataset:
    """The dataset of a table without a target: a column 'y' of two labels is added."""
    rows = table.rows
    if table.text:
        y: Any = np.array((["n", "p"] * rows)[:rows], dtype=object)
    else:
        y = pd.Series((["n", "p"] * rows)[:rows])
    whole = RawTable((*table.names, "y"), (*table.columns, y), table.text, table.source)
    return make_dataset(whole, DataOptions("y", **options))


def answers(table: RawTable, **options: Any) -> Dataset:
    """The dataset of a table that is a target 'y', with a feature 'x' added."""
    x: Any = np.array(["1"] * table.rows, dtype=object)
    whole = RawTable(
        (*table.names, "x"),
        (*table.columns, x if table.text else pd.Series(x)),
        table.text,
        table.source,
    )
    return make_dataset(whole, DataOptions("y", **options))


def only(dataset: Dataset) -> tuple[Feature, list[Any]]:
    (feature,), (column,) = dataset.features, dataset.columns
    return feature, column.tolist()


def numeric(*values: float) -> tuple[Feature, list[Any]]:
    return Feature("x", NUMERIC, FLOAT), list(values)


def coded(
    type_: ValueType,
    categories: tuple[Any, ...],
    codes: list[Any],
    kind: Kind = CATEGORICAL,
) -> tuple[Feature, list[Any]]:
    return Feature("x", kind, type_, categories), codes


def same(found: tuple[Feature, list[Any]], expected: tuple[Feature, list[Any]]) -> bool:
    return found[0] == expected[0] and repr(found[1]) == repr(expected[1])


# --- text -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (["1", "2", ""], {}, numeric(1.0, 2.0, NAN)),
        ([" 1.5\t", "+.5e1", "5."], {}, numeric(1.5, 5.0, 5.0)),
        (["inf", "-Infinity", "1e400"], {}, numeric(INF, -INF, INF)),
        (["9007199254740993", "1"], {}, numeric(9007199254740992.0, 1.0)),
        (["1", "?", "2"], {"na_values": ("?",)}, numeric(1.0, NAN, 2.0)),
        (["-999", "2"], {"na_values": ("-999",)}, numeric(NAN, 2.0)),
        (["1", "?"], {}, coded(STR, ("1", "?"), [0, 1])),
        (["nan", "1"], {}, coded(STR, ("1", "nan"), [1, 0])),
        (["true", "FALSE", "", "True"], {}, coded(BOOL, (False, True), [1, 0, -1, 1])),
        (
            ["b", "", "B", "a ", "a"],
            {},
            coded(STR, ("B", "a", "a ", "b"), [3, -1, 0, 2, 1]),
        ),
        (
            ["\U0001f333", "\uffff", "\0", "\ue000", "q'\"\n"],
            {},
            coded(
                STR, ("\0", "q'\"\n", "\ue000", "\uffff", "\U0001f333"), [4, 3, 0, 2, 1]
            ),
        ),
        (
            ["10", "9", "-1"],
            {"categorical": ("x",)},
            coded(INT, (-1, 9, 10), [2, 1, 0]),
        ),
        (
            ["10", "09", ""],
            {"categorical": ("x",)},
            coded(STR, ("09", "10"), [1, 0, -1]),
        ),
        (
            ["true", "false"],
            {"categorical": ("x",)},
            coded(BOOL, (False, True), [1, 0]),
        ),
        (
            ["2024-01-31", "2024-02-01"],
            {"categorical": ("x",)},
            coded(STR, ("2024-01-31", "2024-02-01"), [0, 1]),
        ),
        (
            ["hi", "lo", "", "hi"],
            {"ordinal": (("x", ("lo", "mid", "hi")),)},
            coded(STR, ("lo", "mid", "hi"), [2, 0, -1, 2], ORDINAL),
        ),
        (
            ["3", "1"],
            {"ordinal": (("x", ("3", "2", "1")),)},
            coded(INT, (3, 2, 1), [0, 2], ORDINAL),
        ),
        (
            ["2", "1"],
            {"ordinal": (("x", ("1", "2", "3+")),)},
            coded(STR, ("1", "2", "3+"), [1, 0], ORDINAL),
        ),
    ],
)
def test_text_columns(
    values: list[str], options: dict[str, Any], expected: tuple[Feature, list[Any]]
) -> None:
    assert same(only(learn(text(x=values), **options)), expected)


ODD = ["1e5", ".5", "5.", "+3", "1e", "-", "e5", "1e400", "", " ", "1 2", ".", "1__0"]
ODD += ["inf", "-INF", "infinity", "infin", "nan", "1_0", "0x1", "١", "+-1", "1e+", "t"]
NUMBERLIKE = st.text("0123456789+-.eE \tinftyINFTYa_x\n\0١", max_size=8)


@given(st.sampled_from(ODD) | NUMBERLIKE | st.floats().map(repr) | st.text(max_size=3))
@example("1e5")
@example("infinity")
@example("\u00a01")
def test_a_column_is_numeric_as_parse_number_says(value: str) -> None:
    try:
        expected = NAN if not value.strip() else parse_number("x", value)
    except ValueError:
        expected = None
    feature, column = only(learn(text(x=["1", value])))
    assert (feature.kind is NUMERIC) == (expected is not None)
    if expected is not None:
        assert repr(column) == repr([1.0, expected])


# --- frames ---------------------------------------------------------------------------

LOW_HIGH = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (pd.Series([1, 2]), {}, numeric(1.0, 2.0)),
        (pd.Series([2**53 + 1, 1]), {}, numeric(2.0**53, 1.0)),
        (pd.Series([2**64 - 1], dtype="uint64"), {}, numeric(2.0**64)),
        (pd.Series([0.1], dtype="float32"), {}, numeric(0.10000000149011612)),
        (pd.Series([1.5, None, INF]), {}, numeric(1.5, NAN, INF)),
        (pd.Series([1, None], dtype="Int64"), {}, numeric(1.0, NAN)),
        (pd.Series([1.5, None], dtype="Float64"), {}, numeric(1.5, NAN)),
        (pd.Series([1, None], dtype="int8[pyarrow]"), {}, numeric(1.0, NAN)),
        (objects(1, 2.5, None, pd.NA, NAN), {}, numeric(1.0, 2.5, NAN, NAN, NAN)),
        (objects(Decimal("0.1"), Decimal("NaN")), {}, numeric(0.1, NAN)),
        (objects(Decimal("sNaN"), Decimal(1)), {}, numeric(NAN, 1.0)),
        (objects(Fraction(1, 4), 10**400), {}, numeric(0.25, INF)),
        (pd.Series([True, False]), {}, coded(BOOL, (False, True), [1, 0])),
        (pd.Series([True, None], dtype="boolean"), {}, coded(BOOL, (True,), [0, -1])),
        (objects(True, np.False_, None), {}, coded(BOOL, (False, True), [1, 0, -1])),
        (pd.Series([True, False]), {"numeric": ("x",)}, numeric(1.0, 0.0)),
        (
            pd.Series(["3", None, "", "10"]),
            {},
            coded(STR, ("", "10", "3"), [2, -1, 0, 1]),
        ),
        (
            objects("NA", None, "\ue000", NAN, pd.NaT),
            {"na_values": ("NA",)},
            coded(STR, ("\ue000",), [-1, -1, 0, -1, -1]),
        ),
        (
            pd.Series(["a", "?"], dtype="string"),
            {"na_values": ("?",)},
            coded(STR, ("a",), [0, -1]),
        ),
        (
            pd.Series(["mid", None, "low"], dtype=LOW_HIGH),
            {},
            coded(STR, ("low", "mid", "high"), [1, -1, 0], ORDINAL),
        ),
        (
            pd.Series(["mid", "low", "low"], dtype=LOW_HIGH),
            {"na_values": ("mid",)},
            coded(STR, ("low", "high"), [-1, 0, 0], ORDINAL),
        ),
        (
            pd.Series(["mid", "low"], dtype=LOW_HIGH),
            {"categorical": ("x",)},
            coded(STR, ("low", "mid", "high"), [1, 0]),
        ),
        (
            pd.Series(["mid", "low"], dtype=LOW_HIGH),
            {"ordinal": (("x", ("mid", "low")),)},
            coded(STR, ("mid", "low"), [0, 1], ORDINAL),
        ),
        (
            pd.Series(pd.Categorical([2, 1], categories=[3, 2, 1])),
            {},
            coded(INT, (3, 2, 1), [1, 2]),
        ),
        (
            pd.Series(pd.Categorical([2, 1], categories=[3, 2, 1])),
            {"numeric": ("x",)},
            numeric(2.0, 1.0),
        ),
        (
            pd.Series(pd.Categorical([True, False])),
            {},
            coded(BOOL, (False, True), [1, 0]),
        ),
        (
            pd.Series([3.0, None, -1.0]),
            {"categorical": ("x",)},
            coded(INT, (-1, 3), [1, -1, 0]),
        ),
        (
            pd.Series([2**53 + 1, None, 2**53], dtype="Int64"),
            {"categorical": ("x",)},
            coded(INT, (2**53, 2**53 + 1), [1, -1, 0]),
        ),
        (
            pd.Series([2, 1]),
            {"ordinal": (("x", ("2", "1")),)},
            coded(INT, (2, 1), [0, 1], ORDINAL),
        ),
    ],
)
def test_frame_columns(
    values: pd.Series[Any], options: dict[str, Any], expected: tuple[Feature, list[Any]]
) -> None:
    assert same(only(learn(frame(x=values), **options)), expected)


# --- refusals -------------------------------------------------------------------------

DAY = dt.date(2024, 1, 31)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.Series(pd.to_datetime(["2024-01-31"])), "Timestamp .*ignore"),
        (pd.Series(pd.to_datetime(["2024-01-31"], utc=True)), "Timestamp"),
        (pd.Series(pd.to_timedelta(["1 day"])), "Timedelta .*ignore"),
        (
            pd.Series(pd.period_range("2024-01", periods=1, freq="M")),
            "Period .*ignore",
        ),
        (pd.Series(pd.cut([1, 2], 2)), "Interval .*convert"),
        (objects(DAY), "date .*ignore"),
        (objects(dt.time(1)), "time .*ignore"),
        (objects(None, np.timedelta64(1, "D")), "timedelta"),
        (objects([1], [2]), "list .*ignore"),
        (objects(b"a"), "bytes"),
        (pd.Series([1j]), "complex"),
        (objects("a", 1), "mixes str and int"),
        (objects(True, 1), "mixes bool and int"),
        (objects(1.5, "a"), "mixes float and str"),
        (pd.Series(pd.Categorical([1.5])), "row 1: 'x' is 1.5: a category is"),
    ],
)
def test_frame_columns_refused(values: pd.Series[Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        learn(frame(x=values))
    assert "\n" not in str(caught.value)


X, Z = ["a", "b"], ["1", "2"]


@pytest.mark.parametrize(
    ("error", "options", "words"),
    [
        (DataError, {"target": "yy"}, "'yy': did you mean 'y'"),
        (DataError, {"numeric": ("w",)}, "no column 'w'"),
        (DataError, {"ignore": ("w",)}, "no column 'w'"),
        (DataError, {"numeric": ("x",)}, "row 1: 'x' is 'a': expected.*na_value"),
        (
            DataError,
            {"numeric": ("x",), "na_values": ("a",)},
            "row 2: 'x' is 'b': expected a number",
        ),
        (
            DataError,
            {"ordinal": (("x", ("a",)),)},
            "row 2: 'x' is 'b', .*does not list",
        ),
        (OptionError, {"ordinal": (("x", ("a", "b", "a")),)}, "'a' twice"),
        (OptionError, {"ordinal": (("x", ()),)}, "'x' lists no values"),
        (OptionError, {"ignore": ("y",)}, "ignore='y': this column is the target"),
        (OptionError, {"numeric": ("y",)}, "numeric='y': this column is the target"),
        (
            OptionError,
            {"numeric": ("z",), "ignore": ("z",)},
            "'z': numeric names this column",
        ),
        (OptionError, {"task": "guess"}, "'guess': expected classify or regress"),
        (OptionError, {"task": "regress"}, "'y' is text.*task=classify"),
        (OptionError, {"labels": ("n",)}, "lacks 'p'"),
        (OptionError, {"labels": ("n", "p", "n")}, "'n' twice"),
        (DataError, {"ignore": ("x", "z")}, "no column but 'y'"),
        (DataError, {"na_values": ("n", "p")}, "'y' has no known value"),
    ],
)
def test_options_that_do_not_fit(
    error: type[TreecompileError], options: dict[str, Any], words: str
) -> None:
    table = text(x=X, z=Z, y=["n", "p"])
    with pytest.raises(error, match=words) as caught:
        make_dataset(table, DataOptions(**{"target": "y"} | options))
    assert "\n" not in str(caught.value)


def test_too_many_categories() -> None:
    many = [f"c{i}" for i in range(10_001)] * 3
    options: Any = {"categorical": ("x",)}
    with pytest.raises(DataError, match="'x': it has 10,001 categories.*ignore"):
        learn(text(x=many), **options)
    most = [*many[1:10_001], *many[1:10_001]]
    assert len(only(learn(text(x=most), **options))[0].categories) == 10_000
    dataset = learn(text(x=many, z=["1", "2", "3"] * 10_001))
    assert [feature.name for feature in dataset.features] == ["z"]
    assert dataset.notes[-1] == (
        "column 'x' is left out: it has 10,001 categories in 30,003 rows"
        " (categorical='x' keeps it)"
    )


# --- the target -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "options", "labels", "y", "note"),
    [
        (text(y=["p", "n"]), {}, ("n", "p"), [1, 0], "classify .*'y' is text with 2"),
        (
            text(y=["true", "false"]),
            {},
            (False, True),
            [1, 0],
            "classify .*true or fal",
        ),
        (text(y=["10", "9"]), {}, (9, 10), [1, 0], "classify .*integer with 2 labels"),
        (text(y=["1", "01"]), {}, (), [1.0, 1.0], "regress .*number with 2 values"),
        (
            text(y=[str(i) for i in range(11)]),
            {},
            (),
            [float(i) for i in range(11)],
            "regress .*integer with 11 values",
        ),
        (text(y=["1.5", "2"]), {"task": "classify"}, (1.5, 2.0), [0, 1], None),
        (text(y=["1", "2"]), {"task": "regress"}, (), [1.0, 2.0], None),
        (text(y=["p", "n"]), {"labels": ("p", "n")}, ("p", "n"), [0, 1], "classify"),
        (
            text(y=["1", "2"]),
            {"labels": ("3", "2", "1")},
            (3, 2, 1),
            [2, 1],
            "3 labels",
        ),
        (frame(y=[True, False]), {}, (False, True), [1, 0], "classify"),
        (frame(y=["3", "10"]), {}, ("10", "3"), [1, 0], "classify .*text"),
        (frame(y=[3, 10]), {}, (3, 10), [0, 1], "classify"),
        (frame(y=[3.0, 10.0]), {}, (), [3.0, 10.0], "regress"),
        (frame(y=objects(1, Decimal("2.5"))), {}, (), [1.0, 2.5], "regress"),
        (frame(y=objects(2, 1)), {}, (1, 2), [1, 0], "classify"),
        (
            frame(y=pd.Series(["mid", "low"], dtype=LOW_HIGH)),
            {},
            ("low", "mid"),
            [1, 0],
            "classify .*2 labels",
        ),
        (
            frame(y=pd.Series(pd.Categorical([2, 1], categories=[3, 2, 1]))),
            {},
            (1, 2),
            [1, 0],
            "classify",
        ),
    ],
)
def test_targets(
    table: RawTable,
    options: dict[str, Any],
    labels: tuple[Any, ...],
    y: list[Any],
    note: str | None,
) -> None:
    dataset = answers(table, **options)
    assert repr(dataset.labels) == repr(labels)
    assert dataset.y.tolist() == y
    assert dataset.y.dtype == (np.int32 if labels else np.float64)
    tasks = [line for line in dataset.notes if line.startswith("task: ")]
    assert len(tasks) == (note is not None)
    if note is not None:
        assert re.search(note, tasks[0])


@pytest.mark.parametrize(
    ("error", "table", "options", "words"),
    [
        (DataError, text(y=[]), {}, "no rows: there is nothing"),
        (DataError, text(y=["", ""]), {}, "'y' has no known value"),
        (DataError, text(y=["1.5", "inf"]), {}, "row 2: 'y' is infinite"),
        (DataError, text(y=["", "-inf"]), {"task": "regress"}, "row 2: 'y' is inf"),
        (DataError, text(y=["1.5", "inf"]), {"task": "classify"}, "infinite label"),
        (OptionError, text(y=["true"]), {"task": "regress"}, "'y' is true or false"),
        (OptionError, text(y=["1.5"]), {"labels": ("1.5",)}, "labels is for classes"),
        (
            OptionError,
            text(y=["1", "2"]),
            {"labels": ("1", "b")},
            "labels: 'y' is 'b'",
        ),
        (DataError, frame(y=objects("a", 1)), {}, "'y' mixes str and int"),
        (DataError, frame(y=objects(DAY)), {}, "'y' holds date values"),
        (
            DataError,
            text(y=[str(i) for i in range(1001)]),
            {"task": "classify"},
            "1001 labels.*task=regress",
        ),
        (DataError, text(y=[f"l{i}" for i in range(1001)]), {}, "1001 labels.*group"),
    ],
)
def test_targets_refused(
    error: type[TreecompileError], table: RawTable, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(error, match=words):
        answers(table, **options)


def test_rows_without_a_target_are_dropped_before_anything_is_decided() -> None:
    table = text(
        y=["", "p", "NA", "n"],
        x=["only here", "1", "there", "2"],
        gone=["1", "", "2", ""],
        size=["XL", "S", "XL", "S"],
    )
    options = DataOptions("y", na_values=("NA",), ordinal=(("size", ("S", "M")),))
    dataset = make_dataset(table, options)
    assert [f.name for f in dataset.features] == ["x", "size"]
    assert [column.tolist() for column in dataset.columns] == [[1.0, 2.0], [0, 0]]
    assert dataset.y.tolist() == [1, 0]
    assert dataset.notes == (
        "rows without a known 'y': 2, dropped",
        "task: classify (target 'y' is text with 2 labels)",
        "column 'gone' has no known value: dropped",
    )
    numbers = text(y=["", "p", "", "n"], x=["?", "1", "?", "b"])
    with pytest.raises(DataError, match="row 4: 'x' is 'b'"):
        make_dataset(numbers, DataOptions("y", numeric=("x",)))


# --- warnings -------------------------------------------------------------------------


# --- a dataset ------------------------------------------------------------------------


# --- new data -------------------------------------------------------------------------

SCHEMA = (
    Feature("n", NUMERIC, FLOAT),
    Feature("s", CATEGORICAL, STR, ("a", "b")),
    Feature("i", CATEGORICAL, INT, (1, 2)),
    Feature("o", ORDINAL, STR, ("lo", "hi")),
    Feature("b", CATEGORICAL, BOOL, (False, True)),
)


def test_encode_reads_only_what_is_required() -> None:
    table = text(s=["a"], n=["not a number"])
    columns = encode(SCHEMA, table, [1])
    assert [column is None for column in columns] == [True, False, True, True, True]
    with pytest.raises(DataError, match="no column 'i'"):
        encode(SCHEMA, table, [1, 2])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (text(n=["1", "x"]), "row 2: 'n' is 'x': expected a number; .*na_value"),
        (text(i=["1", "1.0"]), "row 2: 'i' is '1.0': expected an integer"),
        (text(b=["", "1"]), "row 2: 'b' is '1': expected true or false"),
        (frame(n=["1"]), "row 1: 'n' is '1': expected a number"),
        (frame(s=[1]), "row 1: 's' is 1: expected a string; convert"),
        (frame(i=[1, 2.5]), "row 2: 'i' is 2.5: expected an integer"),
        (frame(b=[0, 2]), "row 2: 'b' is 2: expected True or False"),
        (frame(i=objects(1, Decimal("Infinity"))), "^row 2: .*convert the column"),
        (frame(i=pd.Categorical([1.0], categories=[1.0, 2.5])), "^'i' is 2.5"),
        (frame(n=objects(1, [2])), "'n' holds list"),
        (frame(n=pd.to_datetime(["2024-01-31"])), "'n' holds Timestamp"),
    ],
)
def test_encode_refuses(table: RawTable, words: str) -> None:
    place = [feature.name for feature in SCHEMA].index(table.names[0])
    with pytest.raises(DataError, match=words) as caught:
        encode(SCHEMA, table, [place])
    assert "\n" not in str(caught.value)


def predicting(target: str, labels: tuple[Label, ...]) -> Program:
    return Program(target, "test", Tree((), labels, ()))


@pytest.mark.parametrize(
    ("labels", "table", "expected"),
    [
        (("n", "p"), text(y=["p", "", "q", "?"]), [1, -1, 2, -1]),
        ((1, 2), text(y=["2", "3"]), [1, 2]),
        ((1, 2), frame(y=[2.0, NAN]), [1, -1]),
        ((False, True), text(y=["true", "false"]), [1, 0]),
        ((1.5, 2.0), text(y=["2", "1.50", "7"]), [1, 0, 2]),
        ((), text(y=["2", "?"]), [2.0, NAN]),
        ((), frame(y=[1, 2]), [1.0, 2.0]),
    ],
)
def test_encode_answers(labels: Any, table: RawTable, expected: list[Any]) -> None:
    y = encode_answers(predicting("y", labels), table, na_values=("?",))
    assert repr(y.tolist()) == repr(expected)
    assert y.dtype == (np.int32 if labels else np.float64)


def test_encode_answers_refuses() -> None:
    with pytest.raises(DataError, match="row 1: 'y' is 'a': expected an integer"):
        encode_answers(predicting("y", (1, 2)), text(y=["a"]))
    with pytest.raises(DataError, match="no column 'z'"):
        encode_answers(predicting("z", (1, 2)), text(y=["a"]))
