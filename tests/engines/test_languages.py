"""Every language that a folder describes gives the model's answers, on its compiler."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support import commands
from tests.support.differential import check_language, sample
from tests.support.forests import many_trees, random_forest
from tests.support.samples import ROOT
from treecompile.emit.compiler import Artefact, emit
from treecompile.emit.targets import read_target, target_names
from treecompile.model import ir
from treecompile.model.errors import EngineError
from treecompile.model.file.read import read_program
from treecompile.verify.verification import verify

pytestmark = pytest.mark.engine
LANGUAGES = [name for name in target_names() if read_target(name).driver]
MODELS, FORESTS = 20, 20
EXAMPLES = ("tennis", "penguins")


def checked(program: ir.AnyProgram, language: str, budget: int = 2_000) -> Artefact:
    artefact = emit(program, language)
    report = verify(program, artefact.text, budget=budget, beside=artefact.files)
    assert report.passed, (report, report.mismatches[:2])
    assert report.as_emitted
    return artefact


def forests_of_all_kinds() -> Iterator[ir.Forest]:
    yield from (random_forest(Random(seed)) for seed in range(FORESTS))
    yield from (many_trees(Random(1), 100, each) for each in ir.Arithmetic)


@pytest.mark.parametrize("language", LANGUAGES)
def test_random_models_with_hostile_names(language: str) -> None:
    compared = sum(check_language(language, *sample(seed)) for seed in range(MODELS))
    assert compared > MODELS * 25


@pytest.mark.parametrize("language", LANGUAGES)
def test_random_forests(language: str) -> None:
    for forest in forests_of_all_kinds():
        checked(ir.ForestProgram("y", "random", forest), language)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_examples(language: str, example: str, tmp_path: Path) -> None:
    model = ROOT / "examples" / example / "out" / "model.json"
    artefact = checked(read_program(model), language)
    out = tmp_path / ("out" if artefact.files else f"out{artefact.suffix}")
    commands.good("emit", model, "--to", language, "-o", out)
    said = commands.good("verify", model, out, "--budget", "500").stderr
    assert f"verified {out} on " in said
    assert "as emitted" in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_edited_artefact_runs_as_it_is(language: str) -> None:
    program = read_program(ROOT / "examples" / "tennis" / "out" / "model.json")
    artefact = emit(program, language)
    edited = artefact.text.replace('"yes"', '"no"', 1)
    report = verify(program, edited, beside=artefact.files)
    assert not report.passed
    assert report.as_emitted is False


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_missing_compiler_is_named(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = read_program(ROOT / "examples" / "tennis" / "out" / "model.json")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    target = read_target(language)
    first = (target.build or target.run).split()[0]
    with pytest.raises(EngineError, match=f"there is no program '{first}'"):
        verify(program, emit(program, language).text)
