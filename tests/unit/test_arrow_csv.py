"""A large CSV file is read by Arrow, with the result that `csv` gives."""

from __future__ import annotations

from math import inf, nextafter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from treecompile.model.errors import DataError
from treecompile.model.values import NUMBER
from treecompile.tables import arrow_csv
from treecompile.tables.columns import Raw
from treecompile.tables.options import ReadOptions
from treecompile.tables.read import read_table
from treecompile.tables.texts import TextColumn

pa = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_csv, "LEAST_BYTES", 0)


def outcome(path: Path, how: ReadOptions) -> Any:
    try:
        table = read_table(path, how)
    except DataError as error:
        return str(error)
    return table.names, [column.tolist() for column in table.columns], table.notes


def compared(
    path: Path, monkeypatch: pytest.MonkeyPatch, how: ReadOptions = ReadOptions()
) -> bool:
    """Whether Arrow reads a file; then, or else, what both give is the same."""
    asked: list[object] = []
    inner = arrow_csv.read_columns

    def noted(*given: Any) -> Any:
        asked.append(inner(*given))
        return asked[-1]

    with monkeypatch.context() as patch:
        patch.setattr("treecompile.tables.delimited.read_columns", noted)
        by_arrow = outcome(path, how)
    with monkeypatch.context() as patch:
        patch.setattr("treecompile.tables.delimited.read_columns", lambda *_: None)
        assert outcome(path, how) == by_arrow
    return bool(asked) and asked[-1] is not None


SIMPLE = {
    "plain": b"a,b\n1,x\n2,y\n",
    "no last line end": b"a,b\n1,x\n2,y",
    "Windows": b"a,b\r\n1,x\r\n2,y\r\n",
    "quotes around fields": b'"a","b"\n1,"x"\n"2","y, z"\n3,""\n',
    "blanks inside": b"a,b\n 1,x \n2 , y\n",
    "blank lines": b"a,b\n1,x\n\n\r\n2,y\n\n",
    "empty fields": b"a,b\n,\n1,\n,x\n",
    "byte order mark": b"\xef\xbb\xbfa,b\n1,x\n2,y\n",
    "byte order mark and quotes": b'\xef\xbb\xbf"a","b"\n1,x\n2,y\n',
    "semicolons": b"a;b\n1;x\n2;y\n",
    "other scripts": "a,b\n1,ü\n2,日本\n3,🐧\u2028\n".encode(),
    "words for missing": b"a,b\nNA,null\nnan,\n#N/A,NULL\n",
    "backslashes": b"a,b\n1,x\\\n2,\\y\n",
}
LEFT_TO_CSV = {
    "doubled quotes": b'a,b\n1,"x ""y"""\n2,z\n',
    "a line end inside quotes": b'a,b\n1,"x\ny"\n2,z\n',
    "a quote inside a field": b'a,b\n1,x "y"\n2,z\n',
    "text behind a quote": b'a,b\n1,"x"y\n2,z\n',
    "a quote that is not closed": b'a,b\n1,"x\n2,z\n',
    "old line ends": b"a,b\r1,x\r2,y\r",
    "a lone return": b"a,b\n1,x\ry\n2,z\n",
    "a NUL": b"a,b\n1,x\0\n2,y\n",
    "too many fields": b"a,b\n1,x\n2,y,z\n",
    "too few fields": b"a,b\n1,x\n2\n",
    "a line of blanks": b"a,b\n1,x\n  \n2,y\n",
    "not UTF-8": b"a,b\n1,x\n2,\xff\n",
    "a surrogate": b"a,b\n1,x\n2,\xed\xa0\x80\n",
    "UTF-16": "a,b\n1,x\n2,y\n".encode("utf-16"),
    "one column": b"a\n1\n\n2\n",
    "blanks after commas": b"a, b\n1, x\n2, y\n",
    "a blank first line": b"\na,b\n1,x\n",
    "empty": b"",
    "row names": b'"a" "b"\n"r1" 1 2\n',
}


@pytest.mark.parametrize("name", [*SIMPLE, *LEFT_TO_CSV])
def test_arrow_reads_what_csv_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(SIMPLE.get(name) or LEFT_TO_CSV[name])
    assert compared(path, monkeypatch) == (name in SIMPLE)


@pytest.mark.parametrize(
    ("how", "by_arrow"),
    [
        (ReadOptions(no_header=True), True),
        (ReadOptions(delimiter=";"), True),
        (ReadOptions(delimiter=" "), False),
        (ReadOptions(encoding="latin-1"), False),
    ],
)
def test_options_are_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: ReadOptions, by_arrow: bool
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"1;2,x y\n3;4,z y\n5;6,w y\n")
    assert compared(path, monkeypatch, how) == by_arrow


@pytest.mark.parametrize("seed", range(40))
def test_random_files_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = Random(seed)
    monkeypatch.setattr(arrow_csv, "BLOCK", dice.choice([8, 30, 1 << 22]))
    pieces = [*"ab1 .,,,\n\n", '"', '""', '"x"', '"x",', "\r\n", "é", "\t", ";", "\r"]
    common = dice.choice([pieces, pieces[:10], [*pieces[:10], '"x",']])
    text = "".join(dice.choices(common, k=dice.randrange(40)))
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" * dice.randrange(2) + text.encode())
    compared(path, monkeypatch)


# ---------------------------------------------------------------- numbers

TEXTS = [
    *("1", "+1", "-1", " 1", "1 ", "\t1", "1.", ".5", "-.5", "1e5", "1E-5", "-0", "00"),
    *("1e400", "-1e400", "1e-400", "inf", "-INF", "+Infinity", "5e-324", "1" * 400),
    *("2.4703282292062327e-324", "2.4703282292062328e-324", "9007199254740993"),
    *("nan", "NaN", "-nan", "nan(1)", "", ".", "-", "e5", "1e", "1e+", "0x10", "1_0"),
    *("1,5", "١", "１", "1f", "true", "null", "infi", "--1", "1\n", "\v1", "1\u00a0"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_grammar_of_numbers_is_ours(text: str) -> None:
    column = TextColumn(pa.chunked_array([["7", text]]))
    found = Raw("x", column, True, frozenset([""]), None).numbers()
    if text and not NUMBER.fullmatch(text):
        assert found is None
    else:
        assert found is not None
        assert repr(found.tolist()) == repr([7.0, float(text or "nan")])


def test_decimals_are_rounded_as_python_rounds_them() -> None:
    dice = Random(5)
    numbers = [
        dice.uniform(-1, 1) * 10 ** dice.randrange(-320, 308) for _ in range(500)
    ]
    texts = [f"{x:.{d}g}" for x in numbers for d in (5, 15, 17, 25)]
    texts += [f"{nextafter(x, inf):.700g}" for x in numbers]
    found = TextColumn(pa.chunked_array([texts])).numbers([""])
    assert found is not None
    assert np.array_equal(
        found.view("u8"), np.array(list(map(float, texts))).view("u8")
    )
