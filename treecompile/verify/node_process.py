"""Runs a JavaScript module on Node.js, in a process of its own.

Values travel as text that keeps them exact: a double as its bits.
"""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign
from pathlib import Path
from typing import Any

from treecompile.emit.javascript.decision import SAFE, is_large
from treecompile.model.errors import EngineError
from treecompile.model.ir import Body, Label, Row, Value, ValueType
from treecompile.verify.processes import TIMEOUT, RefusedError, execute


@dataclass(frozen=True, slots=True)
class ModuleAnswer:
    """What a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    rule: str


# `run` imports a module, reads rows, and writes [label, probabilities, rule] for each.
FUNCTIONS = r"""
import { readFileSync, writeFileSync, writeSync } from "node:fs";

const { parse, stringify } = JSON;
const { isArray } = Array;
const { exit } = process;
const view = new DataView(new ArrayBuffer(8));

async function run(artefact, given, answers) {
  const { names, labels, rows } = parse(readFileSync(given, "utf8"));
  const read = rows.map((row) =>
    Object.fromEntries(names.map((name, place) => [name, decoded(row[place])])),
  );
  const loaded = await import(artefact);
  const module = "default" in loaded ? loaded.default : loaded;
  const { CLASSES, predict, decide, explain, predictMany, predictProba } = module;
  if (labels.length && stringify(CLASSES.map(encoded)) !== stringify(labels)) {
    throw "CLASSES are not the labels of the model";
  }
  const several = predictMany(read);
  if (!isArray(several) || several.length !== read.length) {
    throw "predictMany does not give an array with an answer to each row";
  }
  const found = read.map((row, place) => {
    const label = encoded(predict(row));
    if (encoded(several[place]) !== label) {
      throw `predict and predictMany disagree on row ${place}`;
    }
    const rule = decide(row);
    if (!explain(row).startsWith(`${rule}:`)) {
      throw `decide and explain disagree on row ${place}`;
    }
    const parts = labels.length ? shares(predictProba(row), CLASSES) : [];
    return [label, parts, rule];
  });
  writeFileSync(answers, stringify(found));
}

function shares(probabilities, classes) {
  const labels = [...probabilities.keys()];
  if (labels.length !== classes.length || labels.some((x, i) => x !== classes[i])) {
    throw "predictProba does not give a Map of all labels in their order";
  }
  return [...probabilities.values()].map(encoded);
}

function decoded(value) {
  const text = String(value).slice(1);
  switch (typeof value === "string" && value[0]) {
    case "t":
      return text;
    case "i":
      return BigInt(text);
    case "d":
      view.setBigUint64(0, BigInt(`0x${text}`));
      return view.getFloat64(0);
  }
  return value;
}

function encoded(value) {
  switch (typeof value) {
    case "string":
      return `t${value}`;
    case "bigint":
      return `i${value}`;
    case "number":
      view.setFloat64(0, value);
      return `d${view.getBigUint64(0).toString(16)}`;
    case "boolean":
      return value;
  }
  throw `an answer is of type ${typeof value}`;
}

function reason(error) {
  try {
    const isOurs = typeof error === "string";
    const text = `${isOurs || error instanceof Error ? "" : "it threw "}${error}`;
    return text.replace(/\s+/g, " ").slice(0, 2000);
  } catch {
    return "it threw something that cannot be shown";
  }
}
"""

RUNNER = f"""{FUNCTIONS}
function fail(error) {{
  writeSync(2, `\\n${{reason(error)}}\\n`);
  exit(1);
}}
process.on("uncaughtException", fail);
run(...process.argv.slice(2)).then(() => exit(0), fail);
"""


def run_node(
    text: str, body: Body, rows: Sequence[Row], timeout: float = TIMEOUT
) -> list[ModuleAnswer]:
    """Return the answers of an ES module."""
    node = node_program()
    if not rows:
        return []
    labels = body.labels
    given = {
        "names": [feature.name for feature in body.features],
        "labels": [_encoded(x, as_number=not is_large(labels)) for x in labels],
        "rows": [_row(row, body) for row in rows],
    }
    with tempfile.TemporaryDirectory(prefix="treecompile-") as name:
        folder = Path(name)
        module, runner, values, answers = (
            folder / each
            for each in ("artefact.mjs", "run.mjs", "rows.json", "answers.json")
        )
        module.write_text(text, encoding="utf-8", errors="surrogatepass")
        runner.write_text(RUNNER, encoding="ascii")
        values.write_text(json.dumps(given), encoding="ascii")
        command = [node, "--no-warnings", str(runner), module.as_uri()]
        execute([*command, str(values), str(answers)], folder, timeout)
        if not answers.exists():
            raise RefusedError("it ended before it gave an answer")
        found = json.loads(answers.read_bytes())
    return [
        ModuleAnswer(_decoded(label, labels), tuple(map(_decoded, shares)), rule)
        for label, shares, rule in found
    ]


def node_program() -> str:
    """Return the path of Node.js; an error if it is not installed."""
    found = shutil.which("node")
    if found is None:
        raise EngineError(
            "Node.js is not installed (there is no program `node`), so JavaScript"
            " cannot be verified here: install it, and try again"
        )
    return found


# ---------------------------------------------------------------- values as text


def _row(row: Row, body: Body) -> list[str | bool | None]:
    """Encode a row.

    An int in a column of integers is a JavaScript number as far as that is exact, else
    a BigInt. In a numeric column an int is always a BigInt.
    """
    return [
        _encoded(value, as_number=feature.type is ValueType.INT)
        for value, feature in zip(row, body.features, strict=True)
    ]


def _encoded(value: Value, *, as_number: bool = False) -> str | bool | None:
    match value:
        case None | bool():
            return value
        case str():
            return f"t{value}"
        case int() if not as_number or abs(value) > SAFE:
            return f"i{value}"
    return f"d{int.from_bytes(struct.pack('>d', value)):x}"


def _decoded(text: Any, labels: Sequence[Label] = ()) -> Any:
    """Decode a value that came back; a number becomes an int if the labels are ints."""
    are_integers = type(labels[0]) is int if labels else False
    try:
        match text:
            case bool():
                return text
            case str() if text.startswith("t"):
                return text[1:]
            case str() if text.startswith("i"):
                number = int(text[1:])
                return number if is_large(labels) else ("BigInt", number)
            case str() if text.startswith("d"):
                bits = int(text[1:], 16).to_bytes(8)
                (double,) = struct.unpack(">d", bits)
                if are_integers and not is_large(labels) and _is_integer(double):
                    return int(double)
                return double
    except (ValueError, OverflowError):
        pass
    raise RefusedError("its answers cannot be read")


def _is_integer(number: float) -> bool:
    """Whether a number is a JavaScript integer; -0.0 is not."""
    return number.is_integer() and not (number == 0.0 and copysign(1.0, number) < 0)
