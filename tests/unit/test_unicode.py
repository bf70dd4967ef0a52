"""Text that cannot be encoded is refused where it enters; other text can be seen."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from tests.support.samples import module_of
from treecompile.cli import main
from treecompile.emit.compiler import emit
from treecompile.emit.svg import draw
from treecompile.inspect.show import show
from treecompile.model.errors import (
    DataError,
    ModelFileError,
    OptionError,
)
from treecompile.model.file import dumps, loads
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Leaf,
    Op,
    Program,
    Split,
    Training,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate
from treecompile.tables.read import read_table

HALF = "\ud800"
ODD = (
    *("\0", "\x1b[31m", "\r", "\x0b", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff"),
    *("\u202e", "\u2066", "\ufffe", "\uffff", "\U0010ffff", '"""', "*/", "]]>", "\\"),
)


def program(text: str) -> Program:
    """A tree in which every name, category and label contains the text."""
    counts = ClassCounts((1.0, 2.0))
    first = Condition(0, Op.IN, (f"c{text}",), missing=False)
    nodes = (
        Split(
            (Branch(first, 1, 1.0), Branch(negate(first), 2, 2.0)),
            ClassCounts((2.0, 4.0)),
            0.5,
        ),
        Leaf(f"l{text}", counts, 3.0),
        Leaf(f"m{text}", counts, 3.0),
    )
    feature = Feature(f"f{text}", Kind.CATEGORICAL, ValueType.STR, (f"c{text}", "d"))
    return Program(
        target=f"t{text}",
        algorithm=f"a{text}",
        body=Tree((feature,), (f"l{text}", f"m{text}"), nodes),
        options=((f"o{text}", f"p{text}"),),
        na_values=(f"n{text}",),
        training=Training(f"s{text}", 6, (ColumnSummary(0),)),
    )


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.jsonl", '{"x":1}\n{"x":"\\ud800"}\n', r"x.jsonl, line 2: 'x' is '\\ud800'"),
        ("x.jsonl", '{"a\\uDFFF":1}\n', r"line 1: the key 'a\\udfff' is not Unicode"),
    ],
)
def test_half_a_pair_in_a_file(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / name)


def frame(**columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})


def test_half_a_pair_in_a_frame() -> None:
    for columns in (
        {"x": ["a", HALF, "b", "a"], "y": ["p", "q", "p", "q"]},
        {"y": ["a", HALF, "b", "a"], "x": [1, 2, 3, 4]},
    ):
        with pytest.raises(
            DataError, match=r"row 2: '[xy]' is '\\ud800', which is not"
        ):
            treecompile.learn(frame(**columns), target="y")
    table = frame(x=[1, 2, 3], y=["p", "q", "p"])
    known = frame(x=["a", "b", "b"], y=["p", "q", "q"])
    model = treecompile.learn(known, target="y", algorithm="cart")
    with pytest.raises(DataError, match="row 3: 'x'"):
        model.predict(frame(x=["a", "b", HALF]))
    table.columns = pd.Index([HALF, "y"], dtype=object)
    with pytest.raises(DataError, match=r"column 1: its name '\\ud800' is not Unicode"):
        treecompile.learn(table, target="y")


@pytest.mark.parametrize(
    "options", [{"na_value": HALF}, {"labels": ["p", "q", HALF]}, {"ignore": [HALF]}]
)
def test_half_a_pair_in_an_option(options: dict[str, Any]) -> None:
    table = frame(x=[1, 2, 3], y=["p", "q", "p"])
    with pytest.raises(OptionError, match=r"[a-z_]+='\\ud800' is not Unicode text"):
        treecompile.learn(table, target="y", **options)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    data = os.fsencode(tmp_path) + b"/d\xff.csv"
    with open(data, "w", encoding="utf-8") as file:
        file.write("x,y\n1,a\n2,b\n1,a\n2,b\n")
    out = os.fsdecode(os.fsencode(tmp_path) + b"/out\xff")
    given = ["build", os.fsdecode(data), "--target", "y", "--out", out]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    model = json.loads(Path(out, "model.json").read_text("utf-8"))
    assert model["training"]["source"] == "d\N{REPLACEMENT CHARACTER}.csv"
    assert "d\N{REPLACEMENT CHARACTER}.csv" in Path(out, "RULES.md").read_text("utf-8")


# ---------------------------------------------------------------- model files


def test_half_a_pair_in_a_model_file() -> None:
    for place in ("t-", "a-", "f-", "c-", "l-", "o-", "p-", "n-", "s-"):
        changed = dumps(program("-")).replace(f'"{place}"', f'"{place}\\ud800"')
        with pytest.raises(ModelFileError, match="is not Unicode text"):
            loads(changed)
    raw = dumps(program("-")).encode().replace(b'"t-"', b'"t\xed\xa0\x80"')
    with pytest.raises(ModelFileError, match="not a model file"):
        loads(raw)


@pytest.mark.parametrize("text", ODD)
def test_artefacts_show_every_character(text: str) -> None:
    made = loads(dumps(program(text)))
    texts = {
        "python": emit(made, "python").text,
        "markdown": emit(made, "markdown").text,
        "show": show(made, stats=True),
        "draw": draw(made),
    }
    for name, shown in texts.items():
        hidden = {c for c in shown if unicodedata.category(c)[0] == "C"} - {"\n"}
        assert not hidden, (name, hidden)
    minidom.parseString(texts["draw"].encode())
    module = module_of(texts["python"])
    assert module.predict({f"f{text}": f"c{text}"}) == f"l{text}"
    assert module.predict({f"f{text}": None}) == f"m{text}"
