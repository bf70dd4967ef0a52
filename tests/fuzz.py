"""Random and broken inputs for every way into the program.

    python -m tests.fuzz [WAY] [SEED [COUNT]]     run cases, list what must not happen
    python -m tests.fuzz WAY SEED 1               print the input of a seed as well

A case is one input as data, made from a seed. Its commands must end with the right
answer, or with exit code 2 and one line; in time, with inputs unchanged, and without
files after an error.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

from tests.support import random_models
from tests.support.commands import check_one_line, contents
from tests.support.random_models import HOSTILE, random_double, random_row
from tests.support.samples import ROOT, module_of
from tests.support.small_models import small_body
from treecompile.api.model import Model
from treecompile.api.verbs import load
from treecompile.cli import main
from treecompile.model.file import dumps
from treecompile.model.ir import Body, Program, Value, ValueType
from treecompile.model.semantics import predict, required_features
from treecompile.model.values import parse_boolean, parse_integer, parse_number
from treecompile.verify.verification import same

SECONDS = 30  # for a case, on a machine that is busy
LONGEST = 1200  # characters of a message
ROWS = 20
FOREIGN = {"lightgbm": "lightgbm.txt", "xgboost": "xgboost-model.json"}
DATA = ROOT / "tests" / "oracles" / "data"
NAMESPACE = {"np": np, "pd": pd, "Decimal": Decimal, "Fraction": Fraction}
NAMESPACE |= {"inf": inf, "nan": nan, "object": object}


class FindingError(Exception):
    """Something that must not happen; the first line names its kind."""


class TooLongError(BaseException):
    """A case goes on for too long; no `except Exception` keeps it."""

    @classmethod
    def stop(cls, *_: object) -> None:
        raise cls


def require(truth: object, kind: str, detail: object = "") -> None:
    if not truth:
        raise FindingError(f"{kind}\n{str(detail)[:3000]}")


@dataclass(frozen=True)
class Case:
    way: str
    commands: Sequence[str] = ()  # run until one does not succeed; a tab between words
    files: Mapping[str, bytes] = field(default_factory=dict)
    rows: Sequence[str] = ()  # expressions in Python, for the way `python`


def from_text(text: str) -> Case:
    record = json.loads(text)
    files = {name: text.encode() for name, text in record["files"].items()}
    for name, packed in record.get("base64", {}).items():
        files[name] = base64.b64decode(packed)
    return Case(record["way"], record["commands"], files, record.get("rows", ()))


def judge(case: Case) -> list[int]:
    """Run a case in a folder of its own: its exit codes, or a FindingError."""
    former = os.getcwd()
    signal.signal(signal.SIGALRM, TooLongError.stop)
    signal.alarm(SECONDS)
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            os.chdir(folder)
            return _codes(case)
    except TooLongError:
        raise FindingError("too long\n" + traceback.format_exc()[-3000:]) from None
    finally:
        signal.alarm(0)
        os.chdir(former)


def _codes(case: Case) -> list[int]:
    codes: list[int] = []
    for name, data in case.files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(data)
    for command in case.commands:
        codes.append(_judged(words(command)))
        if codes[-1]:
            break
    if case.way in ("csv", "rows") and Path("out.csv").exists():
        _check_predictions(load("m.json").program)
    if case.rows:
        _check_module(load("m.json"), case.rows)
    return codes


def _judged(arguments: list[str]) -> int:
    """Run one command, and judge all but its predictions."""
    before = contents(Path())
    result = CliRunner().invoke(main, arguments)
    code, error = result.exit_code, result.exception
    shown = f"{arguments}: {code} {result.stderr[:1000]}"
    if error and not isinstance(error, SystemExit):
        said = "".join(traceback.format_exception(error))
        raise FindingError(f"{error!r:.100}\n{shown}\n{said[-3000:]}")
    is_proof = arguments[0] in ("verify", "diff")
    require(code != 1 or not is_proof, f"another answer: {arguments}", shown)
    try:
        check_one_line(code, result.stdout, result.stderr)
    except (AssertionError, ValueError):
        raise FindingError(f"not one line of error\n{shown}") from None
    if code == 2:
        require(len(result.stderr) <= LONGEST, "a long line of error", shown)
        require(result.stderr[:-1].isprintable(), "control characters", repr(shown))
    made = arguments[arguments.index("-o") + 1] if "-o" in arguments else ""
    made = "" if code else made
    after = contents(Path())
    left = {name for name in after if name.partition("/")[0] != made}
    require(left <= before.keys(), "a file is left", shown)
    is_same = all(after.get(name) == before[name] for name in before if name != made)
    require(is_same, "an input is changed", shown)
    return code


PARSERS: dict[ValueType, Callable[[str, str], Value]] = {
    **{ValueType.FLOAT: parse_number, ValueType.STR: lambda _, text: text},
    **{ValueType.INT: parse_integer, ValueType.BOOL: parse_boolean},
}


def _check_predictions(program: Program) -> None:
    """The last column of a table, read without the reader of tables."""
    with open("out.csv", encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    for record in records:
        cells = dict(zip(header, record, strict=True))
        row: list[Value] = [None] * len(program.body.features)
        for place in required_features(program.body):
            feature = program.body.features[place]
            text = cells[feature.name]
            if text not in ("", *program.na_values) and not text.isspace():
                row[place] = PARSERS[feature.type](feature.name, text)
        wanted, said = predict(program.body, tuple(row)), record[-1]
        spelled = str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
        is_right = float(said) == wanted if type(wanted) is float else said == spelled
        require(is_right, "a wrong prediction", (record, wanted))


def _check_module(model: Model, rows: Sequence[str]) -> None:
    """A generated module gives the answers of the model, and names what it refuses."""
    module, body = module_of(model.emit("python")), model.program.body
    required = required_features(body)
    for written in rows:
        row, meant = eval(written, dict(NAMESPACE))
        wrong = [body.features[p].name for p in required if meant[p] is ...]
        known = [v if place in required else None for place, v in enumerate(meant)]
        try:
            found = module.predict(row)
        except (TypeError, ValueError) as error:
            named = any(repr(name) in str(error) for name in wrong)
            require(named, "a module names no wrong column", (row, error))
            continue
        require(not wrong, "a module takes a wrong value", row)
        wanted = predict(body, tuple(known))
        require(same(wanted, found), "a module is wrong", (row, wanted, found))


def words(text: str) -> list[str]:
    return text.split("\t" if "\t" in text else None)


TEXTS = (
    *(*HOSTILE, "\ud800", "a\udfff", "\x00", "\ufeff", "\u2028", "\x85", "../pwned"),
    *("y" * 3000, "(" * 500, "9" * 5000, "{{ 7 }}", "```\n# heading", "prediction"),
    *("'; DROP TABLE t; --", "$(touch pwned)", '"""\nimport os\n"""', "=cmd|' /C'!A0"),
)
NUMBER_TEXTS = (
    *words("0 -0 1 -1 0.5 1e308 1e309 5e-324 1e-400 inf nan NA 0x10 1_0 00 +1 1. .5"),
    *(" 1 ", "٣", "9223372036854775808", "true", "null", "?", "-" + "9" * 400, "1,5"),
)
NUMBERS = (0, 1, -1, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, -0.0, 0.5, 1e308, 5e-324)
SCALARS: tuple[Any, ...] = (*NUMBERS, None, True, [], {}, "inf")
SIGNS = ",\"'\n\t@?{}"
BYTES = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b'"', b",")
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\w.]+|\s+|.', re.DOTALL)
RULE_WORDS = words("""
predict from number text integer boolean ordered if and then always otherwise in is not
or any other missing known of cases mean sse reached by true { } ( ) [ ] , : <= > >=
= != # R1 size red yes 1e999 -0
"\\ud800" "\\x" "" ``` ```rules
""")
FOREIGN_WORDS = words("""
0 1 -1 10 nan inf 1e308 none = -1:2 sigmoid:1 regression sqrt poisson num_class:9 dart
4294967296 binary:logistic reg:squarederror count:poisson 5E-1 1E39 num_cat=0 Tree=0
""")


def hostile(random: Random) -> str:
    """Mostly a text that is legal, so that what uses it goes on."""
    return random.choice((random.choice(TEXTS), *random.sample(HOSTILE[:40], 3)))


def number_text(random: Random) -> str:
    return random.choice((repr(random_double(random)), random.choice(NUMBER_TEXTS)))


def break_bytes(random: Random, data: bytes) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 2, 8, 64)))
    put = random.choice((b"", data[start:end] * 2, random.randbytes(end - start)))
    put = random.choice((put, random.choice(BYTES)))
    return data[:start] + put + (data[end:] if random.random() < 0.9 else b"")


def break_tokens(random: Random, text: str, choices: Sequence[str] = TEXTS) -> bytes:
    """Delete, double, exchange or replace tokens."""
    tokens = TOKEN.findall(text) or [""]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        here, there = random.randrange(len(tokens)), random.randrange(len(tokens))
        old, new = tokens[here], random.choice((*choices, number_text(random)))
        tokens[here] = random.choice(("", old + tokens[there], tokens[there], new))
        if random.random() < 0.4:  # everywhere, so that it fits
            tokens = [new if each == old else each for each in tokens]
    data = "".join(tokens).encode(errors="surrogatepass")
    return break_bytes(random, data) if random.random() < 0.05 else data


def break_structure(random: Random, value: Any) -> bytes:
    """As JSON, with some changes; most keep the types of the places."""
    value = deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        (parent, key), (other, place) = random.choices([*_places(value)], k=2)
        old, new = parent[key], random.choice((*SCALARS, [parent[key]], other[place]))
        alike = [each for each in (*SCALARS, other[place]) if type(each) is type(old)]
        if isinstance(old, str):
            alike = [hostile(random), old + " ", old.swapcase()]
        parent[key] = deepcopy(random.choice((new, *(alike * 3))))
        if random.random() < 0.1:
            del parent[key]
    return json.dumps(value).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a structure of dicts and lists, as what holds it and its key."""
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


USES = """
emit MODEL --to sql --dialect sqlite -o out.sql | verify MODEL out.sql --budget 100
emit MODEL --to python -o out.py | verify MODEL out.py --budget 100
emit MODEL --to rules -o out.rules | diff MODEL out.rules --budget 500
emit MODEL --to markdown -o out.md | diff MODEL out.md --budget 500
rules MODEL -o out.json | diff MODEL out.json --budget 500
show MODEL --stats --importance
check MODEL --budget 500
predict MODEL rows.csv -o out.csv
""".strip().split("\n")


def a_program(random: Random) -> Program:
    makers = (random_models.random_tree, random_models.random_rules, small_body)
    return Program("play", "by hand", random.choice(makers)(random))


def rows_of(random: Random, body: Body) -> str:
    """Rows for a model, as CSV."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(feature.name for feature in body.features)
    for _ in range(ROWS):
        row = random_row(random, body)
        writer.writerow(str(v).lower() if isinstance(v, bool) else v for v in row)
    return table.getvalue()


def model_case(way: str, random: Random) -> Case:
    """A model in some form, mostly broken, and something to do with it."""
    program = a_program(random)
    forms = {"rules": ("rules", "m.rules"), "document": ("markdown", "m.md")}
    form, file = forms.get(way, ("", "m.json"))
    text = Model(program).emit(form) if form else dumps(program)
    head, fence, rest = text.partition("```rules\n")
    block, end, rest = rest.partition("\n```\n")
    choices = (*RULE_WORDS, *RULE_WORDS, *TEXTS)
    if way == "rows" or random.random() < 0.15:
        data = text.encode(errors="surrogatepass")
    elif not form and random.random() < 0.8:
        data = break_structure(random, json.loads(text))
    elif fence and random.random() < 0.6:
        block = break_tokens(random, block, choices).decode(errors="replace")
        data = f"{head}{fence}{block}{end}{rest}".encode(errors="replace")
    else:
        data = break_tokens(random, text, choices)
    use, table = random.choice(USES), rows_of(random, program.body)
    rows = table.encode(errors="replace")
    if way == "rows":
        use, is_whole = USES[-1], random.random() < 0.4
        rows = rows if is_whole else break_tokens(random, table, [*TEXTS, *SIGNS])
    commands = use.replace("MODEL", file).split(" | ")
    return Case(way, commands, {file: data, "rows.csv": rows})


OPTIONS = words("""
--algorithm id3|c45|cart|other --max-depth 0|1|3 --min-leaf 2|1e9|-1|0.5
--chi2 0.05|1|nan --criterion gini|entropy|gain-ratio --prune none|cost-complexity
--cf 0.25|1|1e-300|0.999 --missing majority|fractional --task classify|regress
--class-weight balanced|a=2|a=1e308|z=1 --labels a,b,c|a,a|, --na-value 1|red|NA|é
--categorical COLUMN --numeric COLUMN --ignore COLUMN --weights COLUMN --one-hot COLUMN
--ordinal COLUMN=red,green,blue --delimiter ;|tab|"|,, --decimal ,|x
--encoding latin-1|utf-16|utf-7|hex
""")


def table_case(way: str, random: Random) -> Case:
    """Mostly sensible, so that something is learned; the last column is the target."""
    names = random.sample(("x", "size", "a b", "id", hostile(random)), 3)
    makers: tuple[Callable[[], Any], ...] = (
        lambda: random.randint(-3, 9),
        lambda: round(random.uniform(-5, 5), 2),
        lambda: random.choice(("red", "green", "blue")),
        lambda: random.choice((True, False, None)),
        lambda: number_text(random),
        lambda: hostile(random),
    )
    makers = tuple(random.choices(makers, [6, 6, 6, 6, 2, 2], k=3))
    is_number, rows = random.random() < 0.3, []
    for _ in range(random.choice((0, 1, 5, 8, 12, 20, 30))):
        row = [make() for make in makers]
        known = sum(map(ord, str(row[0])))
        rows.append([*row, known / 8 if is_number else "abc"[known % 3]])
    records = (dict(zip([*names, "y"], row, strict=True)) for row in rows)
    text, table = "\n".join(map(json.dumps, records)), io.StringIO()
    csv.writer(table).writerows([[*names, "y"], *rows])
    text = table.getvalue() if way == "csv" else text
    data = text.encode(errors="replace")
    if random.random() < 0.3:
        data = break_tokens(random, text, [*TEXTS, *SIGNS])
    learn = f"learn data.{way} --target y -o m.json -q".split()
    for place in random.sample(range(0, len(OPTIONS), 2), random.choice((0, 0, 1, 2))):
        value = random.choice(OPTIONS[place + 1].split("|"))
        learn += [OPTIONS[place], value.replace("COLUMN", names[0].replace("\0", ""))]
    after = random.choice(("predict m.json {} -o out.csv", "evaluate m.json {}"))
    return Case(
        way, ["\t".join(learn), after.format(f"data.{way}")], {f"data.{way}": data}
    )


def foreign_case(way: str, random: Random) -> Case:
    data = (DATA / FOREIGN[way]).read_bytes()
    if way == "xgboost" and random.random() < 0.7:
        data = break_structure(random, json.loads(data))
    elif random.random() < 0.9:
        data = break_tokens(random, data.decode(), FOREIGN_WORDS)
    after = random.choice(("show m.json", "emit m.json --to sql -o out.sql"))
    return Case(way, ["import file -o m.json", after], {"file": data})


MISSING = words("None nan pd.NA pd.NaT np.float64('nan') Decimal('nan')")
WRONG = words("object() [] {} b'x' (1,) 1j np.datetime64('2026-01-01')")
FORMS = {  # of a value, and of what is refused for it
    ValueType.FLOAT: (
        "{0} np.float64({0}) Decimal('{0}')",
        "'1' '' 'nan' np.str_('1')",
    ),
    ValueType.STR: ("{0} np.str_({0})", "1 1.5 True np.int64(1) Decimal(1) inf"),
    ValueType.INT: ("{0} Decimal({0}) Fraction({0})", "'1' 1.5 True inf np.True_"),
    ValueType.BOOL: ("{0} np.bool_({0}) float({0})", "'true' 2 0.5 -1 inf Decimal(2)"),
}


def python_case(way: str, random: Random) -> Case:
    """Rows as dicts of expressions, each with its meaning: `...` for a wrong value."""
    program, rows = a_program(random), []
    for _ in range(ROWS):
        row, meant = [], []
        for place, feature in enumerate(program.body.features):
            value = random_models.random_value(random, place, program.body)
            right, wrong = FORMS[feature.type]
            text = random.choice(words(right)).format(repr(value))
            if value is None or value != value:
                text, value = random.choice(MISSING), None
            if is_wrong := random.random() < 0.02:
                text = random.choice((*WRONG, *words(wrong)))
            row.append(f"{feature.name!r}: {text}")
            meant.append("..." if is_wrong else repr(value))
        rows.append(f"{{{', '.join(row)}}}, [{', '.join(meant)}]")
    return Case(way, files={"m.json": dumps(program).encode()}, rows=rows)


WAYS: dict[str, Callable[[str, Random], Case]] = {
    **{"model": model_case, "rules": model_case, "document": model_case},
    **{"rows": model_case, "csv": table_case, "jsonl": table_case},
    **{"lightgbm": foreign_case, "xgboost": foreign_case, "python": python_case},
}


def make(way: str, seed: int) -> Case:
    """The case of a seed: the same on every machine."""
    return WAYS[way](way, Random(f"{way} {seed}"))


def run_many(way: str, seeds: range) -> tuple[int, str]:
    """How many cases had an answer, and what was found: each kind with a seed."""
    answered, findings = 0, dict[str, str]()
    for seed in seeds:
        try:
            answered += not any(judge(make(way, seed)))
        except FindingError as error:
            kind = str(error).partition("\n")[0]
            findings.setdefault(kind, f"{way} {seed}: {error}")
    return answered, "\n".join(findings.values())


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    first, count = ([*numbers, 100] if numbers else [0, 100])[:2]
    for chosen in [way for way in WAYS if way in sys.argv] or WAYS:
        print(make(chosen, first) if count == 1 else "")
        answered, found = run_many(chosen, range(first, first + count))
        print(f"{chosen}: {answered} of {count} with an answer", found, sep="\n")
