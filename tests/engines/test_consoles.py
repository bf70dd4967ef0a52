"""SQL that is pasted into the console of a database runs there as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.databases import mariadb_url, postgres_url, unavailable
from tests.support.samples import chain
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.sql.text import literal
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType

# What a console or a driver may take for its own, in values and in names.
TEXTS = (
    *("a;b", "a;\nb", "\n\n", "-- a", "/* a", "*/", "a /* b */ c", ":name", "a::b"),
    *("?", "%s", "%(a)s", "100 %", "&x", "$1", "${x}", "$(x)", "{{ x }}", "@x", "#"),
    *("\\", "\\d", "a\\", "\\\n", "'", "''", '"', "`", "\nGO\n", "\n/\n", ".quit"),
    *("\n.quit\n", "\\q", "\n\\q\n", "quit;", "delimiter $$", "\ndelimiter $$\n", "é"),
)
COLUMN = "a;b -- :c ? %s"


def program() -> Program:
    """Each text is its own answer."""
    feature = Feature(COLUMN, Kind.CATEGORICAL, ValueType.STR, TEXTS)
    tests = tuple(Condition(0, Op.IN, (text,), missing=False) for text in TEXTS)
    return chain((feature,), tests, (*TEXTS, "other"))


def sqlite(script: str) -> str:
    return run(["sqlite3", "-batch", ":memory:"], script)


def postgres(script: str) -> str:
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
    return run([*command, postgres_url()], script)


def mariadb(script: str) -> str:
    url = urlsplit(mariadb_url())
    socket = parse_qs(url.query).get("unix_socket", [""])[0]
    where = [f"--socket={socket}"] if socket else [f"--host={url.hostname}"]
    command = ["mariadb", "--no-defaults", "--batch", "--skip-column-names"]
    user = [f"--user={url.username}"]
    name = f"treecompile_console_{os.getpid()}"
    opened = f"CREATE DATABASE {name} CHARACTER SET utf8mb4;\nUSE {name};\n"
    ended = f"\nDROP DATABASE {name};\n"
    character_set = ["--default-character-set=utf8mb4"]
    return run([*command, *where, *user, *character_set], f"{opened}{script}{ended}")


def run(command: list[str], script: str) -> str:
    if shutil.which(command[0]) is None:
        return str(unavailable(command[0], "it is not installed"))
    done = subprocess.run(
        command, input=script.encode(), capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


CONSOLES: dict[str, tuple[Callable[[str], str], str]] = {
    "sqlite": (sqlite, "lower(hex(prediction))"),
    "postgres": (postgres, "encode(convert_to(prediction, 'UTF8'), 'hex')"),
    "mariadb": (mariadb, "lower(hex(prediction))"),
}


@pytest.mark.parametrize("comments", [True, False])
@pytest.mark.parametrize("engine", CONSOLES)
def test_a_view_that_is_pasted(engine: str, comments: bool) -> None:
    console, shown = CONSOLES[engine]
    dialect = read_dialect(engine)
    options = EmitOptions(
        dialect=engine,
        form="view",
        table="pasted",
        name="answers",
        output="rule,label",
        comments=comments,
    )
    column = f"{dialect.names.quote}{COLUMN}{dialect.names.quote}"
    temporary = "" if engine == "mariadb" else "TEMPORARY "
    rows = ", ".join(f"({n}, {literal(text, dialect)})" for n, text in enumerate(TEXTS))
    view = emit(program(), "sql", options).text
    assert view.endswith(";\n")
    script = (
        f"CREATE {temporary}TABLE pasted (number INTEGER, {column} TEXT);\n"
        f"INSERT INTO pasted VALUES {rows};\n"
        f"{view.replace('CREATE VIEW', f'CREATE {temporary}VIEW')}"
        f"SELECT {shown} FROM answers ORDER BY number;\n"
    )
    found = console(script).split()
    assert [bytes.fromhex(each).decode() for each in found] == list(TEXTS)


@pytest.mark.parametrize("engine", CONSOLES)
def test_a_query_that_is_pasted_ends(engine: str) -> None:
    """Without a semicolon, the console would wait for one."""
    console, _ = CONSOLES[engine]
    options = EmitOptions(dialect=engine, form="select", table="pasted", output="rule")
    temporary = "" if engine == "mariadb" else "TEMPORARY "
    quote = read_dialect(engine).names.quote
    created = f"CREATE {temporary}TABLE pasted ({quote}{COLUMN}{quote} TEXT);\n"
    inserted = "INSERT INTO pasted VALUES ('?'), (NULL);\n"
    query = emit(program(), "sql", options).text
    found = console(f"{created}{inserted}{query}")
    place = TEXTS.index("?") + 1
    assert f"R{place}" in found
    assert f"R{len(TEXTS) + 1}" in found
