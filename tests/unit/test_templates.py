"""Templates of users: what is wrong with them is said in one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from treecompile.emit.lowering import Lowered
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model.errors import TargetError


@dataclass(frozen=True)
class Inner:
    items: str  # the name of a method of dicts


@dataclass(frozen=True)
class Strings:
    lines: list[str] = field(default_factory=lambda: ["a", "\ud800"])
    part: Inner = Inner("b")
    flag: bool = False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "target.toml").write_text(
        'template = "t.jinja"\nsuffix = ".x"\n'
    )
    return tmp_path / "own"


def made(folder: Path, template: str) -> str:
    (folder / "t.jinja").write_bytes(template.encode("utf-8", "surrogatepass"))
    return render(read_target(f"{folder}/"), Lowered(Strings()))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% include 't.jinja' %}", "line 2: it is nested too deeply, or includes or"),
        (
            "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
            "line 2: it is nested too deeply, or includes or calls itself",
        ),
        (f"{{{{ {'(' * 3000}1{')' * 3000} }}}}", "t.jinja: it is nested too deeply"),
        ("{{ 'x' | nothing }}", "line 2: No filter named 'nothing'"),
        ("{{ nothing }}", "line 2: 'nothing' is undefined"),
        ("{{ part.nothing }}", "has no attribute 'nothing'"),
        ("{{ 'x'.encode('nothing') }}", "line 2: unknown encoding: nothing"),
        ("{{ [1, 2] | slice(0) | list }}", "line 2: integer division or modulo by"),
        ("{{ 'x' | format(1) }}", "line 2: not all arguments converted"),
        ("{{ lines[1] }}", "t.jinja: it makes half a surrogate pair"),
        ("{% include '../x' %}", "template '../x' not found"),
        ("\ud800", "line 2: not UTF-8 text"),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_said_in_one_line(
    folder: Path, template: str, message: str
) -> None:
    with pytest.raises(TargetError) as caught:
        made(folder, f"first\n{template}\n")
    assert "jinja" in str(caught.value) or "template" in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_overrides_include_built_in_templates(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    own = tmp_path / "sql" / "query.sql.jinja"
    own.write_text("{{ lines | join }}")
    target = read_target("sql")
    assert render(target, Lowered(Strings(["a", "b"])), str(tmp_path)) == "ab"
    own.unlink()
    with pytest.raises(TargetError, match=r"query\.sql\.jinja, line \d"):
        render(target, Lowered(Strings(["a", "b"])), str(tmp_path))
