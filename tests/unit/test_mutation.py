"""The mutation tests can be started, and they tell killed mutants from survivors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.mutation import report
from tests.mutation.mutants import Source
from tests.mutation.runner import Result
from tests.mutation.targets import ROOT, TARGETS

PRODUCT = """
from functools import cache

@cache
def sign(x: float) -> int:
    '''Of a number.'''
    assert x == x, "no number"
    if x > 0:
        return 1
    return 0

def in_a_child(x: float) -> float:
    return x * 2

def unused(x: float) -> float:
    return x + 1
"""
TESTS = """
import os
from product import in_a_child, sign

def test_sign():
    assert sign(1.0) == 1
    assert sign(-2.0) == 0

def test_in_a_child():
    child = os.fork()
    if not child:
        os._exit(in_a_child(3) != 6)
    assert os.waitpid(child, 0)[1] == 0
"""
RUN = """
from pathlib import Path
from tests.mutation.runner import run
(result,) = run([Path("product.py").resolve()], ["test_product.py"]).values()
print(result.killed, result.total, *result.survivors, sep="; ")
"""


def test_every_target_has_modules_and_judges() -> None:
    for target in TARGETS:
        assert target.paths(), target.modules
        for judge in target.judges:
            assert (ROOT / judge).is_file(), judge


def test_every_module_has_mutants_that_compile() -> None:
    for target in TARGETS:
        for path in target.paths():
            mutants = Source(path).mutants()
            assert len(mutants) > 10, path
            assert len({mutant.name for mutant in mutants}) == len(mutants)
            original = Source(path).code_of(mutants[-1].function)
            assert mutants[-1].code() != original


def test_mutants_are_killed_or_survive(tmp_path: Path) -> None:
    (tmp_path / "product.py").write_text(PRODUCT)
    (tmp_path / "test_product.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split("; ") == [
        *("5", "8"),
        "sign: x > 0 -> x >= 0",
        "unused: x + 1 -> x - 1",
        "unused: x + 1 -> x + 2",
    ]


def test_arguments_are_kept_and_new_survivors_are_named() -> None:
    known = {"a.py": report.Record(1, 3, {"f: `x` -> y": "why", "g: 1 -> 2": "old"})}
    assert report.read(report.written(known)) == known
    result = Result(killed=8, survivors=["h: 0 -> 1", "f: `x` -> y"])
    record = report.update(known["a.py"], result)
    assert record.arguments == {"h: 0 -> 1": "NOT ARGUED", "f: `x` -> y": "why"}
    assert record.unargued == ["h: 0 -> 1"]
    assert (record.killed, record.total, record.is_enough) == (8, 10, False)
