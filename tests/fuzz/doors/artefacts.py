"""Artefacts that somebody changed, given to `verify`.

One that it accepts must give the model's answers; one that nobody changed must be
accepted.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.answers import check_module, check_sql
from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door, flags_of
from tests.fuzz.mutate import TEXTS, break_bytes, break_lines, break_tokens
from tests.fuzz.oracle import Outcome
from tests.support.mutants import Mutant, python_mutants, sql_mutants
from tests.support.random_models import random_program
from tests.support.small_models import small_body
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.model.errors import TargetError
from treecompile.model.file.read import read_program
from treecompile.model.file.write import dumps
from treecompile.model.ir import Program

PYTHON_LINES = (
    *(
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "raise SystemExit",
        "print(1)",
    ),
    *("    return None", "    return 1", "predict = None", "del predict", "1 / 0"),
    *("import sys; sys.stdout.close()", "def predict(row): return predict(row)"),
    *("def predict(row, rule=False): return object()", "predict_many = list", "\x00"),
    *("def explain(row): return 7", "predict_proba = lambda row: 7", "import nosuch"),
    *("import sys; sys.setrecursionlimit(10**8)", "print('[]')", "from x import *"),
    *("def predict_columns(columns): return iter(())", "raise KeyboardInterrupt"),
)
SQL_WORDS = (
    *(
        "NULL",
        "1",
        "'a'",
        ";",
        "; SELECT 1",
        "; DROP TABLE treecompile_rows;",
        "--",
        "/*",
    ),
    *(
        "*/",
        "FROM",
        "SELECT",
        "END",
        "CASE",
        "(",
        ")",
        "WHEN",
        "THEN",
        "ELSE",
        "count(*)",
    ),
    *(
        "random()",
        "IS NULL",
        "NOT",
        "OR TRUE",
        "AND",
        "{",
        "?",
        "$1",
        ":x",
        "1/0",
        "1e999",
    ),
    *(
        "; ATTACH 'pwned' AS p;",
        "(SELECT 1 UNION SELECT 2)",
        "readfile('x')",
        "LIMIT 1",
    ),
)
FORMS = ("expression", "expression", "select", "view", "function")
ENDLESS = (
    "\nwhile True:\n    pass\n",
    "\nx = 'a'\nwhile True:\n    x += x\n",
    "\nwhile True:\n    print('x' * 10**6)\n",
)
# So that an endless artefact does not take minutes.
LIMIT = ("--timeout", "20") if ("--timeout", True) in flags_of("verify") else ()
NAMES = ("x", "y y", "colour", 'say "hi"', "日本", "class")


def a_model(random: Random) -> Program:
    """Small, so that verify tries every combination of edges."""
    if random.random() < 0.6:
        return Program("play", "by hand", small_body(random))
    return random_program(random, NAMES)


def a_mutant(random: Random, mutants: list[Mutant], text: str) -> str:
    return random.choice(mutants).text if mutants else text


# ---------------------------------------------------------------- Python


def make_python(random: Random) -> Case:
    program = a_model(random)
    text = emit(program, "python").text
    draw = random.random()
    if draw < 0.45:
        mutants = python_mutants
        text = a_mutant(random, _possible(mutants, program, text), text)
    elif draw < 0.75:
        text = break_tokens(random, text, ("None", "not ", "True", "0", "", *TEXTS))
    elif draw < 0.9:
        text = break_lines(random, text, PYTHON_LINES)
    elif draw < 0.905:
        text += random.choice(ENDLESS)
    return _case(random, "module", program, "a.py", text)


def _possible(make: object, program: Program, text: str) -> list[Mutant]:
    """The mutants of a text; none of one that lacks what they look for."""
    try:
        return make(program, text)  # type: ignore[operator, no-any-return]
    except Exception:  # they expect plain names and several answers
        return []


# ---------------------------------------------------------------- SQL


def make_sql(random: Random) -> Case:
    program = a_model(random)
    key = random.choice(("sqlite", "duckdb"))
    form = random.choice(FORMS if key == "duckdb" else FORMS[:-1])
    table = "rows" if form in ("select", "view") else ""
    options = EmitOptions(dialect=key, form=form, table=table)
    try:
        text = emit(program, "sql", options).text
    except TargetError:
        text = "CASE WHEN 1 THEN 'yes' ELSE 'no' END"
    draw = random.random()
    if draw < 0.45:
        dialect = read_dialect(key)
        mutants = _possible(lambda p, t: sql_mutants(p, t, dialect), program, text)
        text = a_mutant(random, mutants, text)
    elif draw < 0.9:
        text = break_tokens(random, text, (*SQL_WORDS, *SQL_WORDS, *TEXTS))
    engine = () if random.random() < 0.7 else ("--engine", key)
    return _case(random, "query", program, "a.sql", text, *engine)


def _case(
    random: Random, door: str, program: Program, name: str, text: str, *more: str
) -> Case:
    data = text.encode(errors="surrogatepass")
    if random.random() < 0.05:
        data = break_bytes(random, data)
    files = {"model.json": dumps(program).encode(), name: data}
    command = ("verify", "model.json", name, "--budget", "3000", *more, *LIMIT, "-q")
    return Case(door, (command,), files, seed=random.randrange(10**6))


# ---------------------------------------------------------------- the check


def check_accepted(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """An accepted artefact is right; a refused one is not the original."""
    code, arguments = outcomes[0].code, outcomes[0].arguments
    program = read_program(folder / "model.json")
    path = folder / arguments[2]
    text = path.read_bytes().decode("utf-8-sig") if code == 0 else ""
    if path.suffix == ".py":
        if code == 0:
            check_module(program, text, case.seed)
        return
    is_expression = text.lstrip()[:2] == "/*" and "SELECT" not in text.upper()
    if code == 0 and is_expression and "CREATE" not in text.upper():
        for engine in ("sqlite", "duckdb"):
            if f"dialect {engine};" in text:
                check_sql(program, text, engine, case.seed)


DOORS = (
    Door("module", make_python, check_accepted, usual=30),
    Door("query", make_sql, check_accepted, usual=60),
)
