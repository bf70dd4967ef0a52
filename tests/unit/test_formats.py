"""Files as they are found: delimiters, headers, encodings, compression, Excel."""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import treecompile
from treecompile import OptionError
from treecompile.model.errors import DataError
from treecompile.tables import excel, packed
from treecompile.tables.dataset import make_dataset
from treecompile.tables.options import DataOptions, ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def cells(table: RawTable) -> dict[str, list[object]]:
    columns = zip(table.names, table.columns, strict=True)
    return {name: column.tolist() for name, column in columns}


def read(folder: Path, content: bytes, name: str = "data.csv", **how: Any) -> RawTable:
    path = folder / name
    path.write_bytes(content)
    return read_table(path, ReadOptions(**how))


# ---------------------------------------------------------------- delimiters

POSSIBLE = "delimiter: ',' (';' is possible, too): if this is wrong, add delimiter"


@pytest.mark.parametrize(
    ("content", "names", "note"),
    [
        ("a;b\n1;2\n", ["a", "b"], "delimiter: ';'"),
        ("a\tb\n1\t2\n", ["a", "b"], "delimiter: tab"),
        ("a|b\n1|2\n", ["a", "b"], "delimiter: '|'"),
        ("a;b\n1,5;2,5\n", ["a", "b"], "delimiter: ';'"),
        ("x1,5;y\n1,5;2\n", ["x1", "5;y"], POSSIBLE),
        ("0,5;-1,5\n1,5;2\n", ["0,5", "-1,5"], "delimiter: ';'"),
        ("0,5;1\n1,5;2\n", ["0,5", "1"], "delimiter: ';'"),
        ("a;b;c\nx,y|z;1|2;t\nx|y;u;v\n", ["a", "b", "c"], "delimiter: ';'"),
        ('a;b\n"x;y\nz";2\n', ["a", "b"], "delimiter: ';'"),
        ('\n\na;b\n\n1;"2"\n', ["a", "b"], "delimiter: ';'"),
        ("a|b|c;d\n1|2|3;4\n", ["a", "b", "c;d"], "delimiter: '|'"),
        ("a,b\n1,2\n", ["a", "b"], None),
        ("a,b\n1;2,2\n", ["a", "b"], None),
        ("text\nhello; you\nso; what; else\n", ["text"], None),
        ("a\nx;y\n", ["a"], None),
        ("a\n1\n", ["a"], None),
        ("a,1;b,2;c\n1,5;2,5;3\n", ["a", "1;b", "2;c"], POSSIBLE),
    ],
)
def test_the_delimiter_is_found_and_said(
    tmp_path: Path, content: str, names: list[str], note: str | None
) -> None:
    table = read(tmp_path, content.encode())
    assert list(table.names) == names
    assert table.notes == (() if note is None else (note,))


def test_the_delimiter_that_is_set_is_used(tmp_path: Path) -> None:
    table = read(tmp_path, b"a;b,c\n1;2,3\n", delimiter=",")
    assert cells(table) == {"a;b": ["1;2"], "c": ["3"]}
    assert table.notes == ()
    for tab in ("tab", "\t", "\\t"):
        assert read(tmp_path, b"a\tb,c\n1\t2\n", delimiter=tab).names == ("a", "b,c")
    assert read(tmp_path, b"a:b\n1:2\n", delimiter=":").names == ("a", "b")
    assert read(tmp_path, b"a;b\n1;2\n", "d.tsv", delimiter=";").names == ("a", "b")
    for wrong in (";;", '"', "\n", "\0"):
        with pytest.raises(OptionError, match="delimiter=.*: expected one character"):
            read(tmp_path, b"a;b\n", delimiter=wrong)


# ---------------------------------------------------------------- blanks


SKIPPED = "blanks after each ',' are skipped"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("a, b\n1, x\n", {"a": ["1"], "b": ["x"]}),
        ("a,b\n1, x\n2,  y\n", {"a": ["1", "2"], "b": ["x", "y"]}),
        ('a, b\n1, "x, y"\n"1,2", z\n', {"a": ["1", "1,2"], "b": ["x, y", "z"]}),
        ("a, b\n1, \n2, x\n", {"a": ["1", "2"], "b": ["", "x"]}),
        ('a, b\n1, "x\n,y"\n', {"a": ["1"], "b": ["x\n,y"]}),
    ],
)
def test_blanks_after_every_comma_are_skipped(
    tmp_path: Path, content: str, found: dict[str, list[str]]
) -> None:
    table = read(tmp_path, content.encode())
    assert cells(table) == found
    assert table.notes == (SKIPPED,)


ROW_NAMES = "the header is one name short, as R writes it: the first column has the "


@pytest.mark.parametrize(
    ("content", "how"),
    [
        ('"x" "y"\n"Mazda RX4" 1 "a"\n"Fiat" 2 "b"\n', {"delimiter": " "}),
        ("x\ty\nMazda RX4\t1\ta\nFiat\t2\tb\n", {}),
        ('"x","y"\n"Mazda RX4",1,"a"\n"Fiat",2,"b"\n', {}),
        ('"x";"y"\n"Mazda RX4";1;"a"\n"Fiat";2;"b"\n', {}),
    ],
)
def test_row_names_of_r_are_left_out(
    tmp_path: Path, content: str, how: dict[str, Any]
) -> None:
    table = read(tmp_path, content.encode(), **how)
    assert cells(table) == {"x": ["1", "2"], "y": ["a", "b"]}
    assert table.notes[-1].startswith(ROW_NAMES)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name,city\nSmith, Ann,Rome\nRay, Bob,Oslo\n", "line 2: 3 fields where"),
        ("x,y\n1,2,\n3,4,\n", "line 2: 3 fields where"),
        ('x,y\n"1","2",\n"3","4",\n', "line 2: 3 fields where"),
        ("id,price\n1,2,5\n2,3,75\n", "line 2: 3 fields where"),
        ('"x","y"\n"a",1,2\n"a",3,4\n', "short, .* has 'a' twice: complete the he"),
        ('"x","y"\n"a",1,2\n"b",3\n', "line 2: 3 fields where"),
    ],
)
def test_a_short_header_may_be_wrong(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path, content.encode())


# ---------------------------------------------------------------- headers


HEADLESS = [
    "5.1,3.5,setosa\n4.9,3.0,setosa\n6.0,3.1,virginica\n",
    "p,x,s\ne,x,y\np,y,s\n",
    "?,1,a\n2,2,b\n3,1,c\n",
    "1,1,1\n2,1,2\n",  # names that occur twice are no better explanation
    "39, State-gov, <=50K\n50, Private, <=50K\n",
    "Ford,1995\nVolvo,1996\nFiat,NA\n",
]


@pytest.mark.parametrize("content", HEADLESS)
def test_a_first_line_of_data_is_never_lost(tmp_path: Path, content: str) -> None:
    target = content.partition("\n")[0].split(",")[-1]
    for read_and_learn in (
        lambda: make_dataset(read(tmp_path, content.encode()), DataOptions(target)),
        lambda: read(tmp_path, content.encode()).column("class"),
    ):
        with pytest.raises(DataError, match="first line looks like data.*no_header"):
            read_and_learn()
    table = read(tmp_path, content.encode(), no_header=True)
    lines = content.splitlines()
    assert table.names == tuple(f"c{n + 1}" for n in range(len(lines[0].split(","))))
    assert table.rows == len(lines)
    fields = [field.strip() for field in lines[0].split(",")]
    assert [str(column[0]) for column in table.columns] == fields


def test_a_model_without_names_says_which_option_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("red;1,5;a\nblue;2,5;b\n" * 9)
    how: Any = {"no_header": True, "decimal": ","}
    by_words = treecompile.learn(path, target="c3", **how)
    by_numbers = treecompile.learn(path, target="c3", ignore="c1", **how)
    path.write_text("red;x;a\n")
    with pytest.raises(DataError, match="no column 'c1': .* data, add no_header"):
        by_words.predict(path)
    path.write_text("c2;c3\n1,5;a\n")
    with pytest.raises(DataError, match="'c2' is '1,5': expected a number"):
        by_numbers.predict(path)


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-8-sig"])
def test_unicode_is_told_apart(tmp_path: Path, encoding: str) -> None:
    for name, text in (
        ("x.csv", "größe,y\nä🌳,1\n" + "b,2\n" * 9_000),
        ("x.jsonl", '{"größe": "ä🌳"}\n'),
    ):
        table = read(tmp_path, text.encode(encoding), name)
        assert table.column("größe")[0] == "ä🌳"


def test_other_encodings_are_named(tmp_path: Path) -> None:
    content = "größe,y\r\nä,1\r\n".encode("cp1252")
    with pytest.raises(DataError, match=r"line 1: not UTF-8 \(byte 0xf6\).*encoding"):
        read(tmp_path, content)
    table = read(tmp_path, content, encoding="cp1252")
    assert cells(table) == {"größe": ["ä"], "y": ["1"]}
    assert cells(read(tmp_path, content, encoding="latin-1")) == cells(table)
    content = "a,b\n1,ü\n2,".encode("cp1252") + b"\x81\n"
    with pytest.raises(DataError, match=r"data.csv, line 3: not cp1252: check"):
        read(tmp_path, content, encoding="cp1252")
    text = "größe,y\nä,1\n"
    content = text.encode("utf-16-le")
    assert read(tmp_path, content, encoding="utf-16-le").names == ("größe", "y")
    assert read(tmp_path, text.encode(), encoding="utf-8").names == ("größe", "y")
    for wrong in ("martian", "zlib", "a\0b", "é"):
        with pytest.raises(OptionError, match="encoding=.* is not known"):
            read(tmp_path, content, encoding=wrong)


# ---------------------------------------------------------------- compression


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstd.compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_are_read(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    content = b"a;b\n" + b"1;x\n" * 50_000
    table = read(tmp_path, pack(content), f"data.csv{suffix}")
    assert table.rows == 50_000
    assert table.source == f"data.csv{suffix}"
    twice = pack(b"a,b\n1,2\n") + pack(b"3,4\n")
    table = read(tmp_path, twice, f"data.csv{suffix}")
    assert cells(table) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read(tmp_path, pack(b'{"a": 1}\n'), f"D.JSONL{suffix.upper()}").rows == 1
    wide = pack("ä,b\n1,2\n".encode("utf-16"))
    assert read(tmp_path, wide, f"data.csv{suffix}").names == ("ä", "b")


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_damaged_archive_is_refused(tmp_path: Path, suffix: str) -> None:
    whole = PACKERS[suffix](b"a,b\n" + b"1,2\n" * 9_000)
    for content in (whole[:-6], whole[:20] + b"damage" + whole[26:], b"a,b\n1,2\n"):
        with pytest.raises(DataError, match=f"data.csv{suffix} is damaged, or cut off"):
            read(tmp_path, content, f"data.csv{suffix}")


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(packed, "MOST_BYTES", 1 << 20)
    bomb = PACKERS[suffix](b"a,b\n" + b"1,2\n" * 300_000)
    assert len(bomb) < 9_000
    with pytest.raises(DataError, match="expands to more than 1,048,576 bytes: if you"):
        read(tmp_path, bomb, f"data.csv{suffix}")


# ---------------------------------------------------------------- Excel


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


TABLE: list[list[Any]] = [
    ["size", "colour", "ok", "y"],
    [1.5, "red", True, "a"],
    [2, None, False, "b"],
    [],
    [None, "blue", True, "#N/A"],
]


def test_a_sheet_is_read_with_its_types(tmp_path: Path) -> None:
    table = read_table(workbook(tmp_path / "x.xlsx", One=TABLE))
    assert cells(table) == {
        "size": [1.5, 2, None],
        "colour": ["red", None, "blue"],
        "ok": [True, False, True],
        "y": ["a", "b", None],
    }
    assert not table.text
    assert table.notes == ()


def test_a_sheet_is_chosen_and_said(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", One=TABLE, Two=[["p"], [1]])
    (note,) = read_table(path).notes
    assert note == "sheet: 'One' (of 'One', 'Two'; sheet=NAME)"
    table = read_table(path, ReadOptions(sheet="Two"))
    assert cells(table) == {"p": [1]}
    assert table.notes == ()
    with pytest.raises(OptionError, match="sheet='Three'.*'One', 'Two'"):
        read_table(path, ReadOptions(sheet="Three"))


def test_a_sheet_without_header(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", One=[[5.1, "a"], [4.9, "b"], [5.1, "a"]])
    assert "no_header" in read_table(path).doubt
    table = read_table(path, ReadOptions(no_header=True))
    assert cells(table) == {"c1": [5.1, 4.9, 5.1], "c2": ["a", "b", "a"]}


def test_a_damaged_workbook_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "x.xlsx", One=TABLE)
    whole = path.read_bytes()
    for content in (b"", b"PK", whole[:-30], whole[: len(whole) // 2]):
        with pytest.raises(DataError, match="x.xlsx is not a valid workbook"):
            read(tmp_path, content, "x.xlsx")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(DataError, match="x.xlsx is not a valid workbook"):
        read_table(path)
    with pytest.raises(DataError, match="x.xlsx is empty"):
        read_table(workbook(path, One=[]))
    with pytest.raises(DataError, match="row 2: 3 cells where the first row has 2"):
        read_table(workbook(path, One=[["a", "b"], [1, 2, 3]]))
    monkeypatch.setattr(excel, "MOST_BYTES", 1 << 10)
    with pytest.raises(DataError, match="x.xlsx expands to more than 1,024 bytes"):
        read(tmp_path, whole, "x.xlsx")


def test_dates_in_a_sheet_are_refused(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["when", "y"],
        *([datetime(2020, 1, n), "ab"[n % 2]] for n in range(1, 9)),
    ]
    path = workbook(tmp_path / "x.xlsx", One=rows)
    with pytest.raises(DataError, match="'when' holds datetime values"):
        treecompile.learn(path, target="y")
