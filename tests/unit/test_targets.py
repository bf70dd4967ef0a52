"""Target folders and dialect files: what they may contain, and errors for mistakes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from treecompile.emit import targets
from treecompile.emit.compiler import LOWERINGS
from treecompile.emit.literals import DOUBLES, STRINGS
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql import dialect as dialects
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.targets import read_target, templates_folder
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import TargetError
from treecompile.model.ir import ValueType

TARGETS = sorted(path.name for path in templates_folder().iterdir() if path.is_dir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the templates that a test may spoil."""
    copy = tmp_path / "templates"
    shutil.copytree(str(templates_folder()), copy)
    monkeypatch.setattr(targets, "templates_folder", lambda: copy)
    targets._built_in_target.cache_clear()
    dialects._built_in.cache_clear()
    yield copy
    targets._built_in_target.cache_clear()
    dialects._built_in.cache_clear()


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("name", TARGETS)
def test_built_in_targets(name: str) -> None:
    target = read_target(name)
    assert target.lowering in LOWERINGS
    assert templates_folder().joinpath(name, target.template).is_file()
    assert target.suffix.startswith(".")
    assert target.formatter in ("", "black")


def phrases(part: object) -> dict[str, Phrase]:
    """The phrases of a section, by their keys."""
    assert is_dataclass(part)
    found = {entry.name: getattr(part, entry.name) for entry in fields(part)}
    return {key: value for key, value in found.items() if isinstance(value, Phrase)}


@pytest.mark.parametrize("name", dialect_names())
def test_built_in_dialects(name: str) -> None:
    dialect = read_dialect(name)
    assert dialect.key == name
    assert dialect.literals.string in STRINGS
    assert dialect.literals.double in DOUBLES
    assert len(dialect.names.quote) in (1, 2)
    assert dialect.names.counted_in in ("bytes", "characters")
    assert dialect.engine in ("", *ENGINES)
    re.compile(dialect.names.barred)
    if dialect.literals.stop:  # both sides of a comparison have it
        assert f"'{dialect.literals.stop}'" in dialect.columns.text.text
    assert dialect.limits.nesting >= 1
    assert dialect.limits.tests > dialect.limits.nesting
    assert dialect.limits.double_of_many.places == [""]
    for kind in ValueType:
        assert dialect.columns.of(kind).places == [""]
    for key, phrase in phrases(dialect.conditions).items():
        expected: set[str] = set()
        if key not in ("always", "never"):
            asks = key in ("missing", "known", "number_missing", "number_known")
            expected = {"column"} if asks else {"x", "value"}
        assert expected <= {*phrase.places} <= expected | {"x", "column"}, key
        if key.endswith("_or_missing"):
            assert phrase.text.startswith("(")  # it stands between ANDs
            assert "{column} IS NULL" in phrase.text


LEARNING = {  # what is filled in, of each text that is not as it stands
    "create": {"name", "query"},
    "drop": {"name"},
    "infinity": {"sign", "type"},
    "within": {"least", "most", "value"},
    "list": {""},
    "item": {"list", "place"},
    "integer_item": {"list", "place"},
    "round": {""},
    "round_even": {""},
    "once": {"name", "query"},
    "stack": {"table", "columns", "pairs"},
    "pair": {"code", "number"},
    "checksum": {""},
}


@pytest.mark.parametrize("name", dialect_names())
def test_the_queries_of_learning_have_their_placeholders(name: str) -> None:
    learning = phrases(read_dialect(name).learning)
    sample = {*learning.pop("sample").places}
    assert sample in ({"columns", "relation", way} for way in ("rows", "share"))
    assert learning.keys() == LEARNING.keys()
    for key, phrase in learning.items():
        if phrase:
            optional = {"type"} if key == "infinity" else set()
            found, expected = {*phrase.places}, LEARNING[key]
            assert expected - optional <= found <= expected, key


def test_types_of_values_are_told_apart() -> None:
    types = read_dialect("duckdb").types
    assert [types.of(kind) for kind in ValueType] == [
        *("DOUBLE", "VARCHAR", "BIGINT", "BOOLEAN")
    ]


@pytest.mark.parametrize("name", ["pyhton", "", "Python"])
def test_an_unknown_target_is_told_which_there_are(name: str) -> None:
    with pytest.raises(TargetError) as caught:
        read_target(name)
    message = str(caught.value)
    assert message.startswith(f"unknown target {name!r}: ")
    assert message.endswith(f"Choose from {', '.join(TARGETS)}")
    assert {"markdown", "python", "sql"} <= set(TARGETS)


def test_the_nearest_name_is_proposed() -> None:
    with pytest.raises(TargetError, match=r"did you mean 'python'\?"):
        read_target("pyhton")
    with pytest.raises(TargetError, match=r"'sqlight': did you mean 'sqlite'\?"):
        read_dialect("sqlight")
    with pytest.raises(TargetError, match=r"cannot read '\.\./target': No such file"):
        read_dialect("../target")
    with pytest.raises(TargetError, match=r"cannot read 'sql/target.toml': No such"):
        read_target("sql/")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            *("suffix", "sufix"),
            "target.toml: unknown key 'sufix': did you mean 'suffix'?",
        ),
        ('suffix = ".py"', "", "target.toml: the key 'suffix' is missing"),
    ],
)
def test_a_slip_in_a_target(folder: Path, old: str, new: str, message: str) -> None:
    change(folder / "python" / "target.toml", old, new)
    with pytest.raises(TargetError) as caught:
        read_target("python")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[limits]",
            "[limit]",
            "sqlite.toml: unknown key 'limit': did you mean 'limits'?",
        ),
        ("nesting = 10", "", "sqlite.toml [limits]: the key 'nesting' is missing"),
        (
            "at_most =",
            "at_mots =",
            "sqlite.toml [conditions]: unknown key 'at_mots': did you mean 'at_most'?",
        ),
        (
            "engine =",
            "enigne =",
            "sqlite.toml: unknown key 'enigne': did you mean 'engine'?",
        ),
        ('engine = "sqlite"', "", "sqlite.toml: the key 'engine' is missing"),
    ],
)
def test_a_slip_in_a_dialect(folder: Path, old: str, new: str, message: str) -> None:
    change(folder / "sql" / "dialects" / "sqlite.toml", old, new)
    with pytest.raises(TargetError) as caught:
        read_dialect("sqlite")
    assert str(caught.value) == message


def test_a_new_file_is_a_new_dialect(folder: Path) -> None:
    dialects = folder / "sql" / "dialects"
    shutil.copy(dialects / "sqlite.toml", dialects / "mine.toml")
    change(dialects / "mine.toml", 'name = "SQLite"', 'name = "Mine"')
    assert "mine" in dialect_names()
    dialect = read_dialect("mine")
    assert (dialect.key, dialect.name) == ("mine", "Mine")
