"""A dbt model and its tests, built by dbt on DuckDB."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from tests.support.databases import unavailable
from tests.support.random_models import random_program
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.model.ir import Program, ValueType

pytestmark = pytest.mark.engine


PROJECT = """\
name: shop
version: "1.0"
profile: shop
model-paths: [models]
models:
  shop:
    +materialized: table
flags:
  send_anonymous_usage_stats: false
"""
PROFILE = """\
shop:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: {path}
"""
SOURCES = """\
version: 2
sources:
  - name: raw
    schema: main
    tables:
      - name: rows
"""
TYPES = {
    ValueType.FLOAT: "DOUBLE",
    ValueType.STR: "VARCHAR",
    ValueType.INT: "BIGINT",
    ValueType.BOOL: "BOOLEAN",
}


def dbt() -> str:
    found = os.environ.get("TREECOMPILE_DBT") or shutil.which("dbt")
    return found or str(unavailable("dbt", "it is not installed"))


def project(folder: Path, program: Program) -> list[object]:
    """A project with the rows of a model; the answers that they must get."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(PROFILE.format(path=folder / "shop.db"))
    (folder / "models" / "sources.yml").write_text(SOURCES)
    Model(program).save(folder / "model.json")
    features = program.body.features
    declared = ", ".join(
        f""""{f.name.replace('"', '""')}" {TYPES[f.type]}""" for f in features
    )
    rows = Model(program).edge_rows(budget=500)
    with duckdb.connect(str(folder / "shop.db")) as connection:
        connection.execute(f"CREATE TABLE rows (number INTEGER, {declared})")
        marks = ", ".join("?" * (len(features) + 1))
        for number, (row, _) in enumerate(rows):
            values = [number, *row.values()]
            connection.execute(f"INSERT INTO rows VALUES ({marks})", values)
    return [answer for _, answer in rows]


def hostile() -> Program:
    """Labels are text, and braces that dbt would read are in the names and values."""
    for seed in range(1000):
        program = random_program(Random(seed))
        body = program.body
        names = {feature.name.casefold() for feature in body.features}
        text = repr(body)
        if (
            body.labels
            and isinstance(body.labels[0], str)
            and {"{{", "{%"} & {text[i : i + 2] for i in range(len(text))}
            and len(names) == len(body.features)
            and not {"", "number", "prediction", "rule"} & names
            and "\\x00" not in text
            and "\\ud" not in text
            and not any(
                isinstance(c, int) and abs(c) >= 2**62
                for f in body.features
                for c in f.categories
            )
        ):
            return program
    raise AssertionError("no such model")


LABELS = [  # what YAML, Jinja or a line-based tool would read as something else
    *("yes", "No", "null", "true", "1", "1e3", "2020-01-01", "~", "- a", "a: b"),
    *("\U0001f600", "\U0001f468\u200d\U0001f469", "é", "\x7f\x85\xa0\u2028\ufeff"),
    *("a\rb", "a\r\nb", "a\nb", "\r", "{\r", "{{\r}}", '{{ "\\r" }}', '{{ "{" }}'),
    *("{% raw %}", "{# x #}", "'", '"', "\\", "%", "\t"),
]


def odd_texts() -> Program:
    """Each category has a label of its own: the same text."""
    rows = [{"a\r{b": text, "y": text} for text in LABELS * 2]
    model = treecompile.learn(pd.DataFrame(rows), target="y", algorithm="id3")
    assert model.n_leaves >= len(LABELS)
    return model.program


@pytest.mark.parametrize("make", [hostile, odd_texts])
def test_dbt_builds_the_model_and_its_tests(
    tmp_path: Path, make: Callable[[], Program]
) -> None:
    command, program = dbt(), make()
    expected = project(tmp_path / "shop", program)
    folder = tmp_path / "shop"
    emitted = CliRunner().invoke(
        main,
        [
            *("emit", str(folder / "model.json"), "--to", "sql", "--as", "dbt"),
            *("--dialect", "duckdb", "--table", "raw.rows", "--output", "label,rule"),
            *("-o", str(folder / "models" / "answers.sql")),
        ],
    )
    assert emitted.exit_code == 0, emitted.output
    built = subprocess.run(
        [command, "build", "--project-dir", str(folder), "--profiles-dir", str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    # The model, two columns not null, the labels.
    assert "PASS=4" in built.stdout
    assert "Warning" not in built.stdout
    with duckdb.connect(str(folder / "shop.db")) as connection:
        found = connection.execute(
            'SELECT "prediction" FROM answers ORDER BY number'
        ).fetchall()
    assert [answer for (answer,) in found] == expected
    text = (folder / "models" / "answers.sql").read_bytes().decode()
    assert Model(program).verify(text).passed
