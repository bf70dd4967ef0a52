"""Tables in every format, to learn from and to predict for."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.counts import count_rows
from tests.fuzz.doors.formats import (
    WORDS,
    Table,
    as_text,
    csv_bytes,
    json_array,
    json_lines,
    parquet,
    random_table,
    tsv_bytes,
)
from tests.fuzz.mutate import (
    TEXTS,
    argument,
    break_bytes,
    break_tokens,
    number_text,
)
from tests.fuzz.oracle import Outcome, require
from treecompile.model.file.read import read_program
from treecompile.model.ir import Feature, Label, Program, Value, ValueType
from treecompile.model.semantics import predict, required_features, type_of_labels
from treecompile.model.values import parse_boolean, parse_integer, parse_number
from treecompile.tables.lines import inner_suffix
from treecompile.verify.verification import same

# ---------------------------------------------------------------- options of learning


def learning_options(random: Random, table: Table) -> list[str]:
    """Some options; most of them fit the table."""
    column = argument(random.choice(table.names))
    values = [as_text(row[-1]) for row in table.rows] or ["a"]
    label = argument(random.choice(values))
    choices: tuple[tuple[str, ...], ...] = (
        ("--algorithm", random.choice(("id3", "c45", "cart", "cart", "C4.5"))),
        ("--max-depth", str(random.randint(0, 4))),
        ("--min-leaf", str(random.randint(1, 5))),
        ("--min-split", str(random.randint(1, 9))),
        ("--min-gain", number_text(random)),
        ("--max-leaves", str(random.randint(1, 6))),
        ("--chi2", random.choice(("0.05", "0.5", "1", "nan"))),
        ("--min-sse", number_text(random)),
        ("--criterion", random.choice(("gini", "entropy", "gain-ratio", "distance"))),
        ("--criterion", random.choice(("chi-square", "gain"))),
        ("--prune", random.choice(("none", "pessimistic", "cost-complexity"))),
        ("--prune", "reduced-error", "--validation-fraction", "0.4"),
        ("--prune", "cost-complexity", "--alpha", random.choice(("cv", "1se", "0.1"))),
        (
            *("--prune", "cost-complexity", "--alpha", "cv", "--alpha-folds"),
            random.choice(("2", "3", "1", "1000")),
        ),
        ("--cf", random.choice(("0.25", "1", "1e-300", "0.999"))),
        ("--missing", random.choice(("majority", "fractional"))),
        ("--predict-missing", random.choice(("branch", "fractional"))),
        ("--subset",),
        ("--one-hot-all",),
        ("--one-hot", column),
        ("--class-weight", random.choice(("balanced", f"{label}=2", f"{label}=1e308"))),
        ("--prior", f"{label}={number_text(random)}"),
        ("--validation-fraction", random.choice(("0.3", "0.999", "0"))),
        ("--seed", random.choice(("1", "99999999999999999999"))),
        ("--task", random.choice(("classify", "regress"))),
        ("--labels", ",".join(map(argument, dict.fromkeys(values)))),
        ("--na-value", label),
        ("--categorical", column),
        ("--numeric", column),
        ("--ordinal", f"{column}={','.join(random.sample(WORDS, 4))}"),
        ("--ignore", column),
        ("--weights", column),
        ("--date", column),
        ("--clean-numbers", column),
        ("--delimiter", random.choice((",", ";", "tab", "|", " ", "", '"', ",,"))),
        ("--decimal", random.choice((",", ".", "x"))),
        ("--encoding", random.choice(("utf-8", "latin-1", "utf-16", "utf-7", "hex"))),
        (random.choice(("--header", "--no-header")),),
        ("--sheet", "x"),
    )
    chosen = random.sample(choices, random.choice((0, 0, 0, 1, 1, 2, 3)))
    return [part for each in chosen for part in each]


# ---------------------------------------------------------------- the doors

Write = Callable[[Table, Random], bytes]


def make_case(name: str, suffix: str, write: Write, random: Random) -> Case:
    table = random_table(random)
    data = write(table, random)
    file = f"data{suffix}" if random.random() < 0.9 else f"data {{}} 'x'{suffix}"
    shown, stdin = file, b""
    if suffix == ".csv" and random.random() < 0.05:
        shown, stdin = "-", data
    how = ["--target", argument(table.target), *learning_options(random, table)]
    quiet = ["-q"] * (random.random() < 0.7)
    learn = ("learn", shown, *how, *quiet, "-o", "model.json")
    other = {"data2" + suffix: write(table, random)}
    commands: tuple[tuple[str, ...], ...]
    match random.randrange(12):
        case 0:
            commands = (("evaluate", shown, "--cv", "3", *how, *quiet),)
        case 1:
            extra = random.choice(((), ("--rules", "flat"), ("--rules", "c45rules")))
            build = (
                "build",
                shown,
                *how,
                *quiet,
                "--out",
                "out",
                "--no-verify",
                *extra,
            )
            commands = (build,)
        case 2 | 3:
            commands = (learn, ("evaluate", "model.json", "data2" + suffix))
        case 4:
            commands = (learn, ("rules", "model.json", "--training", file, "-q"))
        case 5:
            prune = ("rules", "model.json", "--validation", "data2" + suffix, "-q")
            commands = (learn, prune)
        case 6:
            commands = (learn, ("diff", "model.json", "model.json", "--data", file))
        case _:
            place = random.choice((file, "data2" + suffix))
            commands = (learn, ("predict", "model.json", place, "-o", "out.csv"))
    writes = ("model.json", "rules.json", "out.csv", "out")
    return Case(name, commands, {file: data, **other}, stdin=stdin, writes=writes)


def broken(random: Random, data: bytes, suffix: str) -> bytes:
    draw = random.random()
    if draw < 0.65:
        return data
    if draw < 0.85 and suffix != ".parquet":
        text = data.decode(errors="surrogateescape")
        text = break_tokens(random, text, [*TEXTS, *",\"'\n\t{}@?%"])
        return text.encode(errors="surrogatepass" if draw < 0.7 else "replace")
    return break_bytes(random, data)


# ---------------------------------------------------------------- the check

OF_READING = {"--delimiter", "--decimal", "--encoding", "--header", "--no-header"}


def check_learned(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """What was learned can be read, and its predictions are those of the semantics."""
    written = [o for o in outcomes if o.code == 0]
    if any(o.command == "learn" for o in written):
        program = read_program(folder / "model.json")
        if written[-1].command == "predict":
            read = folder / written[-1].arguments[2]
            exact = inner_suffix(str(read)) in (".csv", ".tsv")
            check_predictions(program, folder / "out.csv", exact=exact)
            if not OF_READING & {part for o in written for part in o.arguments}:
                check_count(read, folder / "out.csv")
        if written[-1].command == "rules":
            read_program(folder / "rules.json")
    if any(o.command == "diff" for o in outcomes):
        require(outcomes[-1].code in (0, 2, 3), "a model differs from itself")


def check_predictions(program: Program, path: Path, exact: bool) -> None:
    """The column `prediction`, read without the reader of tables.

    A table in another format than CSV may have "" beside missing values, and numbers
    that CSV shows otherwise; such cells are not judged.
    """
    with open(path, encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    places = {name: place for place, name in enumerate(header)}
    body = program.body
    required = required_features(body)
    if program.dates:  # what is read is not in the file
        return
    for record in records:
        values: list[Value] = [None] * len(body.features)
        for position in required:
            feature = body.features[position]
            text = record[places[feature.name]]
            if not exact and is_ambiguous(text, program.na_values):
                break
            values[position] = value_of(feature, text, program.na_values)
        else:
            wanted = predict(body, tuple(values))
            said = label_of(body.labels, record[-1])
            require(same(wanted, said), "predict is wrong", (record, wanted))


def check_count(path: Path, made: Path) -> None:
    """Every row has a prediction; the rows are counted without our readers."""
    with open(made, encoding="utf-8", newline="") as file:
        given = sum(1 for _ in csv.reader(file)) - 1
    wanted = count_rows(path)
    require(wanted in (None, given), "rows are lost", f"{given}, not {wanted}")


def is_ambiguous(text: str, na_values: tuple[str, ...]) -> bool:
    """Whether a cell may stand for another value: "" for a text, 0.1 for a single."""
    if text in ("", *na_values) or text != text.strip():
        return True
    try:
        number = float(text)
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return str(single) == text and float(single) != number


def value_of(feature: Feature, text: str, na_values: tuple[str, ...]) -> Value:
    if text in ("", *na_values) or text.isspace():
        return None
    match feature.type:
        case ValueType.FLOAT:
            if text in ("true", "false"):  # a column of booleans in Parquet
                return float(text == "true")
            return parse_number(feature.name, text)
        case ValueType.INT:
            whole, _, zeros = text.partition(".")  # 1.000: a column of decimals
            return parse_integer(feature.name, whole if set(zeros) == {"0"} else text)
        case ValueType.BOOL:
            return parse_boolean(feature.name, text)
    return text


def label_of(labels: tuple[Label, ...], text: str) -> Label:
    if not labels or type_of_labels(labels) is ValueType.FLOAT:
        return float(text)
    match type_of_labels(labels):
        case ValueType.INT:
            return int(text)
        case ValueType.BOOL:
            return text == "true"
    return text


def door(name: str, suffix: str, write: Write, usual: int) -> Door:
    def spoiled(table: Table, random: Random) -> bytes:
        return broken(random, write(table, random), suffix)

    def make(random: Random) -> Case:
        return make_case(name, suffix, spoiled, random)

    return Door(name, make, check_learned, usual)


DOORS = (
    door("csv", ".csv", csv_bytes, 400),
    door("tsv", ".tsv", tsv_bytes, 150),
    door("jsonl", ".jsonl", json_lines, 300),
    door("json", ".json", json_array, 300),
    door("parquet", ".parquet", parquet, 300),
)
