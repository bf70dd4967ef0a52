"""JSON lines: typed values, the same keys on every line, errors with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from treecompile.model.errors import DataError
from treecompile.model.ir import Kind, ValueType
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table


def table(folder: Path, text: str, name: str = "data.jsonl") -> RawTable:
    path = folder / name
    path.write_bytes(text.encode())
    return read_table(path)


def dataset(folder: Path, text: str, **options: object) -> Dataset:
    given = DataOptions("y", **options)  # type: ignore[arg-type]
    return make_dataset(table(folder, text), given)


TYPED = """{"n": 1, "f": 1.5, "t": "1", "b": true, "e": "", "y": "p"}

{"y": "q", "e": null, "b": null, "t": "2", "f": null, "n": 2}
{"n": 3, "f": -0.0, "t": null, "b": false, "e": "x", "y": null}
"""


@pytest.mark.parametrize("name", ["data.jsonl", "data.ndjson", "DATA.JSONL"])
def test_values_keep_their_types(tmp_path: Path, name: str) -> None:
    found = table(tmp_path, TYPED, name)
    assert found.names == ("n", "f", "t", "b", "e", "y")
    assert [column.tolist() for column in found.columns] == [
        [1, 2, 3],
        [1.5, None, -0.0],
        ["1", "2", None],
        [True, None, False],
        ["", None, "x"],
        ["p", "q", None],
    ]
    assert not found.text
    assert found.source == name


def test_what_they_mean(tmp_path: Path) -> None:
    found = dataset(tmp_path, TYPED)
    schema = {f.name: (f.kind, f.type, f.categories) for f in found.features}
    assert schema == {
        "n": (Kind.NUMERIC, ValueType.FLOAT, ()),
        "f": (Kind.NUMERIC, ValueType.FLOAT, ()),
        "t": (Kind.CATEGORICAL, ValueType.STR, ("1", "2")),
        "b": (Kind.CATEGORICAL, ValueType.BOOL, (True,)),
        "e": (Kind.CATEGORICAL, ValueType.STR, ("",)),
    }
    assert found.labels == ("p", "q")
    assert any("rows without a known 'y': 1" in note for note in found.notes)
    categories = dataset(tmp_path, TYPED, categorical=("n",)).features[0]
    assert (categories.type, categories.categories) == (ValueType.INT, (1, 2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "data.jsonl is empty: expected one JSON object on each line"),
        ("{}\n", "line 1: the object has no keys"),
        ("[1, 2]\n", "line 1: expected a JSON object, such as"),
        ('{"x": 1}\n\n{"x": }\n', "line 3: Expecting value: expected one JSON object"),
        ('{"x": 1} {"x": 2}\n', "line 1: Extra data"),
        ('{\n"x": 1}\n', "line 1: .*expected one JSON object on each line"),
        ('{"x": 1}\n{"z": 1}\n', "line 2: no key 'x', which line 1 has: write null"),
        ('\n{"x": 1}\n{"x": 1, "z": 1}\n', "line 3: the key 'z' is not in line 2"),
        ('{"x": 1, "x": 2}\n', "line 1: the key 'x' is there twice"),
        ('{"x": 1}\n{"x": [1]}\n', "line 2: 'x' is an array: flatten it"),
        ('{"x": 1}\n\n{"x": {"a": 1}}\n', "line 3: 'x' is an object: flatten it"),
        ('{"x": ' + "[" * 200_000 + "\n", "line 1: nested too deeply"),
        ('{"x": ' + "9" * 5_000 + "}\n", "line 1: an integer of thousands of digits"),
    ],
)
def test_errors_have_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        table(tmp_path, text)
    assert len(str(caught.value)) < 250


ARRAY = """
[
 {"n": 1, "t": "a"}, {"t": null,
  "n": 2.5}
 , {"n": null, "t": "[x],{"}
]
"""


def test_an_array_of_objects(tmp_path: Path) -> None:
    found = table(tmp_path, ARRAY, "data.json")
    assert found.names == ("n", "t")
    assert [c.tolist() for c in found.columns] == [[1, 2.5, None], ["a", None, "[x],{"]]
    assert not found.text
    on_lines = table(tmp_path, TYPED, "data.json")
    expected = table(tmp_path, TYPED)
    assert on_lines.names == expected.names
    for one, other in zip(on_lines.columns, expected.columns, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "data.json is empty: expected an array of JSON objects, or one object on"),
        ("[ ]", "data.json is empty"),
        ("\n[", "line 2: Expecting value: expected an array"),
        ('[{"x": 1}\n', "line 2: not a valid array"),
        ('[{"x": 1}]\n3', "line 1: not a valid array"),
        ("3", "line 1: not a valid array"),
        (',{"x": 1}]', "line 1: not a valid array"),
        ('[\n{"x": 1}, 3]', "line 2: expected a JSON object, such as"),
        ("[" * 200_000, "line 1: nested too deeply"),
        ('[{"x": "\\ud800"}]', "line 1: 'x' is .*half a surrogate pair"),
    ],
)
def test_errors_in_an_array_have_their_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        table(tmp_path, text, "data.json")
    assert len(str(caught.value)) < 250


def test_types_do_not_mix(tmp_path: Path) -> None:
    text = '{"x": 1, "y": "p"}\n{"x": true, "y": "q"}\n'
    with pytest.raises(DataError, match="column 'x' mixes int and bool"):
        dataset(tmp_path, text)
    with pytest.raises(DataError, match="column 'x' mixes int and str"):
        dataset(tmp_path, text.replace("true", '"NA"'))
    read = dataset(tmp_path, text.replace("true", '"NA"'), na_values=("NA",))
    assert read.features[0].kind is Kind.NUMERIC
