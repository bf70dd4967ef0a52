"""What is odd about a table is said, with the option that helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from treecompile.model.errors import DataError
from treecompile.model.ir import Kind
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table


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


def test_numbers_are_read_as_the_option_says() -> None:
    found = dataset({"x": ["1,5", "-2", " "], "c": ["1.5", "2", "3"]}, decimal=",")
    assert [each.kind for each in found.features] == [Kind.NUMERIC, Kind.CATEGORICAL]
    assert repr(found.columns[0].tolist()) == "[1.5, -2.0, nan]"
    assert found.features[1].categories == ("1.5", "2", "3")


# ---------------------------------------------------------------- features


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (
            ["1", "2", "NA", "NA"],
            "column 'x' is text only because of 'NA' (2 fields): add na_value='NA' if"
            " it means missing",
        ),
        (
            ["1", "2.5", "?", " ?"],
            "column 'x' is text only because of ' ?' and '?' (2 fields): add"
            " na_value=' ?' and na_value='?' if they mean missing",
        ),
        (
            ["1", "2", "3", "4", "5+"],
            "column 'x' is text only because of '5+' (1 field): add na_value='5+' if"
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


def test_what_the_user_has_said_is_not_doubted() -> None:
    x = ["1", "2", "3", "NA"]
    assert notes({"x": x}, categorical=("x",)) == []
    assert notes({"x": x}, na_values=("NA",)) == []
    frame = pd.DataFrame({"x": pd.Categorical(x), "y": ["p", "n"] * 2})
    found = make_dataset(read_table(frame), DataOptions("y")).notes
    assert [note for note in found if not note.startswith("task")] == []


# ---------------------------------------------------------------- the target


NUMBERS = [str(n / 2) for n in range(30)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([*NUMBERS, "NA"], "only because of 'NA': add na_value='NA' if it means"),
    ],
)
def test_numbers_do_not_become_labels_unasked(values: list[str], words: str) -> None:
    columns = {"x": ["1"] * len(values), "y": values}
    options = DataOptions("y")
    with pytest.raises(DataError, match=f"target 'y' is text.*{words}.*task=classi"):
        make_dataset(table(options, **columns), options)
    labels = make_dataset(
        table(options, **columns), DataOptions("y", "classify")
    ).labels
    assert labels == tuple(sorted(values))


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
        " text (categorical='name' keeps it)",
        "column 'ticket' is left out: it has 70 categories in 120 rows (categorical="
        "'ticket' keeps it)",
    )
    kept = dataset(columns, categorical=("name", "ticket"))
    assert [feature.name for feature in kept.features] == list(columns)
    few = dataset({key: values[:10] for key, values in columns.items()})
    assert [feature.name for feature in few.features] == list(columns)


@pytest.mark.parametrize("name", ["", "id", "Unnamed: 0", "RowID"])
def test_numbers_of_rows_in_a_column_called_so_are_left_out(name: str) -> None:
    values = {name: [str(n) for n in range(5, 25)], "x": ["1.5", "2.5"] * 10}
    (note,) = notes(values)
    said = f"column {name!r} is left out: it numbers the rows (numeric={name!r} keeps"
    assert note == f"{said} it)"
    assert [feature.name for feature in dataset(values).features] == ["x"]
    kept = dataset(values, numeric=(name,))
    assert [feature.name for feature in kept.features] == [name, "x"]


# ---------------------------------------------------------------- codes


def test_leading_zeros_may_be_codes() -> None:
    codes = [f"{n:05}" for n in range(100, 4100, 200)]
    (note,) = notes({"zip": codes})
    assert "leading zeros, such as '00100'" in note
    assert "categorical='zip'" in note
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
