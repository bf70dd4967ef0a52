"""Text from the data that tries to break out stays text in every artefact."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

import treecompile
from tests.support.random_models import HOSTILE
from tests.support.samples import module_of
from treecompile.cli import main

COMMON = "common"  # the category of whoever is not the exception
# Each would leave a file `pwned` behind if anything executed it.
INJECTIONS = (
    "__import__('os').system('touch pwned')",
    '"); __import__("os").system("touch pwned"); ("',
    '"""\n__import__("os").system("touch pwned")\n"""',
    "{{ cycler.__init__.__globals__.os.system('touch pwned') }}",
    "{% for c in ().__class__.__base__.__subclasses__() %}{% endfor %}",
    "$(touch pwned)",
    "`touch pwned`",
    "'; DROP TABLE rows; --",
    '"; DROP TABLE rows; --',
    "*/ ; DROP TABLE rows; /*",
    "' OR '1'='1",
    "x' UNION SELECT 1 --",
    "\\'; ATTACH 'pwned' AS pwned; --",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "```\n# heading",
    "%(name)s {0} {name!r}",
    "\\N{BULLET}\\x41\\",
    "\u202egnitirw tfel-ot-thgir",
)
TEXTS = tuple(dict.fromkeys((*HOSTILE, *INJECTIONS)))
VALUES = tuple(text for text in TEXTS if text.strip())  # a blank field is missing


def names_for_sql() -> list[str]:
    """All names that a table can have: no NUL, no two that differ only by case."""
    by_case = {name.casefold(): name for name in VALUES if "\0" not in name}
    return list(by_case.values())


Rows = list[list[str]]


def exceptions(names: Sequence[str]) -> tuple[Rows, list[str]]:
    """Rows that differ from the common one in one column each, and their labels.

    A tree that is right for all of them has to test every column, for a category of
    its own, and to give every label.
    """
    rows = [[COMMON] * len(names)]
    labels = [COMMON]
    for place in range(len(names)):
        row = [COMMON] * len(names)
        row[place] = VALUES[(place + 7) % len(VALUES)]
        rows.append(row)
        labels.append(VALUES[(place + 19) % len(VALUES)])
    return rows, labels


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        writer.writerows(rows)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_database(
    connection: Any, expression: str, names: Sequence[str], rows: Rows
) -> list[Any]:
    """The answers of an expression, beside a table that must survive it."""
    columns = ", ".join(f"{quoted(name)} VARCHAR" for name in names)
    connection.execute(f"CREATE TABLE rows (place_of_row INTEGER, {columns})")
    marks = ", ".join("?" * (len(names) + 1))
    for place, row in enumerate(rows):
        connection.execute(f"INSERT INTO rows VALUES ({marks})", [place, *row])
    query = f"SELECT {expression} FROM rows ORDER BY place_of_row"
    answers = [record[0] for record in connection.execute(query).fetchall()]
    (count,) = connection.execute("SELECT count(*) FROM rows").fetchone()
    assert count == len(rows)
    return answers


@pytest.mark.parametrize("target", ['"""', INJECTIONS[0], INJECTIONS[3], "new\nline\\"])
def test_hostile_text_goes_through_every_target(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name in names_for_sql() if name != target]
    rows, labels = exceptions(names)
    data = tmp_path / 'we\'ird "{{ 7*7 }}" $(touch pwned) <b>; --.csv'
    labelled = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    write_csv(data, [*names, target], labelled)
    folder = tmp_path / 'out \'; {{ 7*7 }} """'

    options = (
        "--target",
        target,
        "--task",
        "classify",
        "--algorithm",
        "id3",
        "--no-estimate",
    )
    built = run("build", data, "--out", folder, "--no-verify", "-q", *options)
    assert built.exit_code == 0, (built.stderr, built.exception)
    model = folder / "model.json"
    assert treecompile.load(model).n_leaves > len(names)
    emitted = folder / "duckdb.sql"
    run("emit", model, "--to", "sql", "--dialect", "duckdb", "-q", "-o", emitted)
    for artefact in ("predict.py", "predict.sql", "duckdb.sql"):
        verified = run("verify", model, folder / artefact, "--budget", "1000", "-q")
        assert verified.exit_code == 0, (verified.stderr, verified.exception)

    module = module_of((folder / "predict.py").read_bytes().decode())
    given = [dict(zip(names, row, strict=True)) for row in rows]
    assert module.predict_many(given) == labels
    write_csv(tmp_path / "input.csv", names, rows)
    run("predict", model, tmp_path / "input.csv", "-o", tmp_path / "scored.csv")
    text = (tmp_path / "scored.csv").read_bytes().decode()
    scored = list(csv.reader(io.StringIO(text, newline="")))
    assert scored[0] == [*names, "prediction"]
    assert [record[-1] for record in scored[1:]] == labels
    assert [record[:-1] for record in scored[1:]] == rows

    sqlite_text = (folder / "predict.sql").read_bytes().decode()
    with closing(sqlite3.connect(":memory:")) as connection:
        assert in_database(connection, sqlite_text, names, rows) == labels
    with closing(duckdb.connect()) as connection:
        duckdb_text = emitted.read_bytes().decode()
        assert in_database(connection, duckdb_text, names, rows) == labels

    document = (folder / "RULES.md").read_bytes().decode()
    html = MarkdownIt("commonmark").enable("table").render(document)
    assert "<img" not in html
    assert "<script" not in html
    assert "</script" not in html
    assert 'href="javascript' not in html
    assert "{{ 7*7 }}" in html
    assert not (tmp_path / "pwned").exists()


def test_python_takes_every_name_there_is() -> None:
    """The empty one, one with NUL, and those that differ only by case."""
    rows, labels = exceptions(TEXTS)
    frame = pd.DataFrame(rows, columns=list(TEXTS), dtype=object)
    frame["the target"] = labels
    model = treecompile.learn(
        frame, target="the target", algorithm="id3", task="classify"
    )
    module = module_of(model.emit("python"))
    mappings = [dict(zip(TEXTS, row, strict=True)) for row in rows]
    assert module.predict_many(mappings) == labels
    assert set(module.FEATURES) == set(TEXTS)
    assert model.verify(model.emit("python"), budget=3000).passed
    assert {*map(module.explain, mappings)} <= {*module.RULES.values()}
    for line in module.RULES.values():
        assert line.isprintable()


@pytest.mark.parametrize(
    ("names", "dialect", "said"),
    [
        (["Age", "AGE"], "sqlite", ["'Age'", "'AGE'"]),
        (["Age", "AGE"], "duckdb", ["'Age'", "'AGE'"]),
        (["", "x"], "duckdb", ["DuckDB", "columns: "]),
    ],
)
def test_build_refuses_names_that_the_database_has_not(
    names: list[str], dialect: str, said: list[str], tmp_path: Path
) -> None:
    rows, labels = exceptions(names)
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    labelled = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    write_csv(data, [*names, "y"], labelled)
    options = ("--target", "y", "--algorithm", "id3", "--dialect", dialect)
    result = run("build", data, "--out", folder, "-q", *options)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    for part in said:
        assert part in result.stderr
    assert not folder.exists()


def test_sqlite_has_a_column_without_a_name(tmp_path: Path) -> None:
    rows, labels = exceptions(["", "x"])
    data, folder = tmp_path / "data.csv", tmp_path / "out"
    labelled = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    write_csv(data, ["", "x", "y"], labelled)
    options = ("--target", "y", "--algorithm", "id3", "-q")
    result = run("build", data, "--out", folder, *options)
    assert result.exit_code == 0, result.stderr
    expression = (folder / "predict.sql").read_text()
    with closing(sqlite3.connect(":memory:")) as connection:
        assert in_database(connection, expression, ["", "x"], rows) == labels


def test_a_carriage_return_stays_in_its_field(tmp_path: Path) -> None:
    """It is quoted, though lines end in a line feed: otherwise it would end one."""
    names = ["a\rb", "c"]
    rows = [[f"x{n % 2}\r{'y' * n}", f"{n}"] for n in range(8)]
    labels = ["no\r", "yes"]
    data, model = tmp_path / "d.csv", tmp_path / "m.json"
    labelled = [[*row, labels[int(row[1]) > 3]] for row in rows]
    write_csv(data, [*names, "y"], labelled)
    assert run("learn", data, "--target", "y", "-o", model).exit_code == 0
    expected = [[*names, "y", "prediction"], *([*row, row[-1]] for row in labelled)]
    said = run("predict", model, data).stdout_bytes.decode()
    assert [*csv.reader(io.StringIO(said, newline=""), strict=True)] == expected
