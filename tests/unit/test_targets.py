"""Target folders and dialect files: what they may contain, and errors for mistakes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from treecompile.emit import targets
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


def places(phrase: Phrase) -> list[str]:
    return re.findall(r"\{(\w*)\}", phrase.text)


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
    assert places(dialect.limits.double_of_many) == [""]
    for kind in ValueType:
        assert places(dialect.columns.of(kind)) == [""]
    for key, phrase in phrases(dialect.conditions).items():
        asks = key in ("number_missing", "number_known")
        expected = {"column"} if asks else {"x", "value"}
        assert expected <= {*places(phrase)} <= expected | {"x", "column"}, key
        if key.endswith("_or_missing"):
            assert phrase.text.startswith("(")  # it stands between ANDs
            assert "{column} IS NULL" in phrase.text


@pytest.mark.parametrize("name", ["pyhton", "", "Python"])
def test_an_unknown_target_is_told_which_there_are(name: str) -> None:
    with pytest.raises(TargetError) as caught:
        read_target(name)
    message = str(caught.value)
    assert message.startswith(f"unknown target {name!r}: ")
    assert message.endswith(f" {', '.join(TARGETS)}")
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
            "nesting =",
            "nestnig =",
            "sqlite.toml [limits]: unknown key 'nestnig': did you mean 'nesting'?",
        ),
        (
            "engine =",
            "enigne =",
            "sqlite.toml: unknown key 'enigne': did you mean 'engine'?",
        ),
        ('name = "SQLite"', "", "sqlite.toml: the key 'name' is missing"),
    ],
)
def test_a_slip_in_a_dialect(folder: Path, old: str, new: str, message: str) -> None:
    change(folder / "sql" / "dialects" / "sqlite.toml", old, new)
    with pytest.raises(TargetError) as caught:
        read_dialect("sqlite")
    assert str(caught.value) == message


# ---------------------------------------------------------------- files of others


def ours(tmp_path: Path, section: str, line: str) -> str:
    """A dialect like SQLite's, in which a key of a section has another value."""
    path = tmp_path / "ours.toml"
    heading = f"[{section}]\n" if section else ""
    path.write_text(f'base = "sqlite"\n{heading}{line}\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("section", "line", "message"),
    [
        ("names", 'quote = ""', "quote: expected one or two quoting characters"),
        ("names", 'quote = "<->"', "quote: expected one or two quoting characters"),
        ("names", 'quote = "a"', "quote: expected one or two quoting characters"),
        ("names", 'barred = "("', "barred: not a regular expression: missing )"),
        ("names", "fold_case = 1", "fold_case: expected true or false"),
        ("names", "longest = true", "longest: expected a whole number"),
        ("names", "longest = -1", "longest: expected 0 to 1,000,000,000"),
        ("names", 'counted_in = "x"', "counted_in: choose from bytes, characters"),
        ("literals", 'string = "x"', "string: choose from sql, sqlite, duckdb"),
        ("literals", 'double = "x"', "double: choose from sql, postgres, sqlite"),
        ("limits", "nesting = 0", "nesting: expected 1 to 1,000"),
        ("limits", f"tests = 0x{'f' * 9999}", "tests: expected 1 to 1,000,000,000"),
        ("limits", "tests = [1]", "tests: expected a whole number"),
        ("limits", "tests.a.b = 1", "tests: expected a whole number"),
        ("limits", 'beyond = "a\\nb"', "beyond: expected text on one line"),
        ("text_types", 'loose = "x"', "loose: expected a list of texts"),
        ("text_types", "loose = [1]", "loose: expected a list of texts"),
        ("conditions", 'at_most = "{y}"', "at_most: no place {y} here: choose from {c"),
        ("conditions", 'above = "{x.real}"', "above: no place {x.real} here: choose"),
        ("conditions", 'above = "{"', "above: a single '{'; write a brace twice"),
        ("columns", 'number = "{x}"', "number: no place {x} here: choose from {}"),
        ("columns", "number = 1", "number: expected text"),
        ("", 'key = "x"', "unknown key 'key'"),
        ("", "names = 1", "names: expected a section"),
        ("names", "quoet = '[]'", "unknown key 'quoet': did you mean 'quote'?"),
    ],
)
def test_every_value_of_a_dialect_is_checked(
    tmp_path: Path, section: str, line: str, message: str
) -> None:
    name = ours(tmp_path, section, line)
    with pytest.raises(TargetError) as caught:
        read_dialect(name)
    said = str(caught.value)
    assert said.startswith(f"ours.toml [{section}]: " if section else "ours.toml: ")
    assert message in said
    assert "\n" not in said


def test_a_dialect_is_based_on_another(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('base = "databricks"\nname = "Ours"\n[limits]\ntests = 7\n')
    found, base = read_dialect(str(path)), read_dialect("databricks")
    assert (found.name, found.limits.tests, found.key) == ("Ours", 7, "ours")
    assert repr(found.columns) == repr(base.columns)
    assert found.names == base.names
    for given, said in (("'x'", "unknown SQL dialect 'x'"), ("1", "'base' is not te")):
        path.write_text(f"base = {given}")
        with pytest.raises(TargetError, match=said):
            read_dialect(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a = " + b"[" * 100_000, "recursion"),
        (b"a = " + b"1" * 10_000, "integer string conversion"),
        (b"a = '\xff'", "line 1: not UTF-8 text"),
        (b"a" + b".a" * 2_000 + b" = 1", "unknown key 'a'"),
        (b"=", "Invalid"),
    ],
    ids=["deep", "digits", "latin", "dotted", "syntax"],
)
def test_damaged_toml(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "ours.toml"
    path.write_bytes(text)
    with pytest.raises(TargetError) as caught:
        read_dialect(str(path))
    assert "ours.toml" in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_name_of_a_dialect_file_does_not_end_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "a *" / " b-c.toml"
    path.parent.mkdir()
    shutil.copy(ours(tmp_path, "", 'name = "A"'), path)
    assert read_dialect(str(path)).key == "_b-c"
    Path(path).rename(path.with_name("x*; drop.toml"))
    assert read_dialect(str(path.with_name("x*; drop.toml"))).key == "x___drop"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        *(
            (f"template = '{name}'", "expected the name of a file in the folder")
            for name in ("", "../x", "/etc/passwd", "a/../../x", "a//b", ".", "..\\x")
        ),
        ("suffix = '/../x'", "expected a full stop and letters"),
        ("formatter = 'rm'", "formatter: choose from black"),
        ("folder = 'x'", "unknown key 'folder'"),
    ],
)
def test_what_a_target_may_name(tmp_path: Path, line: str, message: str) -> None:
    given = {"lowering": "'rules'", "template": "'x'", "suffix": "'.x'"}
    key, value = line.split(" = ")
    lines = (f"{k} = {v}" for k, v in {**given, key: value}.items())
    (tmp_path / "target.toml").write_text("\n".join(lines))
    with pytest.raises(TargetError) as caught:
        read_target(f"{tmp_path}/")
    assert str(caught.value).startswith("target.toml: ")
    assert message in str(caught.value)
