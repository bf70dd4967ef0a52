"""Whether artefacts and predictions are right: judged by the semantics, on rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import quoted
from tests.fuzz.oracle import require
from tests.support.differential import Answer, answer
from tests.support.random_models import random_row
from tests.support.samples import module_of
from treecompile.model.file.read import read_program
from treecompile.model.ir import Body, Program, Row, ValueType
from treecompile.model.paths import outcomes
from treecompile.model.semantics import is_fractional, predict, required_features
from treecompile.rules.language.document import read_source
from treecompile.verify.verification import same

ROWS = 25
TYPES = {
    "sqlite": dict(zip(ValueType, ("REAL", "TEXT", "INTEGER", "BOOLEAN"), strict=True)),
    "duckdb": dict(
        zip(ValueType, ("DOUBLE", "VARCHAR", "BIGINT", "BOOLEAN"), strict=True)
    ),
}


def rows_for(body: Body, seed: int, count: int = ROWS) -> list[Row]:
    random = Random(seed)
    return [random_row(random, body) for _ in range(count)]


def expected(body: Body, rows: Sequence[Row]) -> list[Answer]:
    decided = outcomes(body)
    return [answer(body, decided, row) for row in rows]


def as_mappings(body: Body, rows: Sequence[Row]) -> list[dict[str, Any]]:
    names = [feature.name for feature in body.features]
    return [dict(zip(names, row, strict=True)) for row in rows]


# ---------------------------------------------------------------- Python


def check_module(program: Program, text: str, seed: int) -> None:
    """Every function of a module."""
    body = program.body
    rows = rows_for(body, seed)
    module, wanted = module_of(text), expected(body, rows)
    check_functions(module, body, rows, wanted)


def check_functions(
    module: Any, body: Body, rows: Sequence[Row], wanted: Sequence[Answer]
) -> None:
    mappings = as_mappings(body, rows)
    labels = [each.value for each in wanted]
    for found in ([*map(module.predict, mappings)], module.predict_many(mappings)):
        pairs = zip(labels, found, strict=True)
        require(all(same(*pair) for pair in pairs), "a module predicts wrong", found)
    for mapping, each in zip(mappings, wanted, strict=True):
        said = module.explain(mapping)
        require(said.startswith(f"{each.rule}:"), "a module explains wrong", said)
        if body.labels:
            shares = tuple(module.predict_proba(mapping).values())
            require(_equal(shares, each.shares), "a module's shares are wrong", shares)


def _equal(one: Sequence[float], two: Sequence[float]) -> bool:
    return len(one) == len(two) and all(map(same, one, two))


# ---------------------------------------------------------------- SQL


def holds_row(engine: str, row: Row) -> bool:
    """Whether a table can hold a row, and Python can send it."""
    for value in row:
        if isinstance(value, str) and ("\0" in value or not _is_unicode(value)):
            return False
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return False
    return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_sql(program: Program, text: str, engine: str, seed: int) -> None:
    """The labels of a bare expression, in a table of random rows."""
    body = program.body
    required = required_features(body)
    rows = [row for row in rows_for(body, seed) if holds_row(engine, row)]
    if not required or not rows:
        return
    features = [body.features[place] for place in required]
    declared = [f"{quoted(f.name)} {TYPES[engine][f.type]}" for f in features]
    with closing(_connect(engine)) as connection:
        table = quoted(f"t {seed}")
        connection.execute(f"CREATE TABLE {table} ({', '.join(declared)}, n INTEGER)")
        marks = ", ".join("?" * (len(required) + 1))
        several = [[*(row[p] for p in required), n] for n, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", several)
        query = f"SELECT {text.rstrip().rstrip(';')} FROM {table} ORDER BY n"
        found = [record[0] for record in connection.execute(query).fetchall()]
    wanted = [predict(body, row) for row in rows]
    pairs = zip(wanted, found, strict=True)
    wrong = [place for place, pair in enumerate(pairs) if not same(*pair)]
    require(not wrong, f"{engine} predicts wrong", [rows[p] for p in wrong[:2]])


def _connect(engine: str) -> Any:
    if engine == "sqlite":
        return sqlite3.connect(":memory:")
    import duckdb

    return duckdb.connect()


# ---------------------------------------------------------------- models


def check_rules(program: Program, path: Path, seed: int) -> None:
    """Rules that were made from a model decide like it."""
    if is_fractional(program.body):
        return  # rules follow the flagged branches: another model
    made = read_source(path).program.body
    names = [feature.name for feature in made.features]
    require(names == [f.name for f in program.body.features], "other features", names)
    for row in rows_for(program.body, seed):
        found, wanted = predict(made, row), predict(program.body, row)
        require(same(wanted, found), "rules predict otherwise", (row, wanted, found))


READERS: dict[str, Callable[[Path], Program]] = {
    ".json": read_program,
    ".rules": lambda path: read_source(path).program,
    ".md": lambda path: read_source(path).program,
}


def program_in(path: Path) -> Program:
    return READERS[path.suffix](path)
