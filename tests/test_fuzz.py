"""Random and broken inputs end in the right answer or one line: see `tests.fuzz`.

An input that once showed an error is a file in tests/cases/fuzz/.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.fuzz import WAYS, from_text, judge, run_many
from tests.support.samples import ROOT

CASES = int(os.environ.get("TREECOMPILE_FUZZ_CASES", "3000"))
FILES = sorted((ROOT / "tests" / "cases" / "fuzz").glob("*.json"))


@pytest.mark.parametrize("way", WAYS)
def test_a_few_inputs(way: str) -> None:
    answered, found = run_many(way, range(34))
    assert not found
    assert answered > 3  # others judge only messages


@pytest.mark.fuzz
@pytest.mark.parametrize("way", WAYS)
def test_many_inputs(way: str) -> None:
    first = time.time_ns() % 2**32
    _, found = run_many(way, range(first, first + CASES // len(WAYS)))
    assert not found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    judge(from_text(path.read_text(encoding="utf-8")))
