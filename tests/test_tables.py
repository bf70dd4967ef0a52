"""`build` over real tables: what a sensible user expects of each.

`tables/tables.toml` lists the tables, where they come from, and the expectations.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run

TABLES = Path(__file__).resolve().parent / "tables"
LISTING = TABLES / "tables.toml"
WRITTEN = {"model.json", "predict.py", "predict.sql", "RULES.md", "review.html"}
PROVED = ("verified predict.py on python", "verified predict.sql on sqlite")


@dataclass(frozen=True, slots=True)
class Build:
    """One call of `build` and its expected outcome; see the head of the listing."""

    file: str
    target: str
    options: str = ""  # as in a shell
    exit: int = 0
    task: str = "classify"
    says: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    leaves: int = 30
    reference: float | None = None
    by: str = ""  # whose figure that is; absent: scikit-learn's
    within: float = 0.0
    large: bool = False

    def __str__(self) -> str:
        return f"{self.file} {self.options}".strip()


def listed() -> dict[str, Any]:
    return tomllib.loads(LISTING.read_text(encoding="utf-8"))


def builds() -> Iterator[Any]:
    for file, table in listed().items():
        for given in table["build"]:
            build = Build(file, table["target"], **given)
            marks = [pytest.mark.large] if build.large else []
            yield pytest.param(build, id=str(build), marks=marks)


@pytest.mark.parametrize("build", list(builds()))
def test_build(build: Build, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = shlex.split(build.options)
    file, target = TABLES / build.file, build.target
    result = run("build", file, "--target", target, *options, "--out", out)
    assert result.exit_code == build.exit, result.output
    for text in build.says:
        assert text in result.output
    is_expected = any("alone" in text for text in build.says)
    assert ("known only afterwards" in result.output) == is_expected
    for text in build.unsaid:
        assert text not in result.output
    if build.exit:
        assert not out.exists()
        return
    assert {path.name for path in out.iterdir()} == WRITTEN
    for text in PROVED:
        assert text in result.output
    check_model(build, json.loads((out / "model.json").read_text(encoding="utf-8")))


def check_model(build: Build, model: dict[str, Any]) -> None:
    assert build.task == ("classify" if model["labels"] else "regress")
    splits = [node["branches"] for node in model["nodes"] if "branches" in node]
    names = [feature["name"] for feature in model["features"]]
    used = {names[branch["feature"]] for split in splits for branch in split}
    assert set(build.uses) <= used
    assert not set(build.unused) & used
    assert len(model["nodes"]) - len(splits) <= build.leaves
    if build.reference is not None:
        found = score(model["training"]["estimate"]["quality"])
        assert found == pytest.approx(build.reference, abs=build.within)


def score(quality: dict[str, Any]) -> float:
    """The share of right answers, or R squared."""
    if "confusion" not in quality:
        return float(quality["r_squared"])
    counts = quality["confusion"]
    right = sum(row[place] for place, row in enumerate(counts))
    return float(right / sum(map(sum, counts)))


# ---------------------------------------------------------------- the listing


def test_every_table_is_listed() -> None:
    files = {path.name for path in TABLES.iterdir()}
    assert {*listed(), LISTING.name} == files


def test_every_table_has_a_source_and_an_expectation() -> None:
    for table in listed().values():
        assert table["data"]
        assert table["from"]
        assert table["licence"]
        assert table["build"]
