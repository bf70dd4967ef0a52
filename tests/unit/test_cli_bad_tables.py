"""`learn` from odd tables, and from tables it refuses: one line for each."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from treecompile.cli import main

TABLES = (
    "t AS SELECT i % 7 AS a, i / 3 AS b, CASE WHEN i % 7 > 3 THEN 'p' ELSE 'q' END AS y"
    " FROM range(300) AS r(i)",
    "none_known AS SELECT a, NULL::VARCHAR AS y FROM t",
    "empty AS SELECT * FROM t LIMIT 0",
    "alone AS SELECT y FROM t",
    "listed AS SELECT [a] AS many, y FROM t",
    "structured AS SELECT a, {'y': y} AS y FROM t",
    "sizes AS SELECT a, 'infinity'::DOUBLE AS y FROM t",
    "single AS SELECT a, 'only' AS y FROM t",
    '"My Schema"."a.b""c" AS SELECT * FROM t',
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["learn", *arguments])


def there(table: str) -> tuple[str, ...]:
    return ("--from", "duckdb://d.db", "--table", table)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("d.db") as connection:
        connection.execute('CREATE SCHEMA "My Schema"')
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table}")
        connection.execute("CREATE VIEW seen AS SELECT * FROM t")
        connection.execute(
            "CREATE VIEW broken AS SELECT i AS a, i % 2 AS y, CAST(CASE WHEN i = 299999"
            " THEN 'x' ELSE '1' END AS INTEGER) AS b FROM range(300000) AS r(i)"
        )
        for name in ("cut", "mixed", "none"):
            Path(name).mkdir()
        connection.execute("COPY t TO 'cut/1.parquet'")
        connection.execute("COPY t TO 'mixed/1.parquet'")
        connection.execute("COPY (SELECT 1 AS other) TO 'mixed/2.parquet'")
    whole = Path("cut/1.parquet").read_bytes()
    Path("cut/2.parquet").write_bytes(whole[: len(whole) // 2])
    Path("text.db").write_text("no database at all\n" * 1000)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "target", "message"),
    [
        (there("none"), "y", "Table with name none does not exist"),
        (there("nowhere.t"), "y", "nowhere"),
        (there("t"), "z", "no column 'z': the columns are 'a', 'b', 'y'"),
        (there("broken"), "y", "DuckDB: Conversion Error: Could not convert"),
        (there("none_known"), "y", "no rows: there is nothing to learn from"),
        (there("empty"), "y", "no rows: there is nothing to learn from"),
        (there("alone"), "y", "no column but 'y' is left to learn from"),
        (there("listed"), "y", "column 'many' holds BIGINT[] values: convert them"),
        (there("structured"), "y", "column 'y' holds STRUCT"),
        (there("sizes"), "y", "'y' is infinite: correct or remove it"),
        ((*there("t"), "--task", "regress"), "y", "'y'"),
        (("--from", "duckdb://text.db", "--table", "t"), "y", "not a valid DuckDB"),
        (("cut",), "y", "cut/2.parquet"),
        (("mixed",), "y", "mixed/2.parquet"),
        (("none",), "y", "No files found"),
        (("none/*.parquet",), "y", "No files found"),
    ],
)
def test_what_cannot_be_learned_from_is_one_line(
    folder: Path, arguments: tuple[str, ...], target: str, message: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    result = run(*arguments, "--target", target)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
