"""The long run: `pytest -m fuzz` compares rows until time or target is reached.

It prints how many comparisons it made. TREECOMPILE_FUZZ_SECONDS (3,000) and
TREECOMPILE_FUZZ_SEED (by the clock) change it; a failure names the seed of its model.
"""

from __future__ import annotations

import os
import time

import pytest

from tests.support.databases import DATABASES
from tests.support.differential import check_python, check_sql, sample

TARGET = 10_000_000
ROWS = 2_000  # for each model, so that starting an engine does not dominate


@pytest.mark.fuzz
def test_ten_million_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = float(os.environ.get("TREECOMPILE_FUZZ_SECONDS", "3000"))
    seed = int(os.environ.get("TREECOMPILE_FUZZ_SEED", time.time_ns() % 2**32))
    end = time.monotonic() + seconds
    compared = models = 0
    while compared < TARGET and time.monotonic() < end:
        program, rows, answers = sample(seed + models, ROWS)
        try:
            compared += check_python(program, rows, answers)
            for start in DATABASES.values():
                compared += check_sql(start(), program, rows, answers)
        except AssertionError as error:
            raise AssertionError(f"model {seed + models}: {error}") from error
        models += 1
    with capsys.disabled():
        print(f"\nfuzz: {compared:,} comparisons on {models:,} models, seed {seed}")
    assert compared > 0
