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
from treecompile.model.values import parse_number
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.numbers import FORMATS, NumberFormat
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table
from treecompile.tables.suspicions import almost_numbers

PLAIN, COMMA, CLEAN, BOTH = (
    NumberFormat("."),
    NumberFormat(","),
    NumberFormat(".", True),
    NumberFormat(",", True),
)


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


# ---------------------------------------------------------------- formats of numbers


@pytest.mark.parametrize(
    ("text", "format_", "expected"),
    [
        ("1.5", PLAIN, 1.5),
        (" -1e5 ", PLAIN, -1e5),
        ("1,5", PLAIN, None),
        ("1,5", COMMA, 1.5),
        ("-,5", COMMA, -0.5),
        ("1,5e3", COMMA, 1500.0),
        ("1e3", COMMA, 1000.0),
        ("1.5", COMMA, None),  # not 1.5, and not 15
        ("1.234,5", COMMA, None),
        ("1,2,3", COMMA, None),
        ("1,234.50", CLEAN, 1234.5),
        ("1,234,567", CLEAN, 1234567.0),
        ("1 234 567.8", CLEAN, 1234567.8),
        ("1\u202f234", CLEAN, 1234.0),
        ("1'234", CLEAN, 1234.0),
        ("1,23", CLEAN, None),
        ("1,2345", CLEAN, None),
        ("1,234 567", CLEAN, None),
        ("1234,567", CLEAN, None),
        (",123", CLEAN, None),
        ("$5", CLEAN, 5.0),
        ("-$1,000.25", CLEAN, -1000.25),
        ("$ .5", CLEAN, 0.5),
        ("5 €", CLEAN, 5.0),
        ("USD 5", CLEAN, 5.0),
        ("$5€", CLEAN, None),
        ("45%", CLEAN, 45.0),
        ("4.5 %", CLEAN, 4.5),
        ("%5", CLEAN, None),
        ("$", CLEAN, None),
        (".", CLEAN, None),
        ("", CLEAN, None),
        ("1.5", CLEAN, 1.5),
        ("1.234,50 €", BOTH, 1234.5),
        ("1.234", BOTH, 1234.0),
        ("1.5", BOTH, None),
    ],
)
def test_a_number_in_its_format(
    text: str, format_: NumberFormat, expected: float | None
) -> None:
    plain = format_.plain(text)
    assert (plain is None) == (expected is None)
    if plain is not None:
        assert parse_number("x", plain) == expected
        values = format_.read([text, "", text])
        assert values is not None
        assert repr(values.tolist()) == repr([expected, np.nan, expected])


@pytest.mark.parametrize("units", [["$5", "€5"], ["5 %", "5"], ["5", "5 USD", "5 €"]])
def test_different_units_are_refused(units: list[str]) -> None:
    with pytest.raises(DataError, match="'x' has .* which are not in the same unit"):
        dataset({"x": units}, clean_numbers=("x",))


def test_numbers_are_read_as_the_options_say() -> None:
    columns = {"x": ["1,5", "-2", " "], "z": ["$1", "2", "$3"], "c": ["1.5", "2", "3"]}
    found = dataset(columns, decimal=",", clean_numbers=("z",))
    kinds = [feature.kind for feature in found.features]
    assert kinds == [Kind.NUMERIC, Kind.NUMERIC, Kind.CATEGORICAL]
    assert repr(found.columns[0].tolist()) == "[1.5, -2.0, nan]"
    assert found.columns[1].tolist() == [1.0, 2.0, 3.0]
    assert found.features[2].categories == ("1.5", "2", "3")
    (note,) = [each for each in found.notes if "'c'" in each]
    assert note == (
        "column 'c' is text: numbers with decimal points, such as '1.5':"
        " add --decimal '.'"
    )


def test_a_category_stays_the_text_it_is() -> None:
    found = dataset({"x": ["1,5", "2,5"]}, decimal=",", categorical=("x",))
    assert found.features[0].categories == ("1,5", "2,5")


def test_what_cannot_be_cleaned_is_an_error() -> None:
    with pytest.raises(DataError, match=r"row 2: 'x' is 'cheap': expected a number"):
        dataset({"x": ["$1", "cheap", "$2"]}, clean_numbers=("x",))
    found = dataset({"x": ["$1", "cheap"]}, clean_numbers=("x",), na_values=("cheap",))
    assert repr(found.columns[0].tolist()) == "[1.0, nan]"


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
        (
            ["1,5", "2,25"],
            "column 'x' is text: numbers with decimal commas, such as '2,25': add"
            " --decimal ','",
        ),
        (
            ["1,500", "2", "-"],
            "column 'x' is text: numbers with decimal commas, such as '1,500', and '-'"
            " (1 field): add --clean-numbers 'x' if the comma separates thousands, or"
            " --decimal ',' if it is the decimal sign",
        ),
        (
            ["$1,500", "$2"],
            "column 'x' is text: numbers with thousands separators or signs, such as"
            " '$1,500': add --clean-numbers 'x'",
        ),
        (
            ["1.500,5 €", "2 €"],
            "column 'x' is text: numbers with decimal commas and thousands separators"
            " or signs, such as '1.500,5 €': add --decimal ',' and --clean-numbers 'x'",
        ),
        (
            ["a", "?"],
            "'?' occurs 1 time in 'x': add --na-value '?' if it means missing",
        ),
        (
            ["a", " N/A", " N/A"],
            "' N/A' occurs 2 times in 'x': add --na-value ' N/A' if it means missing",
        ),
        (["1", "x"], None),
        (["1", "2", "", " ", "\t"], None),
        (["a", "b"], None),
        (["true", "false"], None),
        (["none", "unknown"], None),
    ],
)
def test_what_is_said_about_a_column(values: list[str], note: str | None) -> None:
    assert notes({"x": values}) == ([] if note is None else [note])


def test_the_advice_helps() -> None:
    x = ["1,5", "2,25", "NA"]
    found = dataset({"x": x}, decimal=",", na_values=("NA",))
    assert found.features[0].kind is Kind.NUMERIC
    assert notes({"x": x}, decimal=",", na_values=("NA",)) == []


def test_columns_with_the_same_oddity_share_a_note() -> None:
    columns = {"a": ["1", "2", "NA"], "b": ["NA", "1", "2"], "c": ["u", "v", "NA"]}
    assert notes(columns | {"d": ["NA", "NA", "w"]}) == [
        "columns 'a', 'b' are text only because of 'NA' (2 fields): add --na-value 'NA'"
        " if it means missing",
        "'NA' occurs 1 time in 'c', 2 times in 'd': add --na-value 'NA' if it means"
        " missing",
    ]
    many = {f"x{n}": ["u", "?"] for n in range(12)}
    (note,) = notes(many)
    assert note.count("time in") == 10
    assert "'x9' and in 2 more columns: add" in note


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

    assert almost_numbers(Counting(texts)) is None
    assert calls <= 6 * len(FORMATS)


# ---------------------------------------------------------------- missing values


def test_a_text_that_means_missing_and_does_not_occur() -> None:
    x = ["a", " ?", "b", " ?"]
    assert notes({"x": x}, na_values=("?",))[0] == (
        "--na-value '?' occurs nowhere, but ' ?' does, in 'x': blanks count"
    )
    assert notes({"x": x}, na_values=(" ?",)) == []
    assert notes({"x": x}, na_values=("zz", "a"))[0] == "--na-value 'zz' occurs nowhere"
    frame = pd.DataFrame({"x": [1, 2], "l": [[], []], "y": ["p", "n"]})
    options = DataOptions("y", na_values=("?", "p"), ignore=("l",))
    assert make_dataset(read_table(frame), options).notes[0] == (
        "--na-value '?' occurs nowhere"
    )


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
        ([n.replace(".", ",") for n in NUMBERS], "decimal commas.*--decimal ','"),
        ([f"${n}" for n in NUMBERS], "signs.*--clean-numbers 'y'"),
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


def test_a_suspect_label_is_said() -> None:
    options = DataOptions("y")
    columns = {"x": ["1"] * 3, "y": ["0", "1", "?"]}
    found = make_dataset(table(options, **columns), options)
    assert found.labels == ("0", "1", "?")
    assert "'?' is a label: add --na-value '?' if it means missing" in found.notes


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


@pytest.mark.parametrize(
    ("name", "values", "is_said"),
    [
        ("x", range(1, 21), True),
        ("x", range(1, 41, 2), False),
        ("id", range(1, 41, 2), True),
        ("customer_id", range(1, 41, 2), True),
        ("PassengerId", range(1, 41, 2), True),
        ("order no", range(1, 41, 2), True),
        ("humid", range(1, 41, 2), False),
        ("id", [*range(1, 20), 21], True),
        ("id", [*range(1, 20), 1], False),
        ("id", [n + 0.5 for n in range(20)], False),
    ],
)
def test_numbers_of_rows_are_said(name: str, values: Any, is_said: bool) -> None:
    found = notes({name: [str(value) for value in values]})
    said = f"column {name!r} looks like an identifier: leave it out with --ignore"
    assert bool(found) == is_said
    assert all(note.startswith(said) for note in found)


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
