"""The benchmarks are not run here, but what they import from the package exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
# Also in the scripts within scripts, which are text. Names may be in parentheses.
IMPORT = re.compile(r"^ *from (treecompile[\w.]*) import (\([^)]*\)|.*)$", re.M)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_imports_exist(path: Path) -> None:
    for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        found = import_module(module)
        for name in re.findall(r"\w+", names.partition(" as ")[0]):
            if not hasattr(found, name):
                import_module(f"{module}.{name}")


def test_there_are_imports_to_check() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    assert len(IMPORT.findall(text)) > 20
