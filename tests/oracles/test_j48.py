"""Accuracy in stratified ten-fold cross-validation against that of Weka's J48.

Folds differ, so ours must be no worse than noise: two standard errors of an accuracy
measured on that many rows. J48 divides missing values in prediction; both ways are
tried.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import treecompile
from tests.oracles.c45_reference import DATA, SHARED, read_problem
from treecompile.ir import ClassQuality
from treecompile.quality import accuracy

PRINTED = SHARED / "oracles" / "j48"
NOISE = 2.0  # standard errors
SETS = ("iris", "vote", "labor", "breast-cancer")

pytestmark = pytest.mark.skipif(
    not PRINTED.exists(), reason="the reference outputs are not here"
)


@cache
def problem(name: str) -> tuple[pd.DataFrame | Path, str]:
    """The rows, and what is predicted."""
    if name == "iris":
        data = pytest.importorskip("sklearn.datasets").load_iris()
        return pd.DataFrame(data.data).add_prefix("x").assign(y=data.target), "y"
    if name == "breast-cancer":
        return DATA / "breast.cancer.arff", "Class"
    found = read_problem({"labor": "labor-neg"}.get(name, name))
    assert found.test is not None
    return pd.concat([found.train, found.test], ignore_index=True), "class"


def printed(name: str) -> tuple[int, float]:
    """Rows, and the share that is right in cross-validation."""
    text = (PRINTED / f"{name}.txt").read_text()
    fields = text.partition("=== Stratified cross-validation ===")[2]
    right = re.search(r"Correctly Classified Instances +(\d+)", fields)
    total = re.search(r"Total Number of Instances +(\d+)", fields)
    assert right
    assert total
    return int(total[1]), int(right[1]) / int(total[1])


@pytest.mark.parametrize("policy", ["branch", "fractional"])
@pytest.mark.parametrize("name", SETS)
def test_c45_is_as_accurate(name: str, policy: str) -> None:
    rows, theirs = printed(name)
    data, target = problem(name)
    quality = treecompile.cross_validate(
        data,
        target=target,
        algorithm="c45",
        predict_missing=policy,
        na_value="u" if name == "vote" else (),  # which Weka's file has as ?
        seed=1,
    ).quality
    assert isinstance(quality, ClassQuality)
    assert sum(map(sum, quality.confusion)) == rows
    ours = accuracy(quality)
    assert ours is not None
    noise = (theirs * (1 - theirs) / rows) ** 0.5
    print(name, policy, f"J48 {100 * theirs:.2f} %, ours {100 * ours:.2f} %")
    assert ours >= theirs - NOISE * noise
