"""Learning from columns and labels whose names look like placeholders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.in_database import learned_in_database, random_frame
from tests.support.tables import table_of
from treecompile.database.grow import refine
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.file.write import dumps
from treecompile.tables.options import DataOptions

NAMES = {
    "normal": "{name}",
    "tied": "a}",
    "skewed": "{0}",
    "few": "{}",
    "single": "{x.__class__}",
    "text": "{value!r:>{x}}",
    "flag": "%(x)s {",
    "y": "{y[0]}",
}


@pytest.mark.parametrize("algorithm", ["cart", "c45"])
@pytest.mark.parametrize("store", ["duckdb", "sqlite", "postgres"])
def test_braces_in_names_are_only_text(
    store: str, algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(3), 300).rename(columns=NAMES)
    if algorithm == "c45":  # with missing values, sums of parts differ in the last bit
        frame = frame.dropna()
    frame["{y[0]}"] = "{" + frame["{y[0]}"].astype(str) + "}"
    columns = DataOptions(target="{y[0]}")
    options = LearnOptions(algorithm=algorithm)
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)
