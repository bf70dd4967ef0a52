"""JavaScript is verified on Node.js: whatever a module does, the result is a report."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.support.node import in_one_process, needs_node
from tests.support.random_models import random_program
from tests.support.samples import every_type, numeric
from treecompile.emit.compiler import emit
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import conditions, negate, required_features
from treecompile.verify import node_process
from treecompile.verify.claims import Claim, claim
from treecompile.verify.constants import in_javascript
from treecompile.verify.node_process import run_node
from treecompile.verify.statements import RefusedError
from treecompile.verify.verification import verify

# ---------------------------------------------------------------- claims


def test_a_module_is_known_by_its_text() -> None:
    text = emit(numeric(), "javascript").text
    shares = [("probability", place) for place in range(3)]
    wanted = [("label", None), ("rule", None), *shares]
    assert claim(numeric(), text) == Claim("node", wanted)
    with pytest.raises(OptionError, match="--output is for SQL, and this is JavaScr"):
        claim(numeric(), text, output="rule")


def test_without_node_it_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EngineError, match=r"^Node.js is not installed .*: install it"):
        verify(numeric(), emit(numeric(), "javascript").text)


# ---------------------------------------------------------------- constants


def test_the_literals_of_javascript() -> None:
    text = r"""
    x === 1 || x < 2.5 || x > .5e3 || x === 0x1F || x === 1_000n || x === 0b11;
    // 7 "no"
    y === "it's" || y === 'a"b' || y === `t${x + 8}u` /* 9 'no' */ || x1 || a.b2;
    z === "\x41\u0042\u{1f427}\n\\\'" || z === "\ud83d\udc27" || z === "\ud800";
    """
    numbers: list[object] = [1, 2.5, 500.0, 31, 1000, 3, 8]
    texts = ["it's", 'a"b', "t", "u", "AB🐧\n\\'", "🐧", "\ud800"]
    assert in_javascript(text) == dict.fromkeys([*numbers, *texts], 1)
    (longest,) = in_javascript("9" * 1000)
    assert longest == 10**1000 - 1
    (longer,) = in_javascript("9" * 1001)
    assert longer == float("inf")
    assert in_javascript(r'"\u{ffffff}" "unclosed') == {"\U0010ffff": 1}


def test_our_own_literals_are_all_read() -> None:
    body = every_type().body
    found = in_javascript(emit(every_type(), "javascript").text)
    assert all(body.features[index].name in found for index in required_features(body))
    for condition in conditions(body):
        values = condition.value if isinstance(condition.value, tuple) else ()
        assert all(isinstance(value, bool) or value in found for value in values)


@needs_node
def test_a_branch_between_the_thresholds_is_found() -> None:
    text = emit(numeric(), "javascript").text
    first = re.search(r"\n  if \((?:!\()?(\w+)", text)
    assert first is not None
    arm = f'\n  if ({first[1]} === 77.125) return rule ? "R1" : "low";'
    report = verify(numeric(), text.replace(first[0], arm + first[0], 1), budget=2000)
    assert report.mismatches


# ---------------------------------------------------------------- hostile modules

ANSWERS = """
const CLASSES = ["low", "mid", "high"];
let shares = () => new Map([["low", 1], ["mid", 0], ["high", 0]]);
let say = () => "R1: always";
let many = (rows) => rows.map(predict);
let one = () => "low";
function predict(row) { return one(row); }
export { CLASSES, predict };
export const decide = () => "R1", explain = (row) => say(row);
export const predictMany = (rows) => many(rows), predictProba = (row) => shares(row);
"""
MODULES = {
    "process.exit(0)": "ended before it gave an answer",
    "process.exit(3)": "ended without a message",
    "await new Promise(() => {})": "ended before it gave an answer",
    "process.kill(process.pid, 'SIGSEGV')": "ended by SIGSEGV",
    "1 +": "SyntaxError",
    "throw new RangeError('a\\nb')": "^RangeError: a b$",
    "throw null": "^it threw null$",
    "throw { toString() { throw 1; } }": "it threw something that cannot be shown",
    "throw 'x'.repeat(1e6)": "^x{100}",
    "setTimeout(() => { throw new Error('late'); }); await 1;" + ANSWERS: "",
    "await import('node:fs').then((fs) => fs.readFileSync('/etc/hostname'))": "(?i)acc",
    "import 'left-pad'": "left-pad",
    "": "predictMany is not a function|CLASSES|undefined",
    ANSWERS: "",
    ANSWERS + "one = () => undefined;": "an answer is of type undefined",
    ANSWERS + "one = () => ({});": "an answer is of type object",
    ANSWERS + "many = () => [];": "predictMany does not give an array with an answer",
    ANSWERS + "many = () => 7;": "predictMany does not give an array",
    ANSWERS + "many = (rows) => rows.map(() => 'mid');": "disagree on row 0",
    ANSWERS + "say = () => 7;": "not a function",
    ANSWERS + "say = () => 'R2: never';": "decide and explain disagree on row 0",
    ANSWERS + "shares = () => ({});": "TypeError",
    ANSWERS + "shares = () => new Map([['low', 1]]);": "does not give a Map of all",
    ANSWERS.replace('"mid", "high"]', '"high", "mid"]'): "CLASSES are not the labels",
    ANSWERS + "JSON.stringify = () => '[[[';": "",
}


@needs_node
@pytest.mark.parametrize("text", MODULES, ids=range(len(MODULES)))
def test_whatever_a_module_does_it_is_not_verified(text: str) -> None:
    report = verify(numeric(), text, "node", budget=100, timeout=60)
    assert not report.passed
    assert re.search(MODULES[text], report.refused)
    assert "\n" not in report.refused
    assert len(report.refused) < 1200


@needs_node
def test_a_module_without_an_end_is_stopped() -> None:
    report = verify(numeric(), "for (;;);", "node", budget=10, timeout=2)
    assert report.refused == "it did not end within 2 seconds (see --timeout)"


@needs_node
def test_a_module_sees_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "treasure")
    text = "throw `it has ${JSON.stringify(process.env)}`"
    assert verify(numeric(), text, "node", budget=10).refused == "it has {}"


@needs_node
@pytest.mark.parametrize(
    "answers", ["[]", "7", '[["q1",[],"R1"]]', '[["dxyz",[],"R1"]]']
)
def test_answers_of_its_own_are_read_with_care(answers: str) -> None:
    text = f"""
import {{ writeFileSync }} from "node:fs";
writeFileSync(process.argv[4], {json.dumps(answers)});
process.exit(0);
"""
    with pytest.raises(RefusedError, match="cannot be read|answers for 1 rows"):
        run_node(text, numeric().body, [(0.0,) * len(numeric().body.features)])


@needs_node
def test_a_module_is_alone_in_a_folder_of_ours() -> None:
    text = """
import { readdirSync } from "node:fs";
throw [process.cwd(), process.argv[4], ...readdirSync(".").sort()].join(" ");
"""
    report = verify(numeric(), text, "node", budget=10)
    folder, answers, *files = report.refused.split()
    assert Path(folder).name.startswith("treecompile-")
    assert Path(answers) == Path(folder) / "answers.json"
    assert files == ["artefact.mjs", "errors.txt", "rows.json", "run.mjs"]


@needs_node
def test_text_that_cannot_be_encoded_is_run_nevertheless() -> None:
    body = numeric().body
    row = (0.0,) * len(body.features)
    (answer,) = run_node(f"{ANSWERS}// \ud800", body, [row])
    assert answer.label == "low"


@needs_node
@pytest.mark.skipif(os.name != "posix", reason="needs limits of processes")
def test_a_module_cannot_fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    few = json.dumps({"RLIMIT_FSIZE": 10_000})
    monkeypatch.setattr(node_process, "limits", lambda timeout: few)
    text = """
import { writeFileSync } from "node:fs";
writeFileSync(process.argv[4], "x".repeat(20_000));
"""
    assert "EFBIG" in verify(numeric(), text, "node", budget=10).refused


def program_saying(folder: Path, said: str) -> str:
    """The path of a program that prints bytes, in octal escapes."""
    path = folder / "node"
    path.write_text(f"#!/bin/sh\nprintf -- '{said}'\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("--no-permission\n--experimental-permission", ["--experimental-permission"]),
        ("--experimental-permission\n--permission\n", ["--permission"]),
        ("\\377\n--permission", ["--permission"]),
        ("--permissions", []),
        ("", []),
    ],
)
def test_permissions_are_switched_on_by_the_name_that_is_known(
    said: str, expected: list[str], tmp_path: Path
) -> None:
    node = program_saying(tmp_path, said)
    answers = tmp_path / "answers"
    found = node_process._options(node, tmp_path, answers)
    limited = [f"--allow-fs-read={tmp_path}", f"--allow-fs-write={answers}"]
    usual = ["--no-warnings", "--max-old-space-size=4096"]
    assert found == [*usual, *expected, *(limited if expected else [])]


def test_a_program_that_does_not_start_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "node").write_text("not a program")
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    with pytest.raises(EngineError, match=r"^Node.js does not start: .*denied"):
        verify(numeric(), emit(numeric(), "javascript").text)


# ---------------------------------------------------------------- types of values

TYPES = """
const CLASSES = ["number", "bigint"];
const predict = ({ x }) => typeof x;
const decide = () => "R1", explain = () => "R1: always";
const predictMany = (rows) => rows.map(predict);
const predictProba = () => new Map([["number", 1], ["bigint", 0]]);
export { CLASSES, decide, explain, predict, predictMany, predictProba };
"""


@needs_node
def test_integers_are_numbers_where_these_are_exact() -> None:
    """In a column of numbers an int is a BigInt, so that both are tried."""
    codes = Feature("x", Kind.CATEGORICAL, ValueType.INT, (7, 2**53))
    numbers = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    tree = answering("number", "bigint").body
    assert isinstance(tree, Tree)
    rows = [(7,), (2**53 - 1,), (1 - 2**53,), (2**53,), (-(2**53),)]
    found = run_node(TYPES, replace(tree, features=(codes,)), rows)
    assert [answer.label for answer in found] == [*["number"] * 3, *["bigint"] * 2]
    found = run_node(TYPES, replace(tree, features=(numbers,)), [(7,), (7.0,)])
    assert [answer.label for answer in found] == ["bigint", "number"]


@needs_node
@pytest.mark.parametrize("label", ["a", 1, True, 2**60, 0.5])
def test_a_single_label_is_enough(label: Label) -> None:
    leaf = Leaf(label, ClassCounts((1.0,)), 1.0)
    features = (Feature("x", Kind.NUMERIC, ValueType.FLOAT),)
    program = Program("y", "by hand", Tree(features, (label,), (leaf,)))
    assert verify(program, emit(program, "javascript").text, budget=10).passed


# ---------------------------------------------------------------- types of answers


def answering(*labels: Label) -> Program:
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, 1.0, missing=False)
    leaves = (
        Leaf(label, ClassCounts(tuple(float(label == x) for x in labels)), 1.0)
        for label in labels
    )
    branches = (Branch(test, 1, 1.0), Branch(negate(test), 2, 1.0))
    root = Split(branches, ClassCounts((1.0, 1.0)), 1.0)
    return Program("y", "by hand", Tree((feature,), labels, (root, *leaves)))


@needs_node
def test_answers_of_another_type_are_mismatches() -> None:
    """1 is not 1n, not true and not "1"; -0 is not 0."""
    cases = [
        (answering(0, 1), ": 1;", ": 1n;"),
        (answering(0, 1), ": 1;", ': "1";'),
        (answering(0, 1), ": 1;", ": true;"),
        (answering(0, 1), ": 0;", ": -0;"),
        (answering(False, True), ": true;", ": 1;"),
        (answering(2**60, 1), ": 1n;", ": 1;"),
        (answering("1", "2"), ': "1";', ": 1;"),
    ]
    with in_one_process():
        for program, old, new in cases:
            text = emit(program, "javascript").text
            assert verify(program, text, budget=100).passed
            assert old in text
            changed = text.replace(old, new)
            assert verify(program, changed, budget=100).mismatches, new


@needs_node
@pytest.mark.parametrize("seed", [3, 11])
def test_hostile_models_are_verified(seed: int) -> None:
    program = random_program(Random(seed))
    report = verify(program, emit(program, "javascript").text, budget=2000)
    assert report.passed, report
