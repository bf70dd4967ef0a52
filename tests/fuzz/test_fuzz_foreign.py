"""Files of other libraries that the fuzzer makes: many can be read, and many not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz.foreign import FILES
from treecompile.importers.formats import read_foreign
from treecompile.model.errors import TreecompileError

CASES = 60
LEAST = 0.2  # of them: a format of which none is read would test only its first check


@pytest.mark.parametrize("name", FILES)
def test_some_files_are_read_and_others_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    read, refusals = 0, set()
    for seed in range(CASES):
        path.write_bytes(FILES[name](Random(seed)))
        try:
            read_foreign(path)
            read += 1
        except TreecompileError as error:
            refusals.add(str(error))
    assert LEAST * CASES < read < CASES * (1 - LEAST)
    assert len(refusals) >= 8
