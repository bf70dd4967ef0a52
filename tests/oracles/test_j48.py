"""Accuracy in stratified ten-fold cross-validation against that of Weka's J48.

The folds differ, so ours may be worse by noise: two standard errors of an accuracy
measured on that many rows. J48 divides a row with a missing value among the branches;
both ways are tried.
"""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import treecompile
from tests.support.reference import read_table, results
from treecompile.measure.quality import accuracy
from treecompile.model.ir import ClassQuality

NOISE = 2.0  # standard errors


@cache
def problem(name: str) -> tuple[pd.DataFrame, str]:
    """All rows of a table, and the column that is predicted."""
    if name == "iris":
        data = load_iris()
        return pd.DataFrame(data.data).add_prefix("x").assign(y=data.target), "y"
    table = read_table({"labor": "labor-neg"}.get(name, name))
    rows = table.train
    if table.test is not None:
        rows = pd.concat([table.train, table.test], ignore_index=True)
    return rows, table.target


@pytest.mark.parametrize("name", results("j48"))
def test_c45_is_as_accurate(name: str) -> None:
    rows = results("j48")[name]["rows"]
    theirs = results("j48")[name]["right_in_cross_validation"] / rows
    data, target = problem(name)
    quality = treecompile.cross_validate(
        data,
        target=target,
        algorithm="c45",
        na_value="u" if name == "vote" else (),  # missing in Weka's table
        seed=1,
    ).quality
    assert isinstance(quality, ClassQuality)
    assert sum(map(sum, quality.confusion)) == rows
    ours = accuracy(quality)
    assert ours is not None
    noise = (theirs * (1 - theirs) / rows) ** 0.5
    print(name, f"J48 {100 * theirs:.2f} %, ours {100 * ours:.2f} %")
    assert ours >= theirs - NOISE * noise
