"""The TypeScript declarations beside a JavaScript module."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.support.random_models import random_program
from tests.support.samples import ROOT
from treecompile.emit.compiler import emit
from treecompile.emit.javascript.types import declarations
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.targets import read_target
from treecompile.model.file.read import read_program
from treecompile.model.ir import (
    ClassCounts,
    Feature,
    Kind,
    Label,
    Leaf,
    Program,
    Tree,
    ValueType,
)

TENNIS = read_program(ROOT / "examples" / "tennis" / "out" / "model.json")
FEATURES = (
    Feature("heat", Kind.NUMERIC, ValueType.FLOAT),
    Feature("two words", Kind.CATEGORICAL, ValueType.INT, (1, 2)),
    Feature("__proto__", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
)
TSC = shutil.which("tsc")
STRICT = ("--noEmit", "--strict", "--target", "es2020", "--module", "nodenext")
RIGHT = """
import { predict, predictProba, predictMany, explain, decide } from "./a.mjs";
import { CLASSES, FEATURES, MODEL, type Answer, type Row } from "./a.mjs";
interface Day { outlook: string; humidity: string | null; wind: "weak" | "strong" }
const day: Day = { outlook: "sunny", humidity: null, wind: "weak" };
const label: "no" | "yes" = predict({ ...day, another: 3 });
const other: Answer = predict(new Map<string, unknown>([["outlook", 1]]));
const share: number | undefined = predictProba(day).get(label);
const rows: Row[] = [day];
const labels: Answer[] = [...predictMany(new Set(rows)), ...rows.map(predict), other];
const said: string = explain(day) + decide(day) + MODEL.sha256 + CLASSES[0] + share;
const type: string | undefined = FEATURES.get(said + labels);
"""
WRONG = """
import { predict, CLASSES } from "./a.mjs";
predict({ outlok: "sunny", humidity: null, wind: "x" });
predict({ outlook: 3, humidity: null, wind: "x" });
predict({ outlook: undefined, humidity: null, wind: "x" });
const wrong: number = predict({ outlook: "a", humidity: null, wind: "x" });
CLASSES.push("no");
predict([1]);
"""


def types_of(*labels: Label) -> str:
    stats = ClassCounts((1.0,) * len(labels))
    tree = Tree(FEATURES, labels, (Leaf(labels[0] if labels else 0.0, stats, 1.0),))
    program = Program("y", "by hand", tree)
    source = CompilerInput(program, "0" * 64, "1.0", read_target("javascript"))
    return declarations(source, FEATURES)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("no", "it's"), ' "no" | "it\'s";'),
        ((1, 2), " 1 | 2;"),
        ((1, 2**53), " bigint;"),
        ((False, True), " false | true;"),
        ((0.5, 1.5), " number;"),
        ((), " number;"),
        (("x" * 30, "y" * 30), f'\n  | "{"x" * 30}"\n  | "{"y" * 30}";'),
        (tuple(map(str, range(1001))), " string;"),
        (tuple(range(1001)), " number;"),
    ],
    ids=range(9),
)
def test_the_type_of_the_answer(labels: tuple[Label, ...], expected: str) -> None:
    text = types_of(*labels)
    assert f"\nexport type Answer ={expected}\n" in text
    assert ("predictProba" in text) == ("CLASSES" in text) == bool(labels)


def test_the_types_of_the_columns() -> None:
    assert """
export interface Row {
  heat: number | bigint | boolean | null;
  "two words": number | bigint | null;
  "__proto__": boolean | 0 | 1 | null;
}
""" in types_of("no", "yes")


EVERYTHING = f"""\
// Written by treecompile 1.0 for the model {"0" * 64}

/** What is predicted: y. */
export type Answer = "no" | "yes";

/** The columns that are read. A value that is missing is null or NaN. */
export interface Row {{
  heat: number | bigint | boolean | null;
  "two words": number | bigint | null;
  "__proto__": boolean | 0 | 1 | null;
}}

/** A row may have other columns, which are ignored. */
export type Input =
  Row | (Row & Record<string, unknown>) | ReadonlyMap<string, unknown>;

/** Predict y for a row. */
export function predict(row: Input): Answer;
/** The id of the rule that decides. */
export function decide(row: Input): string;
/** The rule that decides, in words. */
export function explain(row: Input): string;
/** Predict each of the rows. */
export function predictMany(rows: Iterable<Input>): Answer[];
/** The probability of each label. */
export function predictProba(row: Input): Map<Answer, number>;
export const CLASSES: readonly Answer[];
/** The columns that are read, and their types. */
export const FEATURES: ReadonlyMap<
  string,
  "number" | "string" | "integer" | "boolean"
>;
export const MODEL: {{
  readonly name: string;
  readonly algorithm: string;
  readonly version: string;
  readonly sha256: string;
  readonly rules: number;
  readonly rows?: number;
}};
"""


def test_every_export_has_a_type() -> None:
    assert types_of("no", "yes") == EVERYTHING


@pytest.mark.parametrize("width", [49, 50])
def test_labels_too_wide_for_a_line_have_one_each(width: int) -> None:
    wide = "x" * (width - len(' "a" | ""'))
    assert (f' "a" | "{wide}";\n' in types_of("a", wide)) == (width < 50)
    assert (f'=\n  | "a"\n  | "{wide}";\n' in types_of("a", wide)) == (width == 50)


@pytest.mark.parametrize("count", [1000, 1001])
def test_only_so_many_labels_are_named(count: int) -> None:
    text = types_of(*range(count))
    assert ("export type Answer = number;" in text) == (count > 1000)


@pytest.mark.skipif(TSC is None, reason="needs the TypeScript compiler")
def test_typescript_takes_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    made = {
        "a.d.mts": emit(TENNIS, "javascript").beside,
        "b.mts": RIGHT,
        "c.mts": WRONG,
    }
    for seed in range(10):
        hostile = emit(random_program(Random(seed)), "javascript").beside
        made[f"model{seed}.d.mts"] = hostile
    for name, text in made.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    names = [name for name in made if name != "c.mts"]
    assert checked(tmp_path, *names) == []
    # The errors are in the lines after the import.
    assert [line.partition(",")[0] for line in checked(tmp_path, "c.mts")] == [
        f"c.mts({line}" for line in range(3, 9)
    ]


def checked(folder: Path, *names: str) -> list[str]:
    """The lines in which the compiler reports errors."""
    assert TSC is not None
    command = [TSC, *STRICT, *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "error TS" in line]
