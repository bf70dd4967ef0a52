"""Learning in Spark: the trees of memory, and a session that is left unchanged.

A query takes a tenth of a second or more, so the tables are small and the trees
shallow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.databases import DATABASES
from tests.support.in_database import (
    COLUMNS,
    learned_in_database,
    random_frame,
)
from treecompile.database.grow import refine
from treecompile.engines.spark import Spark
from treecompile.learning import training
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import EngineError
from treecompile.model.file.write import dumps
from treecompile.model.ir import Tree
from treecompile.tables.options import DataOptions

pytestmark = pytest.mark.engine


JIT = 8000  # bytes of a method that Java compiles to machine code


@pytest.fixture
def session() -> Iterator[Any]:
    """That of all tests; what a test leaves behind in it is a failure."""
    DATABASES["spark"]()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    settings, held = session.conf.getAll, stored(session)
    yield session
    assert session.conf.getAll == settings
    assert stored(session) == held
    assert "treecompile_rows" not in {t.name for t in session.catalog.listTables()}


def stored(session: Any) -> set[int]:
    """The tables in memory or on disk."""
    return {each.id() for each in session.sparkContext._jsc.sc().getRDDStorageInfo()}


def learned(frame: pd.DataFrame, folder: Path, *how: Any) -> Any:
    frame.to_parquet(folder / "one.parquet")
    return learned_in_database("spark:", f'parquet."{folder}/one.parquet"', *how)


OPTIONS = (
    LearnOptions("cart", prune="none", max_depth=2, min_leaf=3),
    LearnOptions(
        "cart", prune="none", max_depth=3, max_leaves=4, chi2=0.05, criterion="entropy"
    ),
)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_model_is_that_of_memory(
    options: LearnOptions,
    session: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refine, "FEW_ROWS", 120)
    seed = OPTIONS.index(options)
    frame = random_frame(np.random.default_rng(seed), 400)
    frame = frame[["normal", "skewed", "few", "text", "flag", "y"]]
    frame["size"] = np.where(frame["few"] > 2, "large", "small")
    columns = replace(COLUMNS, ordinal=(("size", ("small", "large")),))
    there = learned(frame, tmp_path, columns, options)
    here = training.learn(frame, columns, options)
    assert dumps(there.program) == dumps(here.program)
    assert there.notes == here.notes


def test_id3_has_a_branch_for_every_category(session: Any, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(5), 400)[["text", "flag", "y"]]
    options = LearnOptions("id3", chi2=0.2, max_depth=2)
    there = learned(frame, tmp_path, COLUMNS, options)
    here = training.learn(frame, COLUMNS, options)
    assert dumps(there.program) == dumps(here.program)


def test_numbers_are_learned(session: Any, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(6), 400)[["tied", "few", "single"]]
    columns, options = DataOptions("single"), LearnOptions(
        "cart", prune="none", max_depth=2
    )
    there = learned(frame, tmp_path, columns, options)
    here = training.learn(frame, columns, options)
    found, expected = there.program.body, here.program.body
    assert isinstance(expected, Tree)
    assert [getattr(node, "branches", ()) for node in found.nodes] == [
        getattr(node, "branches", ()) for node in expected.nodes
    ]


def test_many_features_make_no_long_methods(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too long is not compiled, and takes ten times as long to run."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=300) for i in range(40)})
    frame["y"] = (frame["x0"] + frame["x1"] > rng.normal(size=300)).astype(int)
    sizes: list[int] = []
    arrays, make = Spark.arrays, Spark.make

    def explain(store: Spark, query: str) -> list[int]:
        """The sizes of the methods; of plans that are not made as they run."""
        session.conf.set("spark.sql.adaptive.enabled", "false")
        ((text,),) = arrays(store, f"EXPLAIN CODEGEN {query}")
        session.conf.unset("spark.sql.adaptive.enabled")
        return [int(size) for size in re.findall(r"maxMethodCodeSize:(-?\d+)", text)]

    def explained(store: Spark, query: str) -> Any:
        if "treecompile_rows" in query:
            sizes.extend(explain(store, query))
        return arrays(store, query)

    def made(store: Spark, name: str, query: str) -> None:
        with store._in_small_methods():
            assert explain(store, query) == []  # divided, whatever their size
        make(store, name, query)

    monkeypatch.setattr(Spark, "arrays", explained)
    monkeypatch.setattr(Spark, "make", made)
    monkeypatch.setattr(refine, "FEW_ROWS", 2000)
    learned(frame, tmp_path, COLUMNS, LearnOptions("cart", prune="none", max_depth=2))
    assert len(sizes) > 5
    assert min(sizes) > 0  # -1: it did not compile at all
    assert max(sizes) < JIT


def test_a_view_of_the_user_is_not_replaced(session: Any, tmp_path: Path) -> None:
    frame = random_frame(np.random.default_rng(8), 50)[["few", "y"]]
    session.sql("SELECT 1 AS mine").createOrReplaceTempView("treecompile_rows")
    try:
        with pytest.raises(
            EngineError, match="has a temporary view 'treecompile_rows'"
        ):
            learned(frame, tmp_path, COLUMNS, LearnOptions())
        assert session.sql("SELECT * FROM treecompile_rows").columns == ["mine"]
    finally:
        session.catalog.dropTempView("treecompile_rows")


def test_what_there_is_not_is_one_line(
    session: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EngineError, match="^Spark: .*none_such") as caught:
        learned_in_database("spark:", "none_such", COLUMNS, LearnOptions())
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
