"""What is odd about a table is said, with the option that helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from treecompile.model.errors import DataError
from treecompile.model.ir import Kind
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.numbers import plain, read_numbers
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table
from treecompile.tables.suspicions import odd_texts


def table(options: DataOptions, **columns: list[Any]) -> RawTable:
    arrays = tuple(np.array(column, dtype=object) for column in columns.values())
    return RawTable(tuple(columns), arrays, True, "data.csv", reading=options)


def dataset(columns: dict[str, list[Any]], **how: Any) -> Dataset:
    rows = len(next(iter(columns.values())))
    options = DataOptions("y", **how)
    columns = {"y": (["n", "p"] * rows)[:rows], **columns}
    return make_dataset(table(options, **columns), options)


def notes(columns: dict[str, list[Any]], **how: Any) -> list[str]:
    found = dataset(columns, **how).notes
    return [note for note in found if not note.startswith("task")]


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "decimal", "expected"),
    [
        ("1.5", ".", 1.5),
        (" -1e5 ", ".", -1e5),
        ("1,5", ".", None),
        ("", ".", None),
        ("1,5", ",", 1.5),
        ("-,5", ",", -0.5),
        ("1,5e3", ",", 1500.0),
        ("1e3", ",", 1000.0),
        ("1.5", ",", None),  # not 1.5, and not 15
        ("1.234,5", ",", None),
        ("1,2,3", ",", None),
    ],
)
def test_a_number_with_its_decimal_sign(
    text: str, decimal: str, expected: float | None
) -> None:
    assert (plain(text, decimal) is None) == (expected is None)
    if expected is not None:
        values = read_numbers([text, "", text], decimal)
        assert values is not None
        assert repr(values.tolist()) == repr([expected, np.nan, expected])


def test_numbers_are_read_as_the_option_says() -> None:
    found = dataset({"x": ["1,5", "-2", " "], "c": ["1.5", "2", "3"]}, decimal=",")
    assert [each.kind for each in found.features] == [Kind.NUMERIC, Kind.CATEGORICAL]
    assert repr(found.columns[0].tolist()) == "[1.5, -2.0, nan]"
    assert found.features[1].categories == ("1.5", "2", "3")


def test_a_category_stays_the_text_it_is() -> None:
    found = dataset({"x": ["1,5", "2,5"]}, decimal=",", categorical=("x",))
    assert found.features[0].categories == ("1,5", "2,5")


# ---------------------------------------------------------------- features


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (
            ["1", "2", "NA", "NA"],
            "column 'x' is text only because of 'NA' (2 fields): add --na-value 'NA' if"
            " it means missing",
        ),
        (
            ["1", "2.5", "?", " ?"],
            "column 'x' is text only because of ' ?' and '?' (2 fields): add"
            " --na-value ' ?' and --na-value '?' if they mean missing",
        ),
        (
            ["1", "2", "3", "4", "5+"],
            "column 'x' is text only because of '5+' (1 field): add --na-value '5+' if"
            " it means missing",
        ),
        (["1", "x"], None),
        (["1", "2", "", " ", "\t"], None),
        (["a", "b"], None),
        (["true", "false"], None),
        (["none", "unknown", "?"], None),
    ],
)
def test_what_is_said_about_a_column(values: list[str], note: str | None) -> None:
    assert notes({"x": values}) == ([] if note is None else [note])


def test_columns_with_the_same_oddity_share_a_note() -> None:
    columns = {"a": ["1", "2", "NA"], "b": ["NA", "1", "2"], "c": ["u", "v", "NA"]}
    assert notes(columns) == [
        "columns 'a', 'b' are text only because of 'NA' (2 fields): add --na-value 'NA'"
        " if it means missing",
    ]


def test_what_the_user_has_said_is_not_doubted() -> None:
    x = ["1", "2", "3", "NA"]
    assert notes({"x": x}, categorical=("x",)) == []
    assert notes({"x": x}, na_values=("NA",)) == []
    frame = pd.DataFrame({"x": pd.Categorical(x), "y": ["p", "n"] * 2})
    found = make_dataset(read_table(frame), DataOptions("y")).notes
    assert [note for note in found if not note.startswith("task")] == []


def test_a_frame_has_to_be_converted() -> None:
    frame = pd.DataFrame({"x": ["1", "2", "?", "3"], "y": ["p", "n"] * 2})
    found = make_dataset(read_table(frame), DataOptions("y")).notes
    assert found[-1] == (
        "column 'x' is text only because of '?' (1 field): convert to numbers"
    )
    codes = frame.assign(x=["01", "02", "03", "01"])
    found = make_dataset(read_table(codes), DataOptions("y")).notes
    assert found == ("task: classify (target 'y' is text with 2 labels)",)


def test_texts_that_are_no_numbers_are_told_quickly() -> None:
    texts = [f"word {n}" for n in range(1_000_000)]
    calls = 0

    class Counting(list[str]):
        def __iter__(self) -> Any:
            nonlocal calls
            for text in texts:
                calls += 1
                yield text

    assert odd_texts(Counting(texts)) == ()
    assert calls <= 6


# ---------------------------------------------------------------- missing values


def test_blanks_are_missing_in_text_files(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,c,y\n1, ,a\n  ,u,b\n2,\t,a\n3,u,  \n")
    table = read_table(path)
    found = make_dataset(table, DataOptions("y"))
    assert repr(found.columns[0].tolist()) == "[1.0, nan, 2.0]"
    assert found.columns[1].tolist() == [-1, 0, -1]
    assert found.labels == ("a", "b")
    frame = pd.DataFrame({"x": [" ", "u"], "y": ["a", "b"]})
    assert treecompile.learn(frame, target="y").program.body.features[0].categories == (
        " ",
        "u",
    )


def test_a_few_texts_among_objects_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"x": 1, "y": "a"}\n{"x": 2.5, "y": "b"}\n{"x": "NA", "y": "b"}\n')
    with pytest.raises(
        DataError,
        match="'x' mixes .*: if 'NA' means missing, add na_value='NA'; otherwise",
    ):
        treecompile.learn(path, target="y")
    treecompile.learn(path, target="y", na_value="NA")


# ---------------------------------------------------------------- the target


NUMBERS = [str(n / 2) for n in range(30)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([*NUMBERS, "NA"], "only because of 'NA': add --na-value 'NA' if it means"),
    ],
)
def test_numbers_do_not_become_labels_unasked(values: list[str], words: str) -> None:
    columns = {"x": ["1"] * len(values), "y": values}
    options = DataOptions("y")
    with pytest.raises(DataError, match=f"target 'y' is text.*{words}.*--task classi"):
        make_dataset(table(options, **columns), options)
    labels = make_dataset(
        table(options, **columns), DataOptions("y", "classify")
    ).labels
    assert labels == tuple(sorted(values))


def test_a_target_of_almost_numbers_to_regress() -> None:
    options = DataOptions("y", "regress")
    columns = {"x": ["1"] * 4, "y": ["1", "2", "3", "none"]}
    with pytest.raises(
        DataError, match="only because of 'none': add --na-value 'none'"
    ):
        make_dataset(table(options, **columns), options)
    frame = pd.DataFrame(columns)
    with pytest.raises(DataError, match="only because of 'none': convert to numbers"):
        treecompile.learn(frame, target="y", task="regress")


@pytest.mark.parametrize("missing", [np.nan, None])
def test_labels_beside_a_missing_value_stay_labels(missing: float | None) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4, 5], "y": [0, 1, missing, 1, 0]})
    model = treecompile.learn(frame, target="y")
    assert model.program.body.labels == (0.0, 1.0)
    for values in ([0.0, 1.0, 0.0, 1.0, 0.0], [0.5, 1.0, np.nan, 1.0, 0.0]):
        model = treecompile.learn(frame.assign(y=values), target="y")
        assert model.program.body.labels == ()


# ---------------------------------------------------------------- too many categories


def test_identifiers_and_free_text_are_left_out() -> None:
    rows = 120
    columns = {
        "name": [f"Mr {n}" for n in range(rows)],
        "ticket": [f"T{n % 70}" for n in range(rows)],
        "town": [f"t{n % 50}" for n in range(rows)],
        "n": [str(n % 7) for n in range(rows)],
    }
    found = dataset(columns)
    assert [feature.name for feature in found.features] == ["town", "n"]
    assert found.notes[1:] == (
        "column 'name' is left out: no value occurs twice, as in an identifier or a"
        " text (--categorical 'name' keeps it)",
        "column 'ticket' is left out: it has 70 categories in 120 rows (--categorical"
        " 'ticket' keeps it)",
    )
    kept = dataset(columns, categorical=("name", "ticket"))
    assert [feature.name for feature in kept.features] == list(columns)
    few = dataset({key: values[:10] for key, values in columns.items()})
    assert [feature.name for feature in few.features] == list(columns)


def test_nothing_left_says_why() -> None:
    with pytest.raises(
        DataError, match="no column but 'y' is left.*'x' is left out.*--categorical 'x'"
    ):
        dataset({"x": [f"id{n}" for n in range(20)]})


@pytest.mark.parametrize("name", ["", "id", "Unnamed: 0", "RowID"])
def test_numbers_of_rows_in_a_column_called_so_are_left_out(name: str) -> None:
    values = {name: [str(n) for n in range(5, 25)], "x": ["1.5", "2.5"] * 10}
    (note,) = notes(values)
    said = f"column {name!r} is left out: it numbers the rows (--numeric {name!r} keeps"
    assert note == f"{said} it)"
    assert [feature.name for feature in dataset(values).features] == ["x"]
    kept = dataset(values, numeric=(name,))
    assert [feature.name for feature in kept.features] == [name, "x"]


# ---------------------------------------------------------------- codes


def test_leading_zeros_may_be_codes() -> None:
    codes = [f"{n:05}" for n in range(100, 4100, 200)]
    (note,) = notes({"zip": codes})
    assert "leading zeros, such as '00100'" in note
    assert "--categorical 'zip'" in note
    assert not notes({"zip": codes}, numeric=("zip",))
    assert not notes({"hour": ["07", "08", "12", "13", "0", "0.5"] * 4})


@pytest.mark.parametrize(
    ("number", "is_said"),
    [
        ("9007199254740992", False),
        ("9007199254740994", True),
        ("-9007199254740994", True),
        ("1e30", False),  # no integer that somebody has given
    ],
)
def test_integers_that_doubles_round(number: str, is_said: bool) -> None:
    found = notes({"account": ["1", "2", number, "3.5"] * 5})
    assert ["above 2^53" in note for note in found] == [True] * is_said
