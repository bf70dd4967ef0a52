"""Inputs that once showed an error, each a file in cases/, and never do again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.case import from_text
from tests.fuzz.doors import DOORS
from tests.fuzz.pool import Pool

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
MOST_BYTES = 8_000


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, pool: Pool) -> None:
    text = path.read_text(encoding="utf-8")
    verdict = pool.run(case=text)
    assert not verdict.kind, f"{verdict.kind}\n{verdict.detail}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_small_and_for_a_door(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert from_text(text).door in DOORS
