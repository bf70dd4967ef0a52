"""The example notebooks run, and show what a reader sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.notebooks import NOTEBOOKS, dumped, executed


def sources(notebook: dict[str, Any]) -> str:
    code = (c for c in notebook["cells"] if c["cell_type"] == "code")
    return "\n".join("".join(cell["source"]) for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_outputs_are_those_of_today(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    made = executed(path)
    for kept, found in zip(stored["cells"], made["cells"], strict=True):
        assert kept == found, "".join(kept["source"])
    assert path.read_text(encoding="utf-8") == dumped(made)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_sound(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        outputs = (
            {"outputs", "execution_count"} if cell["cell_type"] == "code" else set()
        )
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | outputs


def test_the_notebook_shows_what_a_data_scientist_starts_from() -> None:
    (path,) = NOTEBOOKS
    code = sources(json.loads(path.read_text(encoding="utf-8")))
    for used in (
        *("treecompile.learn(", "GridSearchCV(", "cross_val_score("),
        *("from_sklearn(pipeline, X, y)", ".evaluate(", ".show()", ".explain("),
        *('.emit("python")', '.emit("sql"', ".verify("),
    ):
        assert used in code, used


def test_a_cell_that_fails_fails_the_run(tmp_path: Path) -> None:
    (path,) = NOTEBOOKS
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] = [c for c in notebook["cells"] if c["cell_type"] == "code"][:1]
    notebook["cells"][0]["source"] = ["print('a')\n", "1 / 0"]
    broken = tmp_path / "folder" / "broken.ipynb"
    broken.parent.mkdir()
    broken.write_text(json.dumps(notebook))
    with pytest.raises(ZeroDivisionError):
        executed(broken)
    notebook["cells"][0]["source"] = ["print('a')\n", "6 * 7"]
    broken.write_text(json.dumps(notebook))
    stream, result = executed(broken)["cells"][0]["outputs"]
    assert stream["text"] == ["a\n"]
    assert result["data"] == {"text/plain": ["42"]}
