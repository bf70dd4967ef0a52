"""Reading ARFF: declared types, the order of categories, errors with their line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io.arff import loadarff

import treecompile
from tests.support.reference import Table as ReferenceTable
from tests.support.reference import read_table as reference_table
from treecompile.model.errors import DataError
from treecompile.model.ir import Kind, ValueType
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table

HEADER = """% a comment
@RELATION 'any thing'

@Attribute size {small, 'very big', "it's"}
@attribute 'two words' NUMERIC
@attribute never{x,'}',"a,b"}
@attribute\tflag\t{TRUE, FALSE} % so
@attribute code {3, 1, 2}
@attribute note string
@attribute class {no, perhaps, yes}
@DATA
"""
ROWS = """small,1.5,x,TRUE,3,'12',yes
'very big', -2e3 , ?, FALSE, 1, ?, no   % trailing

% between
"it's"\t?\t'}'\tTRUE\t2\t"7"\tno
"""


def write(folder: Path, text: str, name: str = "data.arff") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(folder: Path, text: str) -> RawTable:
    return read_table(write(folder, text))


def dataset(folder: Path, text: str, **options: object) -> Dataset:
    given = DataOptions("class", **options)  # type: ignore[arg-type]
    return make_dataset(table(folder, text), given)


def test_values_and_missing_ones(tmp_path: Path) -> None:
    found = table(tmp_path, HEADER + ROWS)
    assert found.names[:3] == ("size", "two words", "never")
    rows = list(zip(*(column.tolist() for column in found.columns), strict=True))
    assert rows == [
        ("small", "1.5", "x", "TRUE", "3", "12", "yes"),
        ("very big", "-2e3", None, "FALSE", "1", None, "no"),
        ("it's", None, "}", "TRUE", "2", "7", "no"),
    ]


def test_what_is_declared_is_what_is_learned(tmp_path: Path) -> None:
    found = dataset(tmp_path, HEADER + ROWS)
    schema = {f.name: (f.kind, f.type, f.categories) for f in found.features}
    nominal = Kind.CATEGORICAL
    assert schema == {
        "size": (nominal, ValueType.STR, ("small", "very big", "it's")),
        "two words": (Kind.NUMERIC, ValueType.FLOAT, ()),
        "never": (nominal, ValueType.STR, ("x", "}", "a,b")),
        "flag": (nominal, ValueType.BOOL, (True, False)),
        "code": (nominal, ValueType.INT, (3, 1, 2)),
        "note": (nominal, ValueType.STR, ("12", "7")),
    }
    assert found.labels == ("no", "perhaps", "yes")
    assert found.y.tolist() == [2, 0, 0]
    given = dataset(tmp_path, HEADER + ROWS, labels=("yes", "no"))
    assert given.labels == ("yes", "no")


def test_options_override_what_is_declared(tmp_path: Path) -> None:
    found = dataset(
        tmp_path,
        HEADER + ROWS,
        numeric=("code",),
        categorical=("two words",),
        ordinal=(("size", ("small", "it's", "very big")),),
        na_values=("x",),
        ignore=("note",),
    )
    kinds = {f.name: (f.kind, f.categories) for f in found.features}
    assert kinds["code"] == (Kind.NUMERIC, ())
    assert kinds["two words"] == (Kind.CATEGORICAL, ("-2e3", "1.5"))
    assert kinds["size"] == (Kind.ORDINAL, ("small", "it's", "very big"))
    assert kinds["never"] == (Kind.CATEGORICAL, ("}", "a,b"))


@pytest.mark.parametrize(
    ("declared", "values", "labels", "task"),
    [
        ("numeric", "0 1 1", (), "regress"),
        ("{0,1}", "0 1 1", (0, 1), "classify"),
        ("{0.5,1.0,1}", "1 0.5 1.0", ("0.5", "1.0", "1"), "classify"),
        ("{true,TRUE}", "true TRUE true", ("true", "TRUE"), "classify"),
        ("{" + ",".join(map(str, range(20))) + "}", "1 2 3", (*range(20),), "classify"),
    ],
)
def test_the_declaration_decides_the_task(
    tmp_path: Path, declared: str, values: str, labels: tuple[object, ...], task: str
) -> None:
    rows = "".join(f"{i},{value}\n" for i, value in enumerate(values.split()))
    text = f"@relation r\n@attribute x real\n@attribute class {declared}\n@data\n{rows}"
    found = dataset(tmp_path, text)
    assert found.labels == labels
    assert f"task: {task}" in found.notes[0]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r"'it\'s'", "it's"),
        (r'"say \"hi\""', 'say "hi"'),
        (r"'back\\slash'", "back\\slash"),
        (r"'a\nb\tc'", "a\nb\tc"),
        (r"'50\%'", "50%"),
        (r"'\u001e'", "\x1e"),
        ("'?'", "?"),
        ("''", ""),
        ("'  '", "  "),
        ("'a % b'", "a % b"),
        ("50%", "50%"),
        ("New York", "New York"),
        ("größe", "größe"),
        (r"back\slash", r"back\slash"),
    ],
)
def test_quotes_and_escapes(tmp_path: Path, written: str, value: str) -> None:
    # the same in a row, in a list of categories and, quoted, as a name
    text = f"@relation r\n@attribute a {{{written},b}}\n@data\n{written}\nb\n?\n"
    found = table(tmp_path, text)
    assert found.columns[0].tolist() == [value, "b", None]
    assert found.declared[0].categories == (value, "b")
    if written[0] in "'\"":
        named = f"@relation r\n@attribute {written} real\n@data\n1\n"
        assert table(tmp_path, named).names == (value,)


THREE = "@attribute 'x'{p,q}\n@attribute \"a b\" real\n@attribute y's real\n@data\n"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("p,1,2", ["p", "1", "2"]),
        ("p , 1 ,2 ", ["p", "1", "2"]),
        ("p,1,2,", ["p", "1", "2"]),
        ("p, 1, 2 , ", ["p", "1", "2"]),
        ("'p',1,2,", ["p", "1", "2"]),
        ("p 1 2", ["p", "1", "2"]),
        ("p  1\t2", ["p", "1", "2"]),
        ("p 1,2", ["p", "1", "2"]),
        ("'p' 1 2 % so", ["p", "1", "2"]),
        ("p, ? ,2", ["p", None, "2"]),
        ("? ? ?", [None, None, None]),
        ("p,\t?\t,2", ["p", None, "2"]),
        ("{}", ["p", "0", "0"]),
        ("{ }", ["p", "0", "0"]),
        ("{0 q}", ["q", "0", "0"]),
        ("{1 5, 2 -1.5}", ["p", "5", "-1.5"]),
        ("{ 0 'q' , 2\t? } % so", ["q", "0", None]),
        ("{2 1,0 q}", ["q", "0", "1"]),
    ],
)
def test_rows_as_weka_reads_them(
    tmp_path: Path, row: str, expected: list[str | None]
) -> None:
    found = table(tmp_path, THREE + row + "\n")
    assert found.names == ("x", "a b", "y's")
    assert [column[0] for column in found.columns] == expected


@pytest.mark.parametrize("inside", ["a,b", " a , b ", "a b", "'a'\tb", "a,b,", "a\tb"])
def test_categories_as_weka_reads_them(tmp_path: Path, inside: str) -> None:
    text = f"@attribute x {{{inside}}}\n@data\na\nb\n"
    assert table(tmp_path, text).declared[0].categories == ("a", "b")


def test_a_bare_value_may_have_blanks(tmp_path: Path) -> None:
    text = "@attribute t {New York, Rome}\n@attribute a real\n@data\nNew York, 1\n"
    assert table(tmp_path, text).column("t").tolist() == ["New York"]


def test_an_empty_text_is_a_category(tmp_path: Path) -> None:
    text = "@relation r\n@attribute x {'',a}\n@attribute class {y,n}\n@data\n"
    found = dataset(tmp_path, text + "'',y\na,n\n?,n\n")
    assert found.features[0].categories == ("", "a")
    assert found.columns[0].tolist() == [0, 1, -1]


A, B = "@attribute a real\n", "@attribute b real\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "data.arff: no line @data"),
        ("@relation r\n@data\n1\n", "line 2, column 1: no @attribute before @data"),
        (A, "no line @data"),
        ("a,b\n1,2\n", "line 1, column 1: expected @attribute NAME TYPE or @data, not"),
        ("@attribute\n@data\n", "line 1, column 1: expected @attribute NAME TYPE"),
        ("@attribute a\n@data\n", "line 1, column 13: 'a' is declared as nothing"),
        ("\t@attribute a complex\n@data\n", "column 15: 'a' is declared as complex"),
        (
            "@attribute 'a real\n@data\n",
            "line 1, column 12: cannot read .*quote the name",
        ),
        (
            "@attribute a relational\n@data\n",
            "line 1, column 14: .*relational.*columns of its own",
        ),
        ("@attribute a {x,y\n@data\n", "column 14: the categories of 'a' do not end"),
        ("@attribute a {x,'y}\n@data\n", "column 14: the categories of 'a' do not end"),
        ("@attribute a {x,,y}\n@data\n", "line 1, column 17: value 2 is empty"),
        ("@attribute a {}\n@data\n", "line 1, column 15: value 1 is empty"),
        (
            "@attribute a {x,y,x}\n@data\n",
            "column 14: 'a' lists the category 'x' twice",
        ),
        (A + A + "@data\n1,2\n", "more than one column is named 'a'"),
        (A + "@data\n1\n\n% c\nx\n", "line 6: 'a' is 'x': expected a number"),
        (A + "@data\nnan\n", "line 3: 'a' is 'nan': expected a number"),
        (A + "@data\n''\n", "line 3: 'a' is '': expected a number"),
        (A + "@data\n1,2\n", "line 3, column 3: 2 values where 1 are declared"),
        (A + B + "@data\n 1\n", "line 4, column 3: 1 value where 2 are declared"),
        (A + B + "@data\n1, 2, 3\n", "line 4, column 6: 3 values where 2 are decl"),
        (A + B + "@data\n1 2 3\n", "line 4, column 6: 1 value where 2 are declared"),
        (A + B + "@data\n1,,2\n", "line 4, column 3: value 2 is empty: write [?]"),
        (A + B + "@data\n1,\n", "line 4, column 3: value 2 is empty"),
        (A + B + "@data\n,1\n", "line 4, column 1: value 1 is empty"),
        (A + "@data\n'1',,'2'\n", "line 3, column 5: value 2 is empty"),
        (A + "@data\n'1\n", 'line 3, column 1: cannot read "\'1": check the quotes'),
        (A + "@data\n'1'2\n", "line 3, column 1: cannot read"),
        (A + "@data\n{1 1}\n", "column 2: column 1 is mentioned and there are 1 col"),
        (A + "@data\n{0 1, 0 2}\n", "line 3, column 6: column 0 is mentioned twice"),
        (A + "@data\n{0 1\n", "line 3, column 2: cannot read the sparse row from"),
        (A + "@data\n{0 1}, {5}\n", "line 3, column 5: .*weights of rows are not"),
        (A + "@data\n{0 x}\n", "line 3: 'a' is 'x': expected a number"),
        (A + "@attribute s string\n@data\n{0 1}\n", "no value for the text 's'"),
        (
            "@attribute a {x,y}\n@data\nx\nX\n",
            "line 4: 'a' is 'X': expected one of the declared 'x', 'y', or [?]",
        ),
    ],
)
def test_errors_have_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        table(tmp_path, text)


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "data.arff"
    path.write_bytes((A + "% größe\n@data\n1\n").encode("latin-1"))
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read_table(path)


def test_dates_are_refused_unless_ignored(tmp_path: Path) -> None:
    text = (
        "@relation r\n@attribute d DATE 'yyyy'\n@attribute x real\n"
        "@attribute class {y,n}\n@data\n'2001',1,y\n'2002',2,n\n"
    )
    with pytest.raises(DataError, match="'d' holds dates.*--ignore"):
        dataset(tmp_path, text)
    assert len(dataset(tmp_path, text, ignore=("d",)).features) == 1


def test_every_verb_reads_it(tmp_path: Path) -> None:
    text = "@relation r\n@attribute x {a,b,c}\n@attribute class {y,n}\n@data\n"
    path = write(tmp_path, text + "a,y\n" * 5 + "b,n\n" * 5 + "?,y\n")
    model = treecompile.learn(path, target="class", validation=path)
    assert model.predict(path).tolist() == ["y"] * 5 + ["n"] * 5 + ["y"]
    quality = model.evaluate(path).quality
    assert quality.confusion == ((6, 0), (0, 5))  # type: ignore[union-attr]
    # what a model learned from a CSV file reads from an ARFF file, and the reverse
    csv = write(tmp_path, "x,class\n" + "a,y\n" * 5 + "b,n\n" * 5, "data.csv")
    other = treecompile.learn(csv, target="class")
    assert other.predict(path).tolist()[:10] == ["y"] * 5 + ["n"] * 5
    assert model.predict(csv).tolist() == ["y"] * 5 + ["n"] * 5


# ---------------------------------------------------------------- whole tables

TABLES = {
    "autompg": 398,
    "breast-cancer": 286,
    "california-housing": 2949,
    "car": 1728,
    "credit-a": 690,
    "housing": 506,
    "mushroom": 1016,
}


def quoted(text: str) -> str:
    return f"'{text}'"


@dataclass(frozen=True)
class Style:
    """One way to write an ARFF file."""

    numeric: str
    declaration: str  # of a name and what follows it
    categories: str  # around their list
    separator: str  # between two categories
    text: Callable[[str], str]
    number: Callable[[str], str]
    start: str  # of the rows


STYLES = {
    "plain": Style("real", "@attribute {} {}", "{{{}}}", ",", str, str, "@data\n"),
    "quoted": Style(
        "numeric", "@attribute {} {}", "{{ {}}}", ", ", quoted, str, "\n@data\n"
    ),
    "wide": Style(
        "REAL",
        "@ATTRIBUTE\t{}\t\t{}",
        "{{{}}}",
        ", ",
        str,
        lambda number: "00" + number if number.isdigit() else number,
        "% a comment\n\n@DATA\n% another\n\n",
    ),
    "digits": Style(
        "integer",
        "@Attribute {} {}",
        "{{{}}}",
        ",",
        str,
        lambda number: f"{float(number):.12f}",
        "@Data\n",
    ),
}


def arff_text(table: ReferenceTable, style: Style) -> str:
    lines = ["@relation 'a table'"]
    for name, categories in table.columns.items():
        listed = style.separator.join(map(style.text, categories or ()))
        kind = style.categories.format(listed) if categories else style.numeric
        lines.append(style.declaration.format(style.text(name), kind))
    cells = [written(table.train[n], c, style) for n, c in table.columns.items()]
    rows = [",".join(row) for row in zip(*cells, strict=True)]
    return "\n".join(lines) + "\n" + style.start + "\n".join(rows) + "\n"


def written(
    column: pd.Series[Any], categories: list[str] | None, style: Style
) -> list[str]:
    write = style.text if categories else lambda value: style.number(f"{value:.12g}")
    return ["?" if pd.isna(value) else write(value) for value in column]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", TABLES)
def test_whole_tables(name: str, style: str, tmp_path: Path) -> None:
    """As they were written, and as scipy reads them."""
    given = reference_table(name)
    path = write(tmp_path, arff_text(given, STYLES[style]))
    found = read_table(path)
    assert found.rows == TABLES[name]
    assert found.names == tuple(given.columns)
    theirs, meta = loadarff(path)
    assert found.names == tuple(meta.names())
    for attribute, column, said in zip(
        found.names, found.columns, found.declared, strict=True
    ):
        values, original = column.tolist(), given.train[attribute].astype(object)
        categories = given.columns[attribute]
        assert said.categories == tuple(categories or ())
        if categories:
            assert values == original.where(original.notna(), None).tolist()
            assert [v or "?" for v in values] == [v.decode() for v in theirs[attribute]]
        else:
            numbers = [float("nan" if v is None else v) for v in values]
            assert np.array_equal(numbers, original.astype(float), equal_nan=True)
            assert numbers == pytest.approx(theirs[attribute].tolist(), nan_ok=True)
