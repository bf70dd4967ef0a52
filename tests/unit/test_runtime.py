"""The Python that is copied into artefacts, run in place and as a copy."""

from __future__ import annotations

import ast
from itertools import product
from types import ModuleType

import pytest

from treecompile.emit.runtime import rows
from treecompile.emit.runtime.source import copied, source_of
from treecompile.model import values

# ---------------------------------------------------------------- the copy

FLAGS = {
    rows: ("SENTENCES",),
    values: (),
}


@pytest.mark.parametrize("module", FLAGS, ids=lambda module: str(module.__name__))
def test_every_copy_is_python_3_9_without_flags(module: ModuleType) -> None:
    names = list(source_of(module).functions)
    known = FLAGS[module]
    for chosen in product((True, False), repeat=len(known)):
        flags = dict(zip(known, chosen, strict=True))
        for text in copied(module, names, flags, {"Answer": "int"}):
            tree = ast.parse(text, feature_version=(3, 9))
            if isinstance(tree.body[0], ast.FunctionDef):
                used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                assert not used & {*known, "Answer"}
