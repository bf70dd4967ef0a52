"""Every door: a few seconds with fixed seeds, or for hours with fresh ones.

`pytest -m fuzz tests/fuzz` runs for TREECOMPILE_FUZZ_SECONDS in total (3,000), divided
among the doors, or until TREECOMPILE_FUZZ_CASES inputs are tried. Seeds begin at
TREECOMPILE_FUZZ_SEED, by the clock if it is not set. A failure names door and seed:
`python -m tests.fuzz DOOR SEED` runs that input again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.fuzz.doors import DOORS
from tests.fuzz.pool import Pool, Tally, run_many

SECONDS = float(os.environ.get("TREECOMPILE_FUZZ_SECONDS", "3000"))
CASES = int(os.environ.get("TREECOMPILE_FUZZ_CASES", "0"))
LEAST = 0.05  # share of successes, without which a door would judge only messages
USUAL = sum(door.usual for door in DOORS.values())


def report(tally: Tally) -> str:
    """The findings, with what happened to the first of each kind."""
    details = [f"{kind}\n{said[-2000:]}" for kind, said in tally.details.items()]
    return "\n\n".join((tally.text(), *details))


@pytest.mark.parametrize("door", DOORS)
def test_door(door: str, pool: Pool) -> None:
    tally = run_many(pool, door, range(DOORS[door].usual))
    assert not tally.findings, report(tally)
    assert tally.successes > tally.cases * LEAST, report(tally)


def fresh_seeds(door: str) -> Iterator[int]:
    """Seeds until the door's part of the time or of the cases is used up."""
    first = int(os.environ.get("TREECOMPILE_FUZZ_SEED", time.time_ns() % 2**32))
    most = CASES * DOORS[door].usual / USUAL  # the slower the door, the fewer
    end, count = time.monotonic() + SECONDS / len(DOORS), 0
    while count < most if CASES else time.monotonic() < end:
        yield first + count
        count += 1


@pytest.mark.fuzz
@pytest.mark.parametrize("door", DOORS)
def test_door_for_hours(
    door: str, pool: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = run_many(pool, door, fresh_seeds(door))
    with capsys.disabled():
        print(f"\n{tally.text()}")
    assert not tally.findings, report(tally)
