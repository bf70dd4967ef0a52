"""Notebooks run without Jupyter: each cell in turn, with what a reader sees of it.

A cell prints text, and shows its last expression: as text, and as HTML if the value has
that. `python -m tests.record_docs` writes today's outputs into the notebooks.
"""

from __future__ import annotations

import ast
import json
import shutil
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.samples import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("**/*.ipynb"))


def executed(path: Path) -> dict[str, Any]:
    """A notebook with today's outputs, run in a copy of its folder."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    variables: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder:
        here = Path(folder) / path.parent.name
        shutil.copytree(path.parent, here)
        with chdir(here):
            code = (c for c in notebook["cells"] if c["cell_type"] == "code")
            for count, cell in enumerate(code, start=1):
                cell["outputs"] = _outputs("".join(cell["source"]), variables, count)
                cell["execution_count"] = count
    return notebook


def dumped(notebook: dict[str, Any]) -> str:
    """As Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _outputs(source: str, variables: dict[str, Any], count: int) -> list[Any]:
    *body, last = ast.parse(source).body
    printed = StringIO()
    shown = None
    with redirect_stdout(printed):
        if not isinstance(last, ast.Expr):
            body.append(last)
        exec(compile(ast.Module(body, []), f"<cell {count}>", "exec"), variables)
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            shown = eval(compile(expression, f"<cell {count}>", "eval"), variables)
    outputs: list[Any] = []
    if text := printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": _lines(text)}
        )
    if shown is not None:
        outputs.append(
            {
                "data": _views(shown),
                "execution_count": count,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def _views(value: Any) -> dict[str, list[str]]:
    found = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        found["text/html"] = _lines(value._repr_html_())
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
