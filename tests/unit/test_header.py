"""The header of an artefact: what is written is read again, in any comment."""

from pathlib import Path
from typing import Any

import pytest

from treecompile import __version__
from treecompile.emit.header import Header, read, written
from treecompile.emit.options import EmitOptions

SHA256 = "52dce5" + "0" * 58
HOSTILE = ["a b", "a, b", "a,", "*/ ; -->", '"""', "{{ x }}", "é\n\t\0", "&x $(y)", "="]


def test_the_header_names_the_options_that_differ_from_their_defaults() -> None:
    options = EmitOptions(dialect="duckdb", form="view", table="my table")
    assert written(SHA256, "sql", options) == (
        f"treecompile {__version__}, sql, dialect duckdb, as view,"
        f" table my%20table, model {SHA256}"
    )
    assert written(SHA256, "./my folder", EmitOptions()) == (
        f"treecompile {__version__}, ./my%20folder, model {SHA256}"
    )


def test_an_absolute_path_is_written_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = EmitOptions(dialect=f"{tmp_path}/our.toml", templates=f"{tmp_path}/a b")
    said = read(written(SHA256, str(tmp_path / "own"), options))
    assert said is not None
    assert (said.target, said.options) == (
        *("./own", {"dialect": "./our.toml", "templates": "./a b"}),
    )
    said = read(written(SHA256, f"{tmp_path.parent}/own", EmitOptions()))
    assert said is not None
    assert said.target == "../own"
    far = f"/{'x' * 40}.toml"
    said = read(written(SHA256, far, EmitOptions(table=str(tmp_path))))
    assert said is not None
    assert (said.target, said.options) == (far, {"table": str(tmp_path)})


@pytest.mark.parametrize("comment", ["{}", "/* {} */", "-- {}", "# {}", "<!-- {} -->"])
def test_the_header_is_found_in_a_comment_of_the_first_lines(comment: str) -> None:
    options: dict[str, Any] = {
        "form": "select",
        "output": "label, probability",
        "columns": {"a=b, c": "d e", "f": "g"},
        "comments": False,
    }
    line = written(SHA256, "sql", EmitOptions(**options))
    text = f"<!doctype html>\n{comment.format(line)}\nSELECT 1\n"
    assert read(text) == Header(__version__, "sql", options, SHA256)


@pytest.mark.parametrize("value", HOSTILE)
def test_any_text_comes_back_and_ends_no_comment(value: str) -> None:
    options: dict[str, Any] = {
        "dialect": value,
        "table": value,
        "columns": {value: value},
    }
    line = written(SHA256, value, EmitOptions(**options))
    assert line.isascii()
    assert line.isprintable()
    assert not any(end in line for end in ("*/", ";", '"', "'", ">", "{", "&", "$"))
    assert read(f"/* {line} */") == Header(__version__, value, options, SHA256)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        f"/* treecompile 0.2.0, sql, model {SHA256[1:]} */",
        f"/* treecompile 9.9.9, sql, unheard of, model {SHA256} */",
        f"'said: treecompile 0.2.0, sql, model {SHA256}'",
        f"/* treecompile 0.2.0, sql, model {SHA256} */".join(["\n" * 70_000] * 2),
    ],
)
def test_other_texts_have_no_header(text: str) -> None:
    assert read(text) is None
