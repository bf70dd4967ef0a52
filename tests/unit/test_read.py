"""Reading: the table has what the file has, or the error names the line."""

from __future__ import annotations

import codecs
import sys
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from treecompile.model.errors import DataError
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table


def cells(table: RawTable) -> dict[str, list[object]]:
    columns = zip(table.names, table.columns, strict=True)
    return {name: column.tolist() for name, column in columns}


def write(folder: Path, content: bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1,x\n", {"a": ["1"], "b": ["x"]}),
        (b"a,b\n1,x", {"a": ["1"], "b": ["x"]}),
        (b"\xef\xbb\xbfa,b\n1,x\n", {"a": ["1"], "b": ["x"]}),
        (b"a,b\r\n1,x\r\n", {"a": ["1"], "b": ["x"]}),
        (b"a,b\r1,x\r", {"a": ["1"], "b": ["x"]}),
        (b"a,b\n1,\n,x\n", {"a": ["1", ""], "b": ["", "x"]}),
        (b'a,b\n"x,\r\ny","say ""hi"""\n', {"a": ["x,\r\ny"], "b": ['say "hi"']}),
        (b"a,b\n 1 ,it's\n", {"a": [" 1 "], "b": ["it's"]}),
        (b"a,b\n1,x\0y\n", {"a": ["1"], "b": ["x\0y"]}),
        ("größe,🌳\nä,🍂\n".encode(), {"größe": ["ä"], "🌳": ["🍂"]}),
        (b"a,b\n", {"a": [], "b": []}),
        (b"\n\na,b\n\n1,x\n\n", {"a": ["1"], "b": ["x"]}),
        (b'a\n1\n\n""\n2\n', {"a": ["1", "", "", "2"]}),
        (b",b\n1,x\n", {"": ["1"], "b": ["x"]}),
        (b"a,b\nNA,nan\n", {"a": ["NA"], "b": ["nan"]}),
        (b"a,b\n1," + b"x" * 200_000, {"a": ["1"], "b": ["x" * 200_000]}),
    ],
)
def test_csv_keeps_every_field_as_text(
    tmp_path: Path, content: bytes, expected: dict[str, list[object]]
) -> None:
    table = read_table(write(tmp_path, content))
    assert cells(table) == expected
    assert table.text
    assert table.source == "data.csv"
    assert table.rows == len(next(iter(expected.values())))


def test_tsv_and_suffix_in_capitals(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, b"a\tb\n1,5\tx\n", "data.TSV"))
    assert cells(table) == {"a": ["1,5"], "b": ["x"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["data.csv", "empty", "header"]),
        (b"\xef\xbb\xbf\n\n", ["empty"]),
        (b"a,b\n1,x\n1,x,y\n", ["data.csv, line 3", "3 fields", "2"]),
        (b"a,b\n1\n", ["line 2", "1 field "]),
        (b'a,b\n"x\ny",1\n\n1\n', ["line 5"]),
        (b'a,b\n1,x\n2,"never\nclosed\n', ["line 3", "quote"]),
        (b'a,b\n1,"x"y\n', ["line 2", "quote"]),
        (b"a,b,a,c,b\n", ["'a', 'b'", "rename"]),
        (b"a,b\n1,x\n2,caf\xe9\n", ["line 3", "0xe9", "UTF-8"]),
        (b"a,b\n" + b"1,x\n" * 9_999 + b"1,\xff\n", ["line 10001", "0xff"]),
        (b"a,b\n" + b"1,x\n" * 30 + b"\xff\n", ["line 32", "encoding"]),
        ("a,b\n1,x\n".encode("utf-16-le"), ["UTF-16", "encoding=utf-16-le"]),
        ("a,b\n1,x\n".encode("utf-16-be"), ["UTF-16", "encoding=utf-16-be"]),
        (codecs.BOM_UTF16_LE + b"a\0\n\0\0\xd8", ["line 2", "not utf-16"]),
    ],
)
def test_a_damaged_file_says_where(
    tmp_path: Path, content: bytes, words: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, content))
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, words in {
        "absent.csv": "No such file",
        "absent.parquet": "No such file",
        "folder.csv": "is a folder",
        "data.xls": "unknown suffix.*[.]csv, [.]tsv, .*[.]parquet.*[.]gz",
        "data.parquet.gz": "unknown suffix",
        "nul\0.csv": "cannot read .*x00",
    }.items():
        with pytest.raises(DataError, match=words):
            read_table(str(tmp_path / name))
    with pytest.raises(DataError, match="name of the data file is empty"):
        read_table("")


def test_an_absent_column_names_the_nearest(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, b"outlook,windy\n1,2\n"))
    with pytest.raises(DataError, match="'outlok': did you mean 'outlook'[?]"):
        table.column("outlok")
    with pytest.raises(DataError, match="'zzz': the columns are 'outlook', 'windy'$"):
        table.column("zzz")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "level"),
        (pd.DataFrame(index=[0]), "no columns"),
    ],
)
def test_a_frame_with_unusable_names(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_table(frame)


def test_parquet_round_trip(tmp_path: Path) -> None:
    big = 2**53 + 1
    frame = pd.DataFrame(
        {
            "i": pd.array([big, None], dtype="Int64"),
            "f": [0.1, None],
            "s": ["3", ""],
            "d": [Decimal("1.5"), None],
            "c": pd.Categorical(["b", "a"], categories=["b", "a", "z"], ordered=True),
        }
    )
    path = tmp_path / "data.parquet"
    frame.to_parquet(path)
    table = read_table(path)
    assert table.source == "data.parquet"
    assert not table.text
    assert table.names == ("i", "f", "s", "d", "c")
    assert table.column("i").tolist() == [big, pd.NA]
    assert table.column("f").tolist() == [0.1, pd.NA]
    assert table.column("s").tolist() == ["3", ""]
    assert table.column("d").tolist()[0] == Decimal("1.5")
    assert table.column("c").dtype == frame["c"].dtype


def test_damaged_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"a": range(1000)}).to_parquet(tmp_path / "sound.parquet")
    sound = (tmp_path / "sound.parquet").read_bytes()
    for content in (b"", b"PAR1", b"a,b\n", sound[:-20], sound[: len(sound) // 2]):
        path = write(tmp_path, content, "data.parquet")
        with pytest.raises(DataError, match="not valid Parquet") as caught:
            read_table(path)
        assert "\n" not in str(caught.value)


def test_parquet_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # importing it fails
    path = write(tmp_path, b"PAR1", "data.parquet")
    with pytest.raises(DataError, match=r"pip install 'treecompile\[parquet\]'"):
        read_table(path)
