"""Very deep and very large trees, compiled and run."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import DATABASES
from tests.support.random_models import large_rows, large_tree
from tests.support.rule_lists import flatten, rule_set
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.targets import templates_folder
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import TargetError
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.ir import Condition, Op, Program, Tree
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider
from treecompile.verify.execution import run_sql
from treecompile.verify.languages import run_language
from treecompile.verify.python_process import run_python

ROWS = large_rows(300)
SIZES = [
    pytest.param(1_500, True, id="chain of 1,500"),
    pytest.param(5_000, False, id="5,000 leaves"),
    pytest.param(100_000, False, id="100,000 leaves", marks=pytest.mark.large),
]


def program(leaves: int, chain: bool) -> Program:
    return Program("y", "random", large_tree(leaves, chain=chain))


def expected(model: Program) -> list[str]:
    decided = outcomes(model.body)
    return [decided[decider(model.body, row)].id for row in ROWS]


def test_the_trees_are_what_they_say() -> None:
    chain = large_tree(1_500, chain=True)
    depth = [0] * len(chain.nodes)
    for position, node in enumerate(chain.nodes):
        for branch in getattr(node, "branches", ()):
            depth[branch.then] = depth[position] + 1
    assert max(depth) == 1_499
    assert len(outcomes(large_tree(5_000))) >= 5_000
    many = Program("y", "random", large_tree(2_000))
    assert len(set(expected(many))) > 50


@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_python_holds_it(leaves: int, chain: bool) -> None:
    model = program(leaves, chain)
    text = emit(model, "python").text
    answers = run_python(text, model.body.features, ROWS)
    assert [rule for _, rule, *_ in answers] == expected(model)


# Those that take minutes to read more leaves than this.
LARGEST = {
    **{"clickhouse": 20_000, "spark": 20_000},
    **{"c": 20_000, "go": 20_000, "rust": 20_000},
}


@pytest.mark.engine
@pytest.mark.parametrize("language", ["javascript", "c", "go", "rust"])
@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_languages_hold_it(language: str, leaves: int, chain: bool) -> None:
    model = program(min(leaves, LARGEST.get(language, leaves)), chain)
    files, options = emit(model, language), EmitOptions()
    held, answers = run_language(
        model, files.text, files.files, language, options, ROWS, 120
    )
    assert held == ROWS
    assert [rule for _, rule, *_ in answers] == expected(model)


def sizes_by_engine() -> Iterator[Any]:
    """All sizes on all engines; Spark takes long for a deep tree."""
    for engine, size in itertools.product(DATABASES, SIZES):
        is_slow = engine == "spark" and bool(size.values[1])
        marks = [*size.marks, *[pytest.mark.large] * is_slow]
        yield pytest.param(engine, *size.values, id=f"{size.id}-{engine}", marks=marks)


@pytest.mark.parametrize(("engine", "leaves", "chain"), [*sizes_by_engine()])
def test_databases_hold_it(engine: str, leaves: int, chain: bool) -> None:
    database = DATABASES[engine]()
    leaves = min(leaves, LARGEST.get(engine, leaves))
    model = program(leaves, chain)
    options = EmitOptions(dialect=database.dialect.key, output="rule")
    text = emit(model, "sql", options).text
    assert run_sql(text, model.body.features, ROWS, database) == expected(model)


@pytest.mark.large
@pytest.mark.parametrize("output", ["label", "rule"])
def test_clickhouse_needs_less_than_a_gigabyte(output: str) -> None:
    """It holds the columns of many arms for a block of rows: 65,409 at most."""
    dialect = DATABASES["clickhouse"]().dialect
    model = program(5_000, False)
    decided = outcomes(model.body)
    rules = [decided[decider(model.body, row)] for row in ROWS]
    answers = [rule.value if output == "label" else rule.id for rule in rules]
    text = emit(model, "sql", EmitOptions(dialect="clickhouse", output=output)).text
    types = [dialect.types.of(feature.type) for feature in model.body.features]
    names = [feature.name for feature in model.body.features]
    columns = ", ".join(map(" ".join, zip(names, types, strict=True)))
    with ENGINES["clickhouse"].sandbox("") as connection:
        connection.execute("SET max_memory_usage = 1000000000, max_threads = 1")
        connection.execute(f"CREATE TABLE t ({columns}) ORDER BY tuple()")
        connection.insert("t", types, ROWS * 500)
        found = connection.execute(f"SELECT {text} FROM t").fetchall()
    assert [row[0] for row in found] == answers * 500


def test_nothing_recurses_with_the_depth() -> None:
    model = program(1_500, True)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        assert loads(dumps(model)) == model
        assert hash(model) == hash(loads(dumps(model)))
        assert isinstance(model.body, Tree)
        assert len(flatten(model).body.rules) == 1_500  # type: ignore[union-attr]
        for target in ("sql", "markdown"):
            emit(model, target)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("engine", ["duckdb", "clickhouse", "spark", "datafusion"])
def test_what_is_slow_is_said(engine: str) -> None:
    model = program(20_000, False)
    warning, *_ = emit(model, "sql", EmitOptions(dialect=engine)).warnings
    assert f"{read_dialect(engine).name} is slow" in warning
    assert not emit(model, "sql", EmitOptions(dialect="postgres")).warnings


def test_what_a_longer_text_needs_is_said() -> None:
    model = program(2_500, False)
    _, warning = emit(model, "sql", EmitOptions(dialect="clickhouse")).warnings
    assert re.match(
        r"the SQL has 2\d\d,\d{3} bytes, but ClickHouse allows 250,000: SET max_query",
        warning,
    )
    assert not emit(
        program(1_000, False), "sql", EmitOptions(dialect="clickhouse")
    ).warnings


def test_what_cannot_be_held_is_refused_with_the_limit() -> None:
    tests = tuple(Condition(i, Op.LE, 1.0, missing=False) for i in range(1_000))
    rules = rule_set((tests, "yes"), (tests[1:], "no"), features=1_000)
    with pytest.raises(TargetError, match="SQLite allows 900"):
        emit(Program("y", "random", rules), "sql", EmitOptions(dialect="sqlite"))


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("arms = 20", "a CASE has more WHENs than the 20 that Oracle allows: learn"),
        ("text = 9000", r"the SQL has \d+,\d{3} bytes, but Oracle allows 9,000: learn"),
        ("nesting = 1", None),
    ],
)
def test_every_limit_is_kept(limit: str, said: str | None, tmp_path: Path) -> None:
    """With limits that a small tree exceeds, in a dialect of our own."""
    folder = templates_folder() / "sql" / "dialects"
    start, section, rest = (
        (folder / "oracle.toml").read_text(encoding="utf-8").partition("[limits]\n")
    )
    limits, values, rest = rest.partition("[values]")
    key = limit.split()[0]
    kept = [line for line in limits.splitlines() if not line.startswith(f"{key} =")]
    path = tmp_path / "small.toml"
    parts = (start, section, f"{limit}\n", "\n".join(kept), f"\n{values}", rest)
    path.write_text("".join(parts), encoding="utf-8")
    options = EmitOptions(dialect=str(path))
    if said is None:
        made = emit(program(100, False), "sql", options).text
        assert made.count("CASE") == 1
        return
    with pytest.raises(TargetError, match=said):
        emit(program(100, True), "sql", options)
