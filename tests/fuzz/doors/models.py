"""Model files, changed in their structure, and what is made of those that load."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.answers import (
    check_module,
    check_rules,
    check_sql,
    program_in,
)
from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door, option_after
from tests.fuzz.doors.tables import check_predictions
from tests.fuzz.mutate import break_bytes, break_structure
from tests.fuzz.oracle import Outcome, require
from tests.support.random_models import random_double, random_program, random_row
from tests.support.samples import ROOT
from tests.support.small_models import small_body
from treecompile.model.errors import TreecompileError
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.ir import Program, Value
from treecompile.model.semantics import is_fractional

OUTPUTS = ("label", "label", "label", "probability", "rule")
FORMS = ("expression", "expression", "expression", "select", "view", "function", "dbt")
WRITES = (
    "out",
    "out.py",
    "out.sql",
    "out.yml",
    "out.md",
    "out.rules",
    "out.json",
    "out.csv",
)


# ---------------------------------------------------------------- models


def a_program(random: Random) -> Program:
    if random.random() < 0.5:
        return random_program(random)
    return Program("play", "by hand", small_body(random))


@cache
def _example(name: str) -> str:
    path = ROOT / "examples" / name / "out" / "model.json"
    return path.read_text(encoding="utf-8")


def record_of(random: Random) -> Any:
    """A model file as JSON: a random model, or a learned one, which has figures."""
    if random.random() < 0.25:
        return json.loads(_example(random.choice(("tennis", "penguins"))))
    return json.loads(dumps(a_program(random)))


def model_bytes(random: Random) -> bytes:
    record = record_of(random)
    draw = random.random()
    if draw < 0.85:
        record = break_structure(random, record)
    text = json.dumps(record, ensure_ascii=random.random() < 0.7)
    data = text.encode(errors="surrogatepass")
    return break_bytes(random, data) if draw > 0.92 else data


# ---------------------------------------------------------------- commands


def a_command(random: Random, model: str) -> tuple[str, ...]:
    """Something to do with a model; writing Python is slow, so it is rare."""
    commands: tuple[tuple[int, tuple[str, ...]], ...] = (
        (6, sql_command(random, model)),
        (3, ("emit", model, "--to", "rules", "-o", "out.rules")),
        (2, ("emit", model, "--to", "markdown", "-o", "out.md")),
        (1, ("emit", model, "--to", "python", "-o", "out.py")),
        (2, ("rules", model, "-o", "out.json")),
        (2, ("show", model)),
        (1, ("show", model, "--stats", "--importance", "--alphas")),
        (1, ("draw", model, "-o", "out")),
        (1, ("check", model, "--budget", "500")),
        (1, ("check", model, "--budget", "500", "--json")),
        (1, ("diff", model, model, "--budget", "500")),
        (3, ("predict", model, "rows.csv", "-o", "out.csv")),
        (1, ("evaluate", model, "rows.csv")),
        (1, ("rules", model, "--validation", "rows.csv", "-o", "out.json")),
        (1, ("rules", model, "--training", "rows.csv", "-o", "out.json")),
    )
    weights = [weight for weight, _ in commands]
    (chosen,) = random.choices([command for _, command in commands], weights)
    takes_quiet = chosen[0] in ("emit", "rules", "draw")
    return (*chosen, "-q") if takes_quiet and random.random() < 0.8 else chosen


def sql_command(random: Random, model: str) -> tuple[str, ...]:
    dialect = random.choice(("sqlite", "sqlite", "duckdb", "postgres", "tsql"))
    command = ["emit", model, "--to", "sql", "--dialect", dialect]
    form, output = random.choice(FORMS), random.choice(OUTPUTS)
    if form != "expression":
        command += ["--as", form]
    if form in ("select", "view", "dbt"):
        command += ["--table", "rows"]
    return (*command, "--output", output, "-o", "out.sql")


def make_case(random: Random) -> Case:
    data, command = model_bytes(random), a_command(random, "model.json")
    seed = random.randrange(10**6)
    files = {"model.json": data, **rows_file(random, data, command)}
    return Case("model", (command,), files, writes=WRITES, seed=seed)


def rows_file(
    random: Random, model: bytes, command: tuple[str, ...]
) -> dict[str, bytes]:
    """Rows for a model, if it can be read and the command wants some."""
    if "rows.csv" not in command:
        return {}
    try:
        program = loads(model)
    except TreecompileError:
        return {"rows.csv": b"x,y\n1,2\n"}
    body = program.body
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([*(feature.name for feature in body.features), program.target])
    for _ in range(12):
        row = random_row(random, body)
        answer = random.choice(body.labels) if body.labels else random_double(random)
        writer.writerow(map(as_cell, (*row, answer)))
    return {"rows.csv": table.getvalue().encode(errors="replace")}


def as_cell(value: Value) -> str:
    if value is None or value != value:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---------------------------------------------------------------- the check


def check_made(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """What was made of a model that loads gives the answers of the model."""
    outcome = outcomes[0]
    arguments = outcome.arguments
    if outcome.code == 2 or len(arguments) < 2:
        return
    source = folder / arguments[1]
    program = program_in(source)
    if source.suffix == ".json":
        again = loads(dumps(program))
        require(again == program, "the model file changes when it is written again")
    if outcome.command == "diff":
        require(outcome.code != 1, "a model differs from itself", outcome.stdout[:500])
    if outcome.code == 0:
        check_written(program, arguments, folder, case.seed)


def check_written(
    program: Program, arguments: tuple[str, ...], folder: Path, seed: int
) -> None:
    out = folder / option_after(arguments, "-o", "out")
    match arguments[0], option_after(arguments, "--to"):
        case "predict", _:
            check_predictions(program, out, exact=True)
        case "emit", "python":
            text = out.read_bytes().decode(errors="surrogatepass")
            check_module(program, text, seed)
        case "emit", "sql":
            dialect = option_after(arguments, "--dialect", "sqlite")
            plain = option_after(arguments, "--as", "expression") == "expression"
            output = option_after(arguments, "--output", "label")
            if plain and output == "label" and dialect in ("sqlite", "duckdb"):
                check_sql(program, out.read_bytes().decode(), dialect, seed)
        case ("emit", "rules" | "markdown") | ("rules", _):
            if "rows.csv" in arguments:
                program_in(out)  # pruned: another model
            elif out.suffix != ".md" or not is_fractional(program.body):
                check_rules(program, out, seed)
        case "build", _:
            check_rules(program, folder / out / "model.json", seed)
            text = (folder / out / "predict.sql").read_bytes().decode()
            check_sql(program, text, "sqlite", seed)


DOORS = (Door("model", make_case, check_made, usual=600),)
