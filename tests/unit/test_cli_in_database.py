"""`learn` in a database: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from treecompile.cli import main
from treecompile.database import locations

TABLE = """CREATE TABLE {} AS SELECT i % 7 AS seven, 'c' || i % 3 AS "a, b",
CASE WHEN i % 7 > 3 AND i % 3 > 0 THEN 'yes' ELSE 'no' END AS y
FROM range(200) AS r(i)"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a database and a folder of Parquet files."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("shop.db") as connection:
        connection.execute(TABLE.format('"Orders"'))
        connection.execute("CREATE SCHEMA s")
        connection.execute(TABLE.format("s.orders"))
        connection.execute(
            "CREATE TABLE dated AS SELECT DATE '2020-01-01' AS d, 1 AS y"
        )
        (tmp_path / "events" / "deep").mkdir(parents=True)
        for name in ("events/1", "events/deep/2"):
            connection.execute(f"COPY s.orders TO '{name}.parquet'")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "rows", "source"),
    [
        (["--from", "duckdb://shop.db", "--table", "Orders"], 200, "Orders"),
        (["--from", "duckdb://shop.db", "--table", "s.orders"], 200, "s.orders"),
        (["events"], 400, "events"),
        (["events/*.parquet"], 200, "*.parquet"),
        (["events/**/*.parquet", "--memory-limit", "300MB"], 400, "*.parquet"),
    ],
)
def test_a_table_is_learned_from_where_it_is(
    folder: Path, arguments: list[str], rows: int, source: str
) -> None:
    result = run("learn", *arguments, "--target", "y", "--prune", "none")
    assert result.exit_code == 0, result.stderr
    task, algorithm, quality, size, wrote = result.stderr.splitlines()
    assert task == "task: classify (target 'y' is text with 2 labels)"
    assert algorithm == "algorithm: cart"
    assert quality.startswith(f"accuracy: 100.0 % on the {rows} training rows")
    assert size.startswith("3 leaves, depth 2, learned in ")
    assert wrote == "wrote model.json"
    training = json.loads((folder / "model.json").read_text())["training"]
    assert (training["source"], training["rows"]) == (source, rows)
    wrong = [
        row[1 - place] for place, row in enumerate(training["quality"]["confusion"])
    ]
    assert wrong == [0, 0]


SHOP = ("--from", "duckdb://shop.db")
ORDERS = (*SHOP, "--table", "Orders")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument DATA: name a file"),
        ([*SHOP], "--from needs a table: add --table NAME"),
        (["--table", "t"], "a table needs a database: add --from URL"),
        (["x.csv", *SHOP, "--table", "t"], "give 'x.csv' or --from, not both"),
        ([*SHOP, "--table", "none"], "DuckDB: "),
        ([*SHOP, "--table", 'a"b'], "expected NAME or SCHEMA.NAME"),
        ([*SHOP, "--table", "dated"], "column 'd' holds DATE values: convert them"),
        (["x.csv", "--memory-limit", "1GB"], "memory_limit is for DuckDB"),
        (["none/*.parquet"], "No files found"),
        (["events/*.csv"], "a pattern can name only Parquet files"),
        (["events", "--validation", "x.csv"], "x.csv"),
        (["events", "--prune", "reduced-error"], "in a database, validation_table"),
        (
            ["events", "--validation-table", "t"],
            "without --from, use --validation",
        ),
        (["x.csv", "--validation-table", "t"], "use --validation FILE"),
        ([*ORDERS, "--validation-table", "none"], "DuckDB: "),
        (
            [*ORDERS, "--validation-table", "dated"],
            "validation: column 'y' holds INTEGER",
        ),
        ([*ORDERS, "--validation-table", "t", "--validation", "v.csv"], "not both"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    folder: Path, arguments: list[str], message: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    result = run("learn", *arguments, "--target", "y")
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_predictions_go_into_a_new_table(folder: Path) -> None:
    where = (*SHOP, "--table", "s.orders")
    run("learn", *where, "--target", "y", "-q")
    result = run("predict", "model.json", *where, "--into", "s.predicted")
    assert (result.exit_code, result.stderr) == (0, "created s.predicted\n")
    with duckdb.connect("shop.db", read_only=True) as connection:
        query = "SELECT count(*), sum((prediction = y)::INT) FROM s.predicted"
        assert connection.execute(query).fetchall() == [(200, 200)]
    for table, into, message in (
        ("s.orders", "s.predicted", "already exists"),
        ("none", "other", "none does not exist"),
        ("dated", "other", "no column 'seven': the columns are 'd', 'y'"),
    ):
        result = run("predict", "model.json", *SHOP, "--table", table, "--into", into)
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert message in line


def test_a_tree_is_pruned_by_a_table_beside_it(folder: Path) -> None:
    with duckdb.connect("shop.db") as connection:
        connection.execute(
            "CREATE TABLE later AS SELECT * REPLACE"
            " (CASE WHEN seven = 5 THEN 'no' ELSE y END AS y) FROM s.orders"
        )
        connection.execute("COPY later TO 'later.parquet'")
    told = "the validation rows pruned the tree: its quality on them is optimistic"
    made = []
    for where in (
        (*ORDERS, "--validation-table", "later"),
        ("events/*.parquet", "--validation", "later.parquet"),
        ("events/1.parquet", "--validation", "later.parquet"),
    ):
        how = ("--algorithm", "cart", "--prune", "reduced-error")
        result = run("learn", *where, "--target", "y", *how, "--force")
        assert result.exit_code == 0, result.stderr
        assert told in result.stderr.splitlines()
        made.append(json.loads((folder / "model.json").read_text()))
        made[-1]["training"].pop("source")
    assert made[0] == made[1] == made[2]
    assert made[0]["training"]["validation"]["confusion"] != [[0, 0], [0, 0]]


def test_predictions_for_files_go_into_a_file(folder: Path) -> None:
    run("learn", "events", "--target", "y", "-q")
    output = ("--output", "label,probability,rule", "--label", "yes")
    result = run("predict", "model.json", "events", "--into", "all.parquet", *output)
    assert (result.exit_code, result.stderr) == (0, "created all.parquet\n")
    query = """SELECT DISTINCT prediction = y AND probability = (y = 'yes')::INT
        AND rule IN ('R1', 'R2', 'R3', 'R4') FROM 'all.parquet'"""
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--into", "t"], "missing argument DATA: name a file"),
        ([*SHOP, "--into", "t"], "add --table NAME"),
        (
            ["events/1.parquet", "--into", "t.parquet"],
            "for one file or a DataFrame, use predict",
        ),
        (["events", "--into", "t"], "expected NAME.parquet"),
        (["events", "--into", "events/1.parquet"], "exists: choose another name"),
        ([*ORDERS, "--into", "Orders"], "already exists"),
        ([*ORDERS], "add --into NAME"),
        (["events"], "add --into NAME"),
        (["events/1.parquet", "--label", "yes"], "--label is for --into"),
        (["events", "--into", "t", "-o", "t.csv"], "give -o or --into, not both"),
    ],
)
def test_what_cannot_be_predicted_is_one_line(
    folder: Path, arguments: list[str], message: str
) -> None:
    run("learn", *ORDERS, "--target", "y", "-q")
    before = sorted(folder.rglob("*"))
    result = run("predict", "model.json", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert message in line
    assert sorted(folder.rglob("*")) == before


# ---------------------------------------------------------------- measuring


def test_the_report_is_that_of_the_same_rows_in_a_file(folder: Path) -> None:
    where = (*SHOP, "--table", "s.orders")
    run("learn", *where, "--target", "y", "--max-depth", "1", "-q")
    run("rules", "model.json", "-q")
    for model in ("model.json", "rules.json"):
        expected = run("evaluate", model, "events/1.parquet")
        assert expected.exit_code == 0, expected.stderr
        assert "accuracy" in expected.stdout
        for arguments in (
            where,
            ("events/*.parquet",),
            ("events/*.parquet", "--memory-limit", "1GB"),
        ):
            found = run("evaluate", model, *arguments)
            assert (found.exit_code, found.stderr) == (0, "")
            assert found.stdout == expected.stdout
    twice = run("evaluate", "model.json", "events").stdout
    assert "of 400 = " in twice


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SHOP], "--from needs a table: add --table NAME"),
        (["--table", "t"], "a table needs a database: add --from URL"),
        (["x.csv", *SHOP, "--table", "t"], "give 'x.csv' or --from, not both"),
        ([*SHOP, "--table", "none"], "DuckDB: "),
        ([*SHOP, "--table", "dated"], "no column 'seven': the columns are 'd', 'y'"),
        ([*SHOP, "--table", "dated", "--cv", "3"], "--cv is for learning"),
        (["events/*.parquet", "--max-depth", "3"], "--max-depth is for learning"),
        (["none/*.parquet"], "No files found"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    folder: Path, arguments: list[str], message: str
) -> None:
    run("learn", *SHOP, "--table", "s.orders", "--target", "y", "-q")
    result = run("evaluate", "model.json", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert message in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*ORDERS], "expected MODEL beside --from and --table"),
        (["events"], "cross-validation needs the rows in memory"),
        (["events/1.parquet", "--memory-limit", "1GB"], "memory_limit is for DuckDB"),
    ],
)
def test_a_table_is_not_measured_without_a_model(
    folder: Path, arguments: list[str], message: str
) -> None:
    result = run("evaluate", *arguments, "--target", "y")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize("option", ["--validation", "--training"])
def test_rules_are_pruned_by_rows_in_memory(folder: Path, option: str) -> None:
    run("learn", *ORDERS, "--target", "y", "-q")
    result = run("rules", "model.json", option, "events")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "prune needs the rows in memory" in line
    assert not (folder / "rules.json").exists()


def test_a_parquet_file_that_memory_cannot_hold_is_learned_in_duckdb(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb.sql(f"COPY (FROM ({TABLE.split('AS ', 1)[1]})) TO 'rows.parquet'")
    how = ("--algorithm", "cart", "--prune", "none")
    learn = ("learn", "rows.parquet", "--target", "y", *how)
    usual = run(*learn, "-o", "memory.json")
    assert "DuckDB" not in usual.output
    monkeypatch.setattr(locations, "available_memory", lambda: 200 * 3 * 8.0)
    found = run(*learn, "-o", "large.json")
    assert found.exit_code == 0, found.output
    note = "rows.parquet has 200 rows of 3 columns, about 0 GB in memory: DuckDB reads"
    assert note in found.output
    trees = [
        json.loads(Path(name).read_text())["nodes"]
        for name in ("memory.json", "large.json")
    ]
    assert trees[0] == trees[1]


def test_a_file_that_is_no_parquet_is_not_measured(folder: Path) -> None:
    Path("rows.parquet").write_text("no Parquet")
    assert locations.too_large("rows.parquet") is None
    assert locations.too_large("absent.parquet") is None
    assert locations.available_memory() > 0
