"""Learning from columns and labels whose names look like placeholders."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.support.commands import run
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


@pytest.mark.parametrize("store", ["duckdb", "postgres"])
def test_braces_in_names_are_only_text(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 30)
    frame = random_frame(np.random.default_rng(3), 300).rename(columns=NAMES)
    frame["{y[0]}"] = "{" + frame["{y[0]}"].astype(str) + "}"
    columns = DataOptions(target="{y[0]}")
    options = LearnOptions("cart", prune="none")
    with table_of(store, frame, tmp_path) as (url, table):
        there = learned_in_database(url, table, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)


def test_integers_that_doubles_confuse_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t (x BIGINT, y BIGINT)")
        rows = [(1, 2**53 + 1), (2, 2**53 + 2), (3, 2**53 + 1)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    address = ("--from", f"duckdb://{path}", "--table", "t", "-o", tmp_path / "m.json")
    for target, more in (
        ("y", ()),
        ("x", ("--categorical", "y", "--task", "classify")),
    ):
        result = run("learn", "--target", target, *more, *address)
        assert result.exit_code == 2
        assert "'y' has integers beyond 2^53" in result.stderr
