"""The committed output of each example is what its commands write today."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from treecompile.cli import main

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/README.md"))
WRITTEN = ("out", "model.json", "models/*_*")  # by commands


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in WRITTEN
        for found in folder.glob(pattern)
        for path in (found, *found.glob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_commands_write_the_committed_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    mine = tmp_path / "examples" / folder.name
    for name in files(mine):
        (mine / name).unlink()
    monkeypatch.chdir(tmp_path)
    text = (folder / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^treecompile (.*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert files(mine) == files(folder)
    assert (mine / "out" / "predict.sql").exists()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.library
def test_the_model_of_lightgbm_has_its_margins_and_labels() -> None:
    import lightgbm

    folder = ROOT / "examples" / "lightgbm"
    booster = lightgbm.Booster(model_file=folder / "booster.txt")
    model = treecompile.load(folder / "model.json")
    rows = pd.read_csv(ROOT / "examples" / "penguins" / "penguins.csv")
    columns = rows[booster.feature_name()].astype({"species": "category"})
    expected = np.asarray(booster.predict(columns, raw_score=True))
    assert model.margin(columns)["margin"].tolist() == expected.tolist()
    is_male = np.asarray(booster.predict(columns)) > 0.5
    assert [label == "male" for label in model.predict(columns)] == is_male.tolist()
