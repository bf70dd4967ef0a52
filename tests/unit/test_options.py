"""Options are declared once: flags, keywords, checks and refusals agree with that."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

import treecompile
from tests.support.commands import good, run
from tests.support.samples import TENNIS
from treecompile import OptionError
from treecompile.api.options import (
    EmitKeywords,
    LearnKeywords,
    keywords_of,
)
from treecompile.cli import main
from treecompile.cli.options import help_of
from treecompile.emit.options import EmitOptions
from treecompile.learning.options import LearnOptions
from treecompile.model.options import Option
from treecompile.tables.options import DataOptions

LEARNING = keywords_of(DataOptions, LearnOptions)
EMITTING = keywords_of(EmitOptions)
COMMANDS = {
    **dict.fromkeys(("learn", "build", "evaluate"), LEARNING),
    "emit": EMITTING,
}


def flags(command: str) -> dict[str, click.Option]:
    found = main.commands[command].params
    return {each.opts[0]: each for each in found if isinstance(each, click.Option)}


@pytest.mark.parametrize(
    ("command", "declared"),
    COMMANDS.items(),
    ids=list(COMMANDS),
)
def test_the_command_line_has_every_declared_option(
    command: str, declared: dict[str, Option]
) -> None:
    known = flags(command)
    for keyword, each in declared.items():
        option = known[each.flag]
        assert option.name == keyword
        assert option.help == help_of(each).replace("`", "")
        assert option.metavar == (each.metavar or None)


@pytest.mark.parametrize(
    ("function", "typed", "declared"),
    [
        (treecompile.learn, LearnKeywords, LEARNING),
        (treecompile.cross_validate, LearnKeywords, LEARNING),
        (treecompile.build, LearnKeywords, LEARNING),
        (treecompile.Model.emit, EmitKeywords, EMITTING),
    ],
)
def test_python_has_every_declared_option(
    function: Any, typed: type, declared: dict[str, Option]
) -> None:
    types = get_type_hints(typed)
    assert list(types) == list(declared)
    parameters = inspect.signature(function).parameters
    for keyword, each in declared.items():
        parameter = parameters[keyword]
        assert parameter.annotation == types[keyword]
        if not isinstance(each.default, (tuple, type(parameter.empty))):
            assert parameter.default == each.default


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize("algorithm", ["id3", "c45", "cart"])
def test_an_option_of_another_algorithm_is_refused(algorithm: str) -> None:
    given: dict[str, Any] = {
        **{"cf": 0.1, "subset": True, "costs": {"wind": 2.0}, "max_leaves": 3},
    }
    for keyword, value in given.items():
        declared = LEARNING[keyword].algorithms
        options = {"target": "play", "algorithm": algorithm, keyword: value}
        if algorithm in declared:
            treecompile.learn(TENNIS, **options)
            continue
        with pytest.raises(OptionError) as raised:
            treecompile.learn(TENNIS, **options)
        known = " or ".join(declared)
        assert (
            str(raised.value)
            == f"{keyword} is for algorithm={known}, not {algorithm}: leave it out"
        )


# ---------------------------------------------------------------- emitting

VALUES: dict[str, Any] = {
    **{"dialect": "duckdb", "form": "select", "table": "t"},
    **{"name": "n", "output": "rule", "label": "yes", "columns": {"wind": "w"}},
    **{"comments": False},
}
TARGETS = ("python", "sql", "markdown", "html", "rules")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> treecompile.Model:
    monkeypatch.chdir(tmp_path)
    made = treecompile.learn(TENNIS, target="play")
    made.save("m.json")
    return made


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("keyword", VALUES)
def test_a_target_takes_its_own_options_only(
    model: treecompile.Model, target: str, keyword: str
) -> None:
    given: dict[str, Any] = {keyword: VALUES[keyword]}
    needs = {"form": {"table": "t"}, "label": {"output": "probability"}}
    if target == "sql":
        given |= needs.get(keyword, {})
        assert model.emit(target, **given)
        return
    with pytest.raises(OptionError) as raised:
        model.emit(target, **given)
    assert str(raised.value) == (
        f"{keyword} is for sql, not {target}: leave it out, or use to=sql"
    )


def test_a_foreign_option_is_refused_whatever_its_value(
    model: treecompile.Model,
) -> None:
    with pytest.raises(OptionError, match="dialect is for sql, not python"):
        model.emit("python", dialect="nonsense")
    with pytest.raises(OptionError, match="dialect is for sql, not python"):
        model.emit("python", dialect="sqlite")  # although that is the default
    with pytest.raises(TypeError, match="unexpected keyword argument 'dialekt'"):
        model.emit("sql", dialekt="sqlite")  # type: ignore[call-arg]
    assert model.emit("python", columns=None) == model.emit()


def test_the_command_line_refuses_a_foreign_option(model: treecompile.Model) -> None:
    result = run("emit", "m.json", "--to", "python", "--dialect", "duckdb")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: dialect is for sql, not python: leave it out, or use to=sql\n"
    )
    foreign = {
        "form": ("--as", "view"),
        "comments": ("--no-comments",),
        "columns": ("--column", "wind=w"),
    }
    for name, arguments in foreign.items():
        result = run("emit", "m.json", "--to", "markdown", *arguments)
        assert f"{name} is for sql, not markdown" in result.stderr
    assert good("emit", "m.json", "--to", "python").stdout == model.emit()


def test_a_target_of_ones_own_takes_the_options_of_its_lowering(
    model: treecompile.Model,
) -> None:
    for lowering in ("sql", "python", "markdown"):
        folder = Path(lowering)
        folder.mkdir()
        (folder / "target.toml").write_text(
            f'lowering = "{lowering}"\ntemplate = "it.jinja"\nsuffix = ".txt"\n'
        )
        (folder / "it.jinja").write_text("made\n")
    assert model.emit("./sql", dialect="duckdb", output="rule") == "made\n"
    with pytest.raises(OptionError, match="dialect is for sql, not ./python"):
        model.emit("./python", dialect="duckdb")
