"""The Python that is copied into artefacts, run in place and as a copy."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Callable, Iterable
from itertools import product
from types import ModuleType
from typing import Any, TextIO

import numpy as np
import pandas as pd
import pytest

from treecompile.emit.runtime import columns, rows, script
from treecompile.emit.runtime.source import copied, source_of
from treecompile.model import values

Score = Callable[[Iterable[str], TextIO], None]
SKIES = ("clear", "grey", "red", None)
HEATS = (None, 15.0, 20.0, 25.0, float("nan"))
ROWS = [{"sky": sky, "heat": heat} for sky, heat in product(SKIES, HEATS)]
TABLE = {
    "sky": [row["sky"] for row in ROWS],
    "heat": [row["heat"] for row in ROWS],
    "wind": [0.0] * len(ROWS),
}
WARM = {"sky": "clear", "heat": 25}
UNKNOWN = {"sky": None, "heat": 25}


# ---------------------------------------------------------------- one row at a time


def test_rows_one_by_one_and_in_columns() -> None:
    expected = [rows.predict(row) for row in ROWS]
    assert set(expected) == {"no", "yes"}
    assert rows.predict_many(iter(ROWS)) == expected
    assert rows.predict_columns(TABLE) == expected
    arrays = {"sky": ["clear"] * 2, "heat": np.array([15.0, 25.0])}
    assert rows.predict_columns(arrays) == ["yes", "no"]
    assert [rows.predict_values(row["sky"], row["heat"]) for row in ROWS] == expected
    with pytest.raises(ValueError, match="different lengths"):
        rows.predict_columns({"sky": ["clear"], "heat": [1, 2]})


@pytest.mark.parametrize("divides", [True, False])
def test_probabilities_are_those_of_the_rule(
    monkeypatch: pytest.MonkeyPatch, divides: bool
) -> None:
    monkeypatch.setattr(rows, "DIVIDES", divides)
    assert rows.predict_proba(WARM) == {"no": 1.0, "yes": 0.0}


@pytest.mark.parametrize("sentences", [True, False])
def test_explanations(monkeypatch: pytest.MonkeyPatch, sentences: bool) -> None:
    """Written out, or put together from steps, they say the same."""
    monkeypatch.setattr(rows, "SENTENCES", sentences)
    expected = "R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)"
    assert rows.explain(WARM) == expected
    assert rows.explain_divided(WARM) == expected


# ---------------------------------------------------------------- the script


def scored(score: Score = script.score) -> str:
    output = io.StringIO()
    lines = ["\n", "heat,sky\n", "20,clear\n", "21,clear\n", "\n", "?,grey\n"]
    score(lines, output)
    return output.getvalue()


@pytest.mark.parametrize("score", [script.score, script.score_columns])
def test_scoring(score: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "heat,sky,prediction\n20,clear,yes\n21,clear,no\n?,grey,yes\n"
    assert scored(score) == expected
    monkeypatch.setattr(script, "BLOCK", 2)
    assert scored(score) == expected


def test_booleans_are_written_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "predict", lambda row: row["heat"] == 20)
    monkeypatch.setattr(script, "BOOLEANS", True)
    assert [line.rpartition(",")[2] for line in scored().split()] == [
        *("prediction", "true", "false", "false")
    ]


@pytest.mark.parametrize("score", [script.score, script.score_columns])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sky\nx\n", "column 'heat' occurs 0 times"),
        ("heat,sky,sky\n1,a,b\n", "column 'sky' occurs 2 times"),
        ("sky,heat,prediction\na,1,x\n", "there is already a column 'prediction'"),
        ("heat,sky\n1\n", "line 2: 1 fields where the header has 2"),
        ("sky,heat\na,warm\n", "line 2: 'heat' is 'warm': expected a number"),
    ],
)
def test_scoring_refuses(score: Score, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(text.splitlines(keepends=True), io.StringIO())


def test_the_script_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([]) == 2
    assert script.main(["/no/such/file.csv"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: python predict.py")
    assert "No such file" in said
    assert "  'heat': number" in script.usage()


# ---------------------------------------------------------------- divided rows


def test_a_divided_row() -> None:
    assert rows.divided(UNKNOWN.values(), True) == "divided"
    assert rows.divided(UNKNOWN.values(), False) == "no"
    assert rows.predict_proba(UNKNOWN) == pytest.approx({"no": 7 / 12, "yes": 5 / 12})
    assert rows.explain_divided(UNKNOWN).split("\n") == [
        "divided: play = no (58.3 %), shared by these rules; unknown: sky",
        "  50.0 % R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)",
        "  50.0 % R3: if sky = grey (or any other, or missing)"
        " then play = yes (5 of 6 cases)",
    ]


def test_few_rules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "EXPLAINED", 1)
    *_, last = rows.explain_divided({"sky": None, "heat": None}).split("\n")
    assert last == "  and 2 more with smaller shares"


def test_a_divided_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CLASSIFIES", False)
    estimates = {"R1": (1.0,), "R2": (4.0,), "R3": (8.0,)}
    monkeypatch.setattr(rows, "PROBABILITIES", estimates)
    row = {"sky": "clear", "heat": None}
    assert rows.divided(row.values(), False) == (4.0 * 1.0 + 2.0 * 4.0) / 6.0
    assert rows.explain_divided(row).startswith("divided: hours = 2.0, shared by")


# ---------------------------------------------------------------- whole columns


def test_columns_divide_like_rows() -> None:
    assert columns.divided_predict(TABLE).tolist() == [rows.predict(r) for r in ROWS]
    ids = [rows.predict(row, True) for row in ROWS]
    assert columns.divided_rules(TABLE).tolist() == ids
    shares = [list(rows.predict_proba(row).values()) for row in ROWS]
    assert columns.divided_proba(TABLE).tolist() == shares


def test_a_tree_and_its_rules_decide_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    by_tree = columns.rules(TABLE).tolist()
    assert set(by_tree) == {"R1", "R2", "R3"}
    monkeypatch.setattr(columns, "IS_TREE", False)
    assert columns.rules(TABLE).tolist() == by_tree


@pytest.mark.parametrize("block", [1, 3, 20, 64])
def test_blocks_of_rows(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    expected = columns.rules(TABLE).tolist()
    monkeypatch.setattr(columns, "BLOCK", block)
    assert columns.rules(TABLE).tolist() == expected
    assert columns.rules({name: [] for name in TABLE}).tolist() == []


def test_an_array_has_its_columns_in_order() -> None:
    array = np.array([["clear", 15.0, 0.0], ["red", 15.0, 0.0]], dtype=object)
    assert columns.predict(array).tolist() == ["yes", "yes"]
    assert columns.predict_proba(array).tolist() == [[0.25, 0.75], [1 / 6, 5 / 6]]
    with pytest.raises(ValueError, match="expected 3 columns, got 2"):
        columns.predict(array[:, :2])


ARRAY = np.array([("clear", 15.0)], dtype=[("sky", "U5"), ("heat", "f8")])
TWICE = pd.DataFrame([["clear", 15.0, 25.0]], columns=["sky", "heat", "heat"])


@pytest.mark.parametrize("predict", [rows.predict_columns, columns.predict])
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"sky": ["clear"], "heat": np.ones((1, 2))}, "'heat' has the shape (1, 2)"),
        ({"sky": ["clear"], "heat": np.array(15.0)}, "column 'heat' has the shape ()"),
        ({"sky": ["clear"], "heat": 15.0}, "column 'heat' is of type float"),
        ({"sky": "c", "heat": [15.0]}, "column 'sky' is of type str"),
        ({"sky": iter(["clear"]), "heat": [15.0]}, "column 'sky' is of type list_it"),
        ({"sky": {"clear"}, "heat": [15.0]}, "column 'sky' is of type set"),
        ({"sky": ["red"], "heat": [1, 2]}, "'sky' has 1 values, 'heat' 2"),
        ({"sky": ["clear"], "heat": [[1, 2]]}, "'heat' is [1, 2]: expected a number"),
        ({"sky": ["red"] * 2, "heat": [[1], [1, 2]]}, "'heat' is [1]: expected a"),
        ({"sky": ["clear"], "heat": np.array([1j])}, "expected a number"),
        ({"sky": [["clear"]], "heat": [15.0]}, "'sky' is ['clear']"),
        (TWICE, "column 'heat' has the shape (1, 2)"),
        (ARRAY, "expected a mapping of columns, got ndarray"),
        ([{"sky": "clear", "heat": 15.0}], "expected a mapping of columns, got list"),
    ],
)
def test_a_table_of_another_shape_is_refused_by_name(
    predict: Callable[[Any], Any], table: Any, said: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        predict(table)


@pytest.mark.parametrize("predict", [rows.predict_columns, columns.divided_predict])
def test_masked_values_are_missing(predict: Callable[[Any], Any]) -> None:
    mask = [False, True, False, False]
    heats: Any = np.ma.array([15.0, 15.0, 25.0, 25.0], mask=mask)
    names = np.array(["clear", "clear", "grey", "grey"], dtype=object)
    skies: Any = np.ma.array(names, mask=[False, False, False, True])
    found = predict({"sky": skies, "heat": heats})
    assert list(found) == ["yes", "no", "yes", "no"]


DOUBLES = [float("nan"), -0.0, 0.1, 2.5, float("inf"), 1e-310]
COLUMNS: dict[str, Any] = {
    "array": np.array(DOUBLES),
    "every second": np.array(DOUBLES).repeat(2)[::2],
    "32 bits": np.array([0.1, 2.5], dtype=np.float32),
    "long": np.arange(3000.0),
    "masked": np.ma.masked_equal(np.array(DOUBLES), 2.5),
    "Series": pd.Series(DOUBLES, index=range(6, 0, -1)),
    "index of floats": pd.Series(DOUBLES, index=[0.5, 0.1, 4.0, 2.0, 3.0, 3.0]),
    "nullable": pd.Series([0.1, None, 2.5], dtype="Float64"),
    "nullable, all known": pd.Series([0.1, 2.5], dtype="Float64"),
    "arrow": pd.Series([0.1, None, 2.5], dtype="float64[pyarrow]"),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, 2.5, 0.0])),
    "dates": pd.Series(pd.to_datetime(["2024-01-01", "NaT"])),
    "integers": pd.Series([1, 2, 3]),
    "texts": pd.Series(["a", None]),
    "categories": pd.Series([0.1, 0.2]).astype("category"),
    "objects": np.array([1, "a", None, 2.5], dtype=object),
    "empty": np.array([]),
    "list": [1, 2.5, None],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_as_its_own_list(name: str) -> None:
    """In parts or as a whole: the same values, of the same types."""
    column = COLUMNS[name]
    expected = column.tolist() if hasattr(column, "tolist") else column
    found = list(rows.plain(column))
    assert len(found) == len(column)
    for one, other in zip(found, expected, strict=True):
        if values.is_missing(other):
            assert values.is_missing(one)
        else:
            same: Any = getattr(other, "item", lambda other=other: other)()
            assert (repr(one), type(one)) == (repr(same), type(same))


@pytest.mark.parametrize("given", ["clear", [["clear", 15.0]], [None], {"sky": "a"}])
def test_a_row_that_is_none_is_named(given: Any) -> None:
    with pytest.raises(TypeError, match="row 0 is of type .*: expected a mapping"):
        rows.predict_many(given)
    with pytest.raises(TypeError, match="'heat' is 'hot': expected a number"):
        rows.predict_many([{"sky": "clear", "heat": "hot"}])


# ---------------------------------------------------------------- the copy

FLAGS = {
    rows: ("CLASSIFIES", "BOOLEANS", "SENTENCES", "DIVIDES"),
    columns: ("IS_TREE", "CLASSIFIES", "HAS_CODES"),
    values: (),
}


@pytest.mark.parametrize("module", FLAGS, ids=lambda module: str(module.__name__))
def test_every_copy_is_python_3_9_without_flags(module: ModuleType) -> None:
    names = list(source_of(module).definitions)
    known = FLAGS[module]
    for chosen in product((True, False), repeat=len(known)):
        flags = dict(zip(known, chosen, strict=True))
        for text in copied(module, names, flags, {"Answer": "int"}):
            tree = ast.parse(text, feature_version=(3, 9))
            if isinstance(tree.body[0], ast.FunctionDef):
                used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                assert not used & {*known, "Answer"}


def test_a_flag_chooses_a_branch() -> None:
    (text,) = copied(rows, ["divided"], {"CLASSIFIES": True})
    assert text.endswith(
        "    shares = mixed(found)\n    return CLASSES[shares.index(max(shares))]"
    )
    (text,) = copied(rows, ["divided"], {"CLASSIFIES": False})
    assert text.endswith("    shares = mixed(found)\n    return shares[0]")


def test_only_whole_words_are_replaced() -> None:
    replaced = {"CONCLUSION": "'x'"}
    (text,) = copied(rows, ["explain_divided"], {"CLASSIFIES": False}, replaced)
    assert "said = 'x' + repr(" in text
    (text,) = copied(rows, ["explain_divided"], {"CLASSIFIES": True}, replaced)
    assert "CONCLUSIONS[" in text
