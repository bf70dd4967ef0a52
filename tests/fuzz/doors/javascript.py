"""Rows, legal and illegal, given to generated JavaScript.

As in `rows`, a value comes with what the law makes of it: a value of the model, or a
refusal.
"""

from __future__ import annotations

import json
import re
import struct
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.models import a_program
from tests.fuzz.mutate import TEXTS
from tests.fuzz.oracle import Outcome, require
from tests.support.node import NODE, run, script
from tests.support.random_models import random_double, random_value
from treecompile.emit.literals import HALVES
from treecompile.model.file.read import read_program
from treecompile.model.file.write import dumps
from treecompile.model.ir import Body, Feature, Label, Value, ValueType
from treecompile.model.semantics import predict, required_features

ROWS = 200
NAMED = re.compile(r'TypeError: ("(?:[^"\\]|\\.)*") is ')
WRONG = ...  # what an absent or an illegal value means
ILLEGAL = (
    *("undefined", "[]", "{}", "new Date()", "Symbol('x')", "() => 1", "new Number(1)"),
    *("Object.create(null)", "{ toString() { throw 1; } }", "new Map()"),
)
ILLEGAL_FOR = {
    ValueType.FLOAT: ("'1'", "''", "'nan'"),
    ValueType.STR: ("1", "1.5", "true", "1n", "Infinity", "new String('a')"),
    ValueType.INT: ("'1'", "1.5", "true", "Infinity", "-Infinity"),
    ValueType.BOOL: ("'true'", "2", "0.5", "-1", "2n", "Infinity"),
}
# The answer to each row as text that is exact, or the error.
ASKED = """
const view = new DataView(new ArrayBuffer(8));
function bits(value) {
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
}
function shown(value) {
  return typeof value === "number" ? bits(value) : `${typeof value} ${value}`;
}
console.log(JSON.stringify(rows.map((row) => {
  try {
    const { predict, explain, decide } = model;
    const isExplained = explain(row()).startsWith(`${decide(row())}:`);
    return [isExplained ? shown(predict(row())) : "another rule"];
  } catch (error) {
    return `${error}`;
  }
})));
"""


def make_case(random: Random) -> Case:
    program = a_program(random)
    rows = tuple(a_row(random, program.body) for _ in range(ROWS))
    return Case("javascript", files={"model.json": dumps(program).encode()}, rows=rows)


def a_row(random: Random, body: Body) -> str:
    """A row of JavaScript and what its values mean: JSON of both."""
    given, meant = [], []
    for position, feature in enumerate(body.features):
        text, value = a_pair(random, feature, random_value(random, position, body))
        if random.random() < 0.01:
            meant.append("...")
            continue
        given.append(f"[{json.dumps(feature.name)}, {text}]")
        meant.append("..." if value is WRONG else repr(value))
    if random.random() < 0.2:
        given.append("['a column more', Symbol()]")
    row = f"new Map([{', '.join(given)}])"
    if random.random() < 0.7:
        row = f"Object.fromEntries({row})"
    return json.dumps([row, f"[{', '.join(meant)}]"])


def a_pair(random: Random, feature: Feature, value: Value) -> tuple[str, Any]:
    """A spelling of a value of the model, or another value, and what it means."""
    draw = random.random()
    if draw < 0.05:
        return random.choice((*ILLEGAL, *ILLEGAL_FOR[feature.type])), WRONG
    if draw < 0.1 or value is None or value != value:
        return random.choice(("null", "NaN")), None
    if feature.type is ValueType.FLOAT:
        return _number(random, float(value))
    if feature.type is ValueType.BOOL:
        number = int(bool(value))
        spelled = (("false", "true")[number], f"{number}", f"{number}n")
        return random.choice(spelled), bool(value)
    if feature.type is ValueType.INT:
        number = int(value)
        is_exact = int(float(number)) == number
        return (
            random.choice((f"{number}n", f"{number}{'' if is_exact else 'n'}")),
            value,
        )
    text = str(value) if random.random() < 0.8 else random.choice(TEXTS)
    text = "half" if HALVES.search(text) else text
    return json.dumps(text), text


def _number(random: Random, value: float) -> tuple[str, Any]:
    match random.randrange(5):
        case 0 if abs(value) < inf:
            return f"{int(value)}n", float(int(value))
        case 1:
            return random.choice((("10n ** 400n", inf), ("true", 1.0), ("-0", 0.0)))
        case 2:
            value = random_double(random)
    return _double(value), value


def _double(value: float) -> str:
    if abs(value) == inf:
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


# ---------------------------------------------------------------- the check


def check_rows(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    if NODE is None:
        return
    program = read_program(folder / "model.json")
    pairs = [json.loads(row) for row in case.rows]
    rows = ", ".join(f"() => {row}" for row, _ in pairs)
    parts = (script(program), "return { predict, explain, decide };")
    model = "const model = (() => {\n" + "\n".join(parts) + "\n})();\n"
    found = json.loads(run(f"{model}const rows = [{rows}];{ASKED}"))
    for (row, meant), said in zip(pairs, found, strict=True):
        check_row(program.body, row, eval(meant, {"inf": inf, "nan": None}), said)


def check_row(body: Body, row: str, meant: list[Any], said: Any) -> None:
    required = required_features(body)
    wrong = [body.features[p].name for p in required if meant[p] is WRONG]
    if wrong:
        is_refused = isinstance(said, str) and said.startswith("TypeError: ")
        require(is_refused, "JavaScript takes an illegal row", (wrong, row, said))
        column = NAMED.match(said)
        require(
            column and json.loads(column[1]) in wrong,
            "JavaScript names no column",
            (wrong, row, said),
        )
        return
    known = tuple(v if place in required else None for place, v in enumerate(meant))
    wanted = shown(predict(body, known), body.labels)
    require(said == [wanted], "JavaScript is wrong", (row, wanted, said))


def shown(label: Label, labels: tuple[Label, ...]) -> str:
    """As ASKED shows it."""
    if isinstance(label, bool):
        return f"boolean {str(label).lower()}"
    if isinstance(label, str):
        return f"string {label}"
    if any(isinstance(each, int) and abs(each) >= 2**53 for each in labels):
        return f"bigint {label}"
    return struct.pack(">d", label).hex()


DOORS = (Door("javascript", make_case, check_rows, usual=8),)
