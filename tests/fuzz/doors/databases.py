"""Tables and columns with hostile names in databases, and addresses of databases."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import Case, Database, connect, quoted
from tests.fuzz.doors.base import Door, option_after
from tests.fuzz.doors.formats import Table, as_text, random_table
from tests.fuzz.doors.tables import learning_options
from tests.fuzz.mutate import argument, break_structure, break_tokens, hostile_text
from tests.fuzz.oracle import Outcome, require
from treecompile.model.file.read import read_program
from treecompile.model.ir import Program, Value, ValueType
from treecompile.model.semantics import predict, required_features
from treecompile.verify.verification import same

TYPES = {
    "sqlite": {int: "INTEGER", float: "REAL", bool: "BOOLEAN", str: "TEXT"},
    "duckdb": {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", str: "VARCHAR"},
}
ADDRESSES = (
    *(
        "sqlite://",
        "sqlite:",
        "sqlite:///",
        "sqlite://.",
        "duckdb://nosuch.db",
        "duckdb:",
    ),
    *(
        "duckdb://data.txt",
        "sqlite://data.txt",
        "mysql://127.0.0.1:1/x",
        "mysql://",
        "x",
    ),
    *(
        "postgresql://127.0.0.1:1/x",
        "postgresql://[",
        "mysql://u:p@127.0.0.1:99999/x",
        "",
    ),
    *(
        "mysql://127.0.0.1:x/y",
        "postgresql://127.0.0.1:1/x?a=b",
        "http://x",
        "clickhouse:",
    ),
    *("duckdb://shop.db?x", "sqlite://shop.db#x", "SQLITE://shop.db", "://", "mysql:x"),
)


def clean(text: str) -> str:
    """A name that Python can send to a database."""
    return text.encode(errors="replace").decode().replace("\0", "")


def make_case(random: Random) -> Case:
    engine = random.choice(("sqlite", "sqlite", "duckdb"))
    table = random_table(random)
    database = a_database(random, engine, table)
    named = Table([name for name, _ in database.columns], database.rows)
    url, path = an_address(random, engine), a_path(random, database.table)
    rows = ("--from", url, "--table", path)
    how = ("--target", argument(named.target), *learning_options(random, named))
    learn = ("learn", *rows, *how, "-q", "-o", "model.json")
    into = a_path(random, clean(hostile_text(random)))
    second: tuple[str, ...]
    match random.randrange(4):
        case 0:
            second = ("evaluate", "model.json", *rows)
        case 1:
            prune = random.choice(("--validation-table", "--training-table"))
            second = ("rules", "model.json", "--from", url, prune, path, "-q")
            second = (*second, "-o", "rules.json")
        case _:
            output = random.choice(("label", "label", "label,rule", "probability"))
            second = ("score", "model.json", *rows, "--into", into, "--output", output)
            second = (*second, "-q")
    files = {"data.txt": b"not a database\n", **a_state(random)}
    return Case(
        "database",
        (learn, second),
        files,
        (database,),
        writes=("model.json", "rules.json"),
        changes=("model.json.state", *(["shop.db"] * (second[0] == "score"))),
    )


def a_state(random: Random) -> dict[str, bytes]:
    """Rarely, the file of an interrupted run, or what somebody made of it."""
    if random.random() < 0.95:
        return {}
    record = {"format": "treecompile-state", "version": 1, "levels": [], "key": "x"}
    return {"model.json.state": repr(break_structure(random, record)).encode()}


def a_database(random: Random, engine: str, table: Table) -> Database:
    name = clean(hostile_text(random)) if random.random() < 0.5 else "rows"
    names: dict[str, str] = {}
    for each in map(clean, table.names):
        names.setdefault(each.casefold(), each[:200])
    columns, places = [], []
    for place, each in enumerate(dict.fromkeys(names.values())):
        values = [row[place] for row in table.rows if row[place] is not None]
        kinds = {type(value) for value in values}
        kind = kinds.pop() if len(kinds) == 1 else str
        columns.append((each or "empty", TYPES[engine][kind]))
        places.append((place, kind))
    rows = [[_stored(row[place], kind) for place, kind in places] for row in table.rows]
    return Database("shop.db", engine, name[:200] or "rows", columns, rows)


def _stored(value: Any, kind: type) -> Any:
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return max(-(2**63), min(value, 2**63 - 1)) if kind is int else as_text(value)
    return clean(as_text(value))


def an_address(random: Random, engine: str) -> str:
    plain = f"{engine}://shop.db"
    draw = random.random()
    if draw < 0.85:
        return plain
    if draw < 0.95:
        return random.choice(ADDRESSES)
    words = (
        "://",
        ":",
        "/",
        "?",
        "#",
        "%00",
        "%",
        "@",
        "..",
        "\udcff",
        "sqlite",
        "duckdb",
    )
    return argument(break_tokens(random, plain, words))


def a_path(random: Random, name: str) -> str:
    """How a user writes the name of a table; with dots and quotes, in quotes."""
    if random.random() < 0.15:
        return argument(name) or "x"
    return argument(quoted(name)) if name else "x"


# ---------------------------------------------------------------- the check


def check_scored(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """What the database was given is what the semantics say of its rows."""
    last = outcomes[-1]
    if last.code or last.command != "score":
        return
    arguments, database = last.arguments, case.databases[0]
    if option_after(arguments, "--output") == "probability":
        return
    program = read_program(folder / "model.json")
    into = option_after(arguments, "--into")
    table = into if into.startswith('"') else quoted(into)
    with closing(connect(database.engine, folder / database.file)) as connection:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [each[0] for each in cursor.description]
        records = cursor.fetchall()
    require(len(records) == len(database.rows), "rows are lost", len(records))
    for record in records:
        values = dict(zip(names, record, strict=True))
        wanted = predict(program.body, row_of(program, values))
        require(same(wanted, values["prediction"]), "score is wrong", (record, wanted))


def row_of(program: Program, values: dict[str, Any]) -> tuple[Value, ...]:
    """A stored record as the row that the model sees."""
    row: list[Value] = [None] * len(program.body.features)
    for place in required_features(program.body):
        feature = program.body.features[place]
        value = values[feature.name]
        if value is None or value in program.na_values:  # "" is a category here
            continue
        match feature.type:
            case ValueType.FLOAT:
                row[place] = float(value)
            case ValueType.BOOL:
                row[place] = bool(value)
            case ValueType.INT:
                row[place] = int(value)
            case _:
                row[place] = value
    return tuple(row)


DOORS = (Door("database", make_case, check_scored, usual=80),)
