"""A generated module as a model of MLflow, by the recipe in docs/mlflow.md.

MLflow is in an environment of its own, without treecompile.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import treecompile
from tests.support.databases import unavailable
from tests.support.doc_blocks import blocks_of
from tests.support.samples import ROOT

PAGE = ROOT / "docs" / "mlflow.md"
TABLE = ROOT / "examples" / "penguins" / "penguins.csv"
# Ends the process at the first object that is unpickled, whoever asks for it.
FORBIDDEN = """\
import json, os, sys

def hook(event, arguments):
    if event == "pickle.find_class":
        os.write(2, b"something was unpickled")
        os._exit(3)

import mlflow, pandas as pd
sys.addaudithook(hook)
os.environ["MLFLOW_ALLOW_PICKLE_DESERIALIZATION"] = "false"
model = mlflow.pyfunc.load_model("species")
print(json.dumps(list(model.predict(pd.DataFrame(json.load(open("rows.json")))))))
"""


def python() -> str:
    """The interpreter that has MLflow."""
    found = os.environ.get("TREECOMPILE_MLFLOW")
    return found or str(unavailable("MLflow", "TREECOMPILE_MLFLOW names no Python"))


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [python(), "-W", "ignore", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, and the model that it logs."""
    python()
    made = tmp_path_factory.mktemp("mlflow")
    for block in blocks_of(PAGE.read_text(encoding="utf-8")):
        if "file" in block.marks:
            (made / block.marks["file"]).write_text(block.text, encoding="utf-8")
    (made / "examples" / "penguins").mkdir(parents=True)
    shutil.copy(TABLE, made / "examples" / "penguins")
    (made / "predict.py").write_text(model().emit("python"), encoding="utf-8")
    run(made, "log.py")
    # What is loaded must be what was logged.
    for name in ("predict.py", "serve.py", "log.py"):
        (made / name).unlink()
    return made


def model() -> treecompile.Model:
    return treecompile.learn(pd.read_csv(TABLE), target="species")


def test_the_page_shows_what_it_prints(folder: Path) -> None:
    blocks = blocks_of(PAGE.read_text(encoding="utf-8"))
    (shown,) = (block.text for block in blocks if block.language == "console")
    assert run(folder, "load.py") == shown.partition("$ python load.py\n")[2]


def test_what_is_stored_is_source(folder: Path) -> None:
    stored = [
        path
        for path in (folder / "species").rglob("*")
        if path.is_file() and path.suffix != ".pyc"  # since it was loaded
    ]
    assert {"predict.py", "serve.py", "MLmodel"} <= {path.name for path in stored}
    for path in stored:
        path.read_text(encoding="utf-8")
        assert path.suffix not in (".pkl", ".pickle", ".joblib")


def test_answers_are_those_of_the_model_and_nothing_is_unpickled(folder: Path) -> None:
    tree = model()
    names = ["island", "bill_length_mm", "flipper_length_mm", "sex"]
    known = pd.read_csv(TABLE)[names].astype(object)
    rows = known.where(known.notna(), None).to_dict("records")
    rows += [{n: row[n] for n in names} for row, _ in tree.edge_rows(budget=1_000)]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    read = pd.DataFrame(rows)
    assert read["island"].isin(["Biscoe", "Dream", "Torgersen"]).mean() < 1
    assert read.isna().any().all()
    found = json.loads(run(folder, "-c", FORBIDDEN))
    assert found == tree.predict(read).tolist()


def test_the_hook_ends_a_process_that_unpickles(folder: Path) -> None:
    code = FORBIDDEN.partition("os.environ")[0] + (
        "import pickle, pathlib\npickle.loads(pickle.dumps(pathlib.Path()))\n"
    )
    done = subprocess.run([python(), "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "something was unpickled")
