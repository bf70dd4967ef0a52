"""Model files of other libraries, and forests in our own, broken in their structure.

What can be read goes on: to `predict`, or as Python or SQL to `verify`, which must
accept what nobody changed.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.models import as_cell
from tests.fuzz.doors.tables import label_of, value_of
from tests.fuzz.foreign import FILES
from tests.fuzz.mutate import break_bytes, break_structure, hostile_text
from tests.fuzz.oracle import Outcome, require
from tests.support.forests import random_forest, random_row
from treecompile.importers.formats import read_foreign
from treecompile.model import batch, forests, ir
from treecompile.model.file import dumps, loads_any
from treecompile.verify.forests import Nearly
from treecompile.verify.reference import encoded
from treecompile.verify.verification import same

WRITES = ("model.json", "out.py", "out.sql", "out.csv", "out.md")
ROWS = 12
BUDGET = ("--budget", "150")
Commands = tuple[tuple[str, ...], ...]


def make_case(random: Random) -> Case:
    seed = random.randrange(10**6)
    if random.random() < 0.3:
        data = own_file(random)
        program = _read_own(data)
        files = {"model.json": data, **rows_file(random, program)}
        return Case("imports", made_of_it(random), files, writes=WRITES, seed=seed)
    name = random.choice([*FILES])
    data = FILES[name](random)
    if random.random() < 0.1:
        data = break_bytes(random, data)
    command = ["import", name, "-o", "model.json", "-q"]
    if random.random() < 0.1:
        command += ["--target", hostile_text(random).replace("\0", "")]
    if random.random() < 0.1:
        command += [
            "--labels",
            random.choice(("a,b,c", "no,yes", "1,2,3", "a,a,b", "")),
        ]
    files = {name: data, **rows_file(random, _read_foreign(name, data))}
    commands = (tuple(command), *made_of_it(random))
    return Case("imports", commands, files, writes=WRITES, seed=seed)


def own_file(random: Random) -> bytes:
    program = ir.ForestProgram("y", "LightGBM", random_forest(random))
    record = json.loads(dumps(program))
    if random.random() < 0.8:
        record = break_structure(random, record)
    data = json.dumps(record).encode()
    return break_bytes(random, data) if random.random() < 0.05 else data


def made_of_it(random: Random) -> Commands:
    """What to do with the model; to prove an artefact is slow, so it is rarer."""
    python = ("emit", "model.json", "--to", "python", "-o", "out.py")
    dialect = random.choice(("sqlite", "duckdb"))
    sql = ("emit", "model.json", "--to", "sql", "--dialect", dialect, "-o", "out.sql")
    other = random.choice(("postgres", "tsql", "clickhouse", "snowflake"))
    choices: tuple[tuple[int, Commands], ...] = (
        (6, (("predict", "model.json", "rows.csv", "-o", "out.csv"),)),
        (3, (("emit", "model.json", "--to", "sql", "--dialect", other, "-q"),)),
        (2, (("show", "model.json"),)),
        (1, (("emit", "model.json", "--to", "markdown", "-o", "out.md"),)),
        (2, ((*python, "-q"), ("verify", "model.json", "out.py", *BUDGET, "-q"))),
        (2, ((*sql, "-q"), ("verify", "model.json", "out.sql", *BUDGET, "-q"))),
    )
    (chosen,) = random.choices(
        [commands for _, commands in choices], [weight for weight, _ in choices]
    )
    return chosen


# ---------------------------------------------------------------- rows


def _read_own(data: bytes) -> ir.AnyProgram | None:
    try:
        return loads_any(data)
    except Exception:  # whatever it is, the command will show it
        return None


def _read_foreign(name: str, data: bytes) -> ir.AnyProgram | None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        try:
            return read_foreign(path).program
        except Exception:
            return None


def rows_file(random: Random, program: ir.AnyProgram | None) -> dict[str, bytes]:
    """Rows for a forest, if it could be read."""
    if not isinstance(program, ir.ForestProgram):
        return {"rows.csv": b"x,y\n1,2\n"}
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(feature.name for feature in program.body.features)
    for _ in range(ROWS):
        writer.writerow(map(as_cell, random_row(random, program.body)))
    return {"rows.csv": table.getvalue().encode(errors="replace")}


# ---------------------------------------------------------------- the check


def check_made(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    last = outcomes[-1]
    require(last.code != 1, "what was made is not the model", last.stderr[:1000])
    path = folder / "model.json"
    if last.code != 0 or not path.exists():
        return
    program = loads_any(path.read_bytes())
    require(loads_any(dumps(program)) == program, "the file changes when it is written")
    if isinstance(program, ir.ForestProgram):
        _check_columns(program.body, case.seed)
        if last.command == "predict":
            _check_predictions(program, folder / "out.csv")


def _check_columns(forest: ir.Forest, seed: int) -> None:
    """Whole columns and single rows have the same margins."""
    dice = Random(seed)
    rows = [random_row(dice, forest) for _ in range(ROWS)]
    found = batch.margins(forest, encoded(forest, rows), len(rows)).tolist()
    wanted = [list(forests.margins(forest, row)) for row in rows]
    require(found == wanted, "rows and columns differ", (found, wanted))


def _check_predictions(program: ir.ForestProgram, path: Path) -> None:
    forest = program.body
    with open(path, encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    for record in records:
        texts = dict(zip(header, record, strict=True))
        row = tuple(
            value_of(feature, texts.get(feature.name, ""), program.na_values)
            for feature in forest.features
        )
        wanted = forests.answer(forest, forests.margins(forest, row))
        said = label_of(forest.labels, record[-1])
        if forest.labels:
            is_right = same(wanted, said)
        else:
            assert isinstance(wanted, float)
            is_right = Nearly(wanted, forest.arithmetic).is_met_by(said)
        require(is_right, "predict is wrong", (record, wanted))


DOORS = (Door("imports", make_case, check_made, usual=150),)
