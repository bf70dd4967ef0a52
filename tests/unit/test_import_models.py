"""Files of other libraries at every door: import, build, Python."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

import treecompile
from tests.support.commands import run
from treecompile.importers.formats import FORMATS, format_of

DATA = Path(__file__).parents[1] / "oracles" / "data"
FILES = {
    "LightGBM": DATA / "lightgbm.txt",
    "XGBoost": DATA / "xgboost-model.json",
}


@pytest.mark.parametrize("library", FILES)
def test_a_file_is_known_by_its_content(library: str, tmp_path: Path) -> None:
    found = format_of(FILES[library])
    assert found is not None
    assert found.library == library
    other = tmp_path / "model.bin"  # whatever it is called
    other.write_bytes(FILES[library].read_bytes())
    assert format_of(other) == found


def test_a_pipe_is_not_looked_into(tmp_path: Path) -> None:
    """What were read from it would be lost to the command that reads the table."""
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    data = Path("examples/tennis/tennis.csv").read_text()
    writer = threading.Thread(target=lambda: pipe.write_text(data), daemon=True)
    writer.start()
    out = tmp_path / "out"
    result = run("build", str(pipe), "--target", "play", "--out", str(out))
    writer.join()
    assert result.exit_code == 0, result.stderr
    assert (out / "predict.py").exists()


def test_a_forest_is_known_however_its_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    treecompile.import_model(FILES["LightGBM"]).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")))
    result = run("build", str(path), "--out", str(tmp_path / "out"), "--no-verify")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "MODEL.md").exists()


def test_every_format_has_an_example() -> None:
    assert [each.library for each in FORMATS] == [*FILES]


@pytest.mark.parametrize("name", ["tennis.csv", "model.json", "empty", "absent"])
def test_other_files_are_no_models(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "tennis.csv":
        path = Path("examples/tennis/tennis.csv")
    elif name == "model.json":
        path.write_text('{"learner": 1}')
    elif name == "empty":
        path.write_bytes(b"")
    assert format_of(path) is None
    result = run("import", str(path), "-o", str(tmp_path / "out.json"))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("library", FILES)
def test_import_writes_a_model_that_is_used_like_any_other(
    library: str, tmp_path: Path
) -> None:
    model, module = tmp_path / "model.json", tmp_path / "predict.py"
    assert run("import", str(FILES[library]), "-o", str(model)).exit_code == 0
    loaded = treecompile.load(model)
    assert loaded.n_trees == len(loaded.any_program.body.members)  # type: ignore[union-attr]
    assert run("emit", str(model), "--to", "python", "-o", str(module)).exit_code == 0
    assert run("verify", str(model), str(module)).exit_code == 0
    assert run("show", str(model)).exit_code == 0
    refused = run("check", str(model))
    assert refused.exit_code == 2
    assert "check needs one tree or rules" in refused.stderr


@pytest.mark.parametrize("library", FILES)
def test_build_compiles_and_verifies_a_file(library: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("build", str(FILES[library]), "--target", "y", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "verified predict.py on python" in result.stderr
    assert "verified predict.sql on sqlite" in result.stderr
    names = {"model.json", "predict.py", "predict.sql", "MODEL.md"}
    assert {path.name for path in out.iterdir()} == names
    assert treecompile.load(out / "model.json").any_program.target == "y"
    second = tmp_path / "second"
    again = run("build", str(out / "model.json"), "--out", str(second))
    assert again.exit_code == 0, again.stderr


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_file_that_is_not_imported_yet_is_named(command: str) -> None:
    path = FILES["LightGBM"]
    result = run(command, str(path))
    assert result.exit_code == 2
    assert (
        f"is a model of LightGBM: import it first, with `treecompile import {path}"
        in (result.stderr)
    )
    with pytest.raises(treecompile.ModelFileError, match="is a model of LightGBM"):
        treecompile.load(path)


def test_python_shows_how_a_forest_answers() -> None:
    model = treecompile.import_model(FILES["XGBoost"], target="kind")
    assert model.show().startswith("kind, by XGBoost")
    assert "importance of the features" in model.show()


def test_labels_are_given_or_numbers(tmp_path: Path) -> None:
    path = FILES["LightGBM"]
    plain = treecompile.import_model(path).any_program.body.labels
    assert plain == tuple(range(len(plain)))
    names = [f"class {place}" for place in plain]
    named = treecompile.import_model(path, labels=names, target="kind").any_program
    assert named.body.labels == tuple(names)
    assert named.target == "kind"
    wrong = run("import", str(path), "--labels", "one", "-o", str(tmp_path / "m.json"))
    assert wrong.exit_code == 2
    assert "label" in wrong.stderr


def test_build_refuses_what_needs_rules(tmp_path: Path) -> None:
    for option in (["--max-depth", "3"],):
        result = run(
            "build", str(FILES["LightGBM"]), *option, "--out", str(tmp_path / "o")
        )
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1


def test_a_model_file_of_our_own_is_not_imported_twice(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    treecompile.learn("examples/tennis/tennis.csv", target="play").save(path)
    with pytest.raises(treecompile.OptionError, match="is a model of treecompile"):
        treecompile.import_model(path)


def test_rows_measure_a_forest(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    model = treecompile.import_model(FILES["LightGBM"], target="y")
    body = model.any_program.body
    dice = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            feature.name: (
                dice.normal(size=60)
                if feature.kind == "numeric"
                else dice.choice(list(feature.categories), 60)
            )
            for feature in body.features
        }
    )
    frame["y"] = model.predict(frame)
    data = tmp_path / "rows.csv"
    frame.to_csv(data, index=False)
    out = tmp_path / "out"
    args = ["--target", "y", "--data", str(data), "--out", str(out), "--json"]
    result = run("build", str(FILES["LightGBM"]), *args)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["model"]["kind"] == "forest"
    assert report["training"]["accuracy"] == 1.0
    assert "on the 60 given rows" in result.stderr
