"""One pool for all fuzz tests of a process: its worker takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.pool import Pool


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    with Pool() as pool:
        yield pool
