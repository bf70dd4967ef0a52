"""The Python module: its interface, its inputs, and its text."""

from __future__ import annotations

import ast
import doctest
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import black
import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.forests import random_forest, tennis_forest
from tests.support.quick import without_black
from tests.support.random_models import random_program
from tests.support.samples import (
    ROOT,
    TENNIS,
    balanced,
    chain,
    every_type,
    module_of,
    stump,
)
from treecompile.emit import header, templates
from treecompile.emit.compiler import emit
from treecompile.model.ir import (
    Condition,
    Feature,
    ForestProgram,
    Kind,
    Op,
    Program,
    ValueType,
)
from treecompile.verify.verification import verify

PYENV = sorted((Path.home() / ".pyenv" / "versions").glob("3.9.*/bin/python"))
OLDEST = str(PYENV[-1]) if PYENV else shutil.which("python3.9")
REST = {"number": 9.0, "text": "z", "code": 9, "flag": False, "grade": "high"}


def emitted(program: Program) -> str:
    return emit(program, "python").text


# ---------------------------------------------------------------- interface


def test_the_interface_of_a_classifier() -> None:
    program = every_type()
    module = module_of(emitted(program))
    assert module.predict(REST) == "rest"
    assert module.predict_many([REST, {**REST, "number": 1}]) == ["rest", "number"]
    assert module.predict_many(iter(())) == []
    assert module.predict_proba({**REST, "number": 1}) == {
        **dict.fromkeys(program.body.labels, 0.0),
        "number": 0.75,
        "text": 0.25,
    }
    assert module.explain({**REST, "text": "b"}).startswith("R2: if number > 2.5 and")
    assert module.explain({**REST, "text": "b"}).endswith("then text [3 of 3]")
    assert module.FEATURES == ("number", "text", "code", "flag", "grade")
    assert program.body.labels == module.CLASSES
    assert list(module.RULES) == [f"R{number}" for number in range(1, 7)]
    said = header.read(emitted(program))
    assert said is not None
    assert said.sha256 == treecompile.Model(program).sha256
    assert said.version == treecompile.__version__


def test_a_row_gives_its_answer_and_the_rule() -> None:
    module = module_of(emitted(every_type()))
    assert module.decide(*REST.values()) == ("rest", "R6")
    assert module.decide(1, None, None, None, None) == ("number", "R1")
    for values in ((), range(6)):
        with pytest.raises(TypeError):
            module.decide(*values)


def test_beyond_a_number_of_rules_a_sentence_is_put_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("treecompile.emit.explanations.SENTENCES", 5)
    with without_black():
        module = module_of(emitted(every_type()))
    said = module.explain({**REST, "text": "b"})
    assert said.startswith("R2: if number > 2.5 and text in ")
    assert said.endswith("then text [3 of 3]")


def test_a_regression_has_no_classes() -> None:
    frame = pd.DataFrame({"x": [1, 2, 5], "y": [0.1, 0.7, 2.5]})
    module = module_of(treecompile.learn(frame, target="y").emit("python"))
    assert module.predict_many([{"x": x} for x in (1, 2, 5)]) == [0.1, 0.7, 2.5]
    assert not hasattr(module, "predict_proba")
    assert not hasattr(module, "CLASSES")


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        ("number", 2.5, "number"),
        ("number", 2.5000000000000004, "rest"),
        ("number", 2, "number"),
        ("number", True, "number"),
        ("number", Decimal("2.5"), "number"),
        ("number", Decimal("2.6"), "rest"),
        # Nearer to 2.5 than to the next double, so the double that it is not above.
        ("number", Decimal("2.5000000000000000001"), "number"),
        ("number", Decimal("1e999"), "rest"),
        ("number", Fraction(5, 2), "number"),
        ("number", np.float32(2.5), "number"),
        ("number", np.int64(3), "rest"),
        ("number", np.bool_(True), "number"),
        ("number", 10**400, "rest"),
        ("number", -(10**400), "number"),
        ("number", Fraction(10**400), "rest"),
        ("number", None, "number"),
        ("number", float("nan"), "number"),
        ("number", np.float64("nan"), "number"),
        ("number", Decimal("NaN"), "number"),
        ("number", Decimal("sNaN"), "number"),
        ("number", pd.NA, "number"),
        ("number", pd.NaT, "number"),
        ("text", "b", "text"),
        ("text", np.str_("b"), "text"),
        ("text", "B", "rest"),
        ("text", "b ", "rest"),
        ("text", "", "rest"),
        ("text", None, "rest"),
        ("text", Decimal("sNaN"), "rest"),
        ("code", 2, "code"),
        ("code", 2.0, "code"),
        ("code", Decimal(2), "code"),
        ("code", np.uint8(2), "code"),
        ("code", 10**400, "rest"),
        ("code", float("nan"), "rest"),
        ("flag", True, "flag"),
        ("flag", 1, "flag"),
        ("flag", 0.0, "rest"),
        ("flag", np.bool_(True), "flag"),
        ("flag", pd.NA, "rest"),
        ("grade", "low", "grade"),
        ("grade", "lowest", "rest"),
    ],
)
def test_values_are_taken_by_the_law(name: str, value: Any, answer: str) -> None:
    module = module_of(emitted(every_type()))
    row = {**REST, name: value}
    assert module.predict(row) == answer
    assert module.decide(*row.values())[0] == answer


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("number", "2.5", "a number"),
        ("number", date(2024, 1, 1), "a number"),
        ("number", 1j, "a number"),
        ("number", np.timedelta64(1, "s"), "a number"),
        ("text", 5, "a string"),
        ("text", b"a", "a string"),
        ("text", np.array(["a", "b"]), "a string"),
        ("text", Decimal("1"), "a string"),
        ("code", True, "an integer"),
        ("code", 1.5, "an integer"),
        ("code", "1", "an integer"),
        ("code", float("inf"), "an integer"),
        ("flag", 2, "True or False"),
        ("flag", "true", "True or False"),
        ("grade", 1, "a string"),
    ],
)
def test_a_wrong_type_is_named(name: str, value: Any, expected: str) -> None:
    module = module_of(emitted(every_type()))
    # It is checked before the first test, which would settle this row.
    row = {**REST, "number": 1.0, name: value}
    calls: list[tuple[Any, Any]] = [
        (module.predict, [row]),
        (module.decide, row.values()),
        (module.predict_many, [[row]]),
    ]
    for function, arguments in calls:
        with pytest.raises(TypeError) as caught:
            function(*arguments)
        assert str(caught.value) == f"{name!r} is {value!r}: expected {expected}"


@pytest.mark.parametrize("name", REST)
def test_an_absent_key_is_not_a_missing_value(name: str) -> None:
    module = module_of(emitted(every_type()))
    row = {key: value for key, value in REST.items() if key != name}
    for function in (module.predict, module.predict_proba, module.explain):
        with pytest.raises(KeyError, match=name):
            function(row)


@pytest.mark.parametrize("threshold", [2.0**53, 2.0**60, -(2.0**53)])
def test_a_long_integer_is_compared_as_a_double(threshold: float) -> None:
    module = module_of(emitted(stump(threshold)))
    whole = int(threshold)
    beside = whole + 1  # it rounds to the threshold, to the even neighbour
    assert float(beside) == threshold or threshold < 0
    for value in (whole - 1, whole, beside, whole + 2, whole + 10**6):
        expected = "low" if float(value) <= threshold else "high"
        assert module.predict({"x": value}) == expected, value
        assert module.predict({"x": Decimal(value)}) == expected, value
        assert module.decide(value)[0] == expected, value


@pytest.mark.skipif(not OLDEST, reason="there is no Python 3.9")
def test_the_oldest_python_gives_the_same_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", OLDEST)
    for program in (every_type(), tennis_forest()):
        assert verify(program, emit(program, "python").text).passed


# ---------------------------------------------------------------- verified

# Added to a module: its other functions as they were, and another `decide`.
SEPARATE = """
_decide = decide
def predict(row):
    return _decide(*[row[name] for name in FEATURES])[0]
"""


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("def decide(*values): return _decide(*values)", ""),
        ("del decide", "decide"),
        (
            "def decide(a, b, *others): return _decide(b, a, *others)",
            "expected a number",
        ),
        (
            "def decide(a, b, c, d, e): return _decide(a, e, c, d, b)",
            "predict and its other forms disagree on",
        ),
        (
            "def decide(a, *v): return _decide(a or 0.0, *v)",
            "decide does not refuse [] as the value of 'number'",
        ),
        (
            "def decide(*v): return _decide(*v[:-1], v[-1] or None)",
            "decide does not refuse [] as the value of 'grade'",
        ),
        (
            "_rules = RULES\n"
            "def explain(row): return _rules[_decide(*row.values())[1]]\n"
            "def decide(*v): return _decide(*v)[0], 'R1'",
            "predict and its other forms disagree on",
        ),
        (
            "def predict(row): return _decide(*[row[n] or None if n == 'grade' else"
            " row[n] for n in FEATURES])[0]",
            "predict does not refuse [] as the value of 'grade'",
        ),
    ],
)
def test_values_by_position_are_tried_too(added: str, said: str) -> None:
    program = every_type()
    report = verify(program, emit(program, "python").text + SEPARATE + added)
    assert said in report.refused
    assert report.passed == (not said)


# ---------------------------------------------------------------- text


def wide_model() -> Program:
    """Long names, many categories, deep and bushy: whatever strains the layout."""
    dice = random.Random(5)
    names = ("a", "annual income before tax in thousands of the local currency", "Ω 1")
    codes = [f"category number {n}" for n in range(30)]
    rows = 500
    frame = pd.DataFrame({n: [dice.random() for _ in range(rows)] for n in names})
    frame["region"] = [dice.choice(codes) for _ in range(rows)]
    labels = ["accept", "reject", "a label too long to stand within a line of code"]
    frame["y"] = [dice.choice(labels) for _ in range(rows)]
    return treecompile.learn(frame, target="y", algorithm="cart").program


def numbers_model() -> Program:
    dice = random.Random(6)
    frame = pd.DataFrame({"x": [dice.gauss(0, 1e6) for _ in range(300)]})
    frame["y"] = [dice.random() for _ in range(300)]
    return treecompile.learn(frame, target="y", prune="none").program


def deep_model() -> Program:
    """A chain of 1,200 tests, which no nested form can hold."""
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    tests = tuple(Condition(0, Op.LE, float(n), missing=False) for n in range(1200))
    return chain((x,), tests, (0, 1, 2))


ORDINARY = {
    "tennis": lambda: treecompile.learn(TENNIS, target="play").program,
    "rules": lambda: treecompile.learn(TENNIS, target="play").rules().program,
    "every type": every_type,
    "wide": wide_model,
    "numbers": numbers_model,
}


def as_black_prints(text: str) -> str:
    return black.format_str(text, mode=black.Mode())


@pytest.mark.parametrize("name", ORDINARY)
def test_a_small_module_is_formatted_by_black(name: str) -> None:
    text = emitted(ORDINARY[name]())
    assert text == as_black_prints(text) or len(text) > templates.BLACK_UP_TO


def test_black_leaves_the_text_of_hostile_models_unchanged() -> None:
    for seed in range(8):
        text = emitted(random_program(random.Random(seed)))
        if len(text) <= templates.BLACK_UP_TO:
            assert text == as_black_prints(text), seed


def test_a_large_module_has_no_long_lines() -> None:
    text = emitted(balanced(11))
    assert len(text) > templates.BLACK_UP_TO
    assert max(map(len, text.splitlines())) <= 120
    module = module_of(text)
    assert [module.predict({"x": x}) for x in range(2048)] == list(range(2048))


def test_the_examples_are_short() -> None:
    """A reader takes in the whole module at once."""
    for name, most in (("tennis", 90), ("penguins", 160)):
        path = ROOT / "examples" / name / "out" / "predict.py"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= most
        code = [line for line in lines if '": "R' not in line]  # texts of rules
        assert max(map(len, code)) <= 120


def test_only_the_standard_library_is_imported_and_python_3_9_reads_it() -> None:
    for seed in range(8):
        tree = ast.parse(
            emitted(random_program(random.Random(seed))), feature_version=(3, 9)
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [str(node.module)]
            else:
                continue
            for module in modules:
                assert module.partition(".")[0] in sys.stdlib_module_names


def test_a_deep_tree_compiles_and_runs() -> None:
    module = module_of(emitted(deep_model()))
    for x in (-1, 0, 0.5, 599, 1199, 1199.5):
        place = min(1200, max(0, ceil(x)))
        assert module.predict({"x": x}) == place % 3


def test_the_worked_call_in_the_docstring_is_right() -> None:
    samples = [make() for make in ORDINARY.values()]
    samples += [random_program(random.Random(seed)) for seed in range(8)]
    for place, program in enumerate(samples):
        result = doctest.testmod(module_of(emitted(program)))
        assert result.attempted == 1, place
        assert result.failed == 0, place


@pytest.mark.large
def test_the_same_data_give_the_same_bytes_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data.csv"
    lines = ["region,x,y"]
    lines += [f"r{n % 17},{n % 5},{'abc'[(n * n + n // 3) % 3]}" for n in range(120)]
    data.write_text("\n".join(lines))
    folders = []
    for seed in ("0", "1", "271828"):
        folder = tmp_path / seed
        subprocess.run(
            [
                *(sys.executable, "-m", "treecompile", "build", data, "--target", "y"),
                *(
                    "--algorithm",
                    "cart",
                    "--prune",
                    "none",
                    "--out",
                    folder,
                    "--no-verify",
                    "-q",
                ),
            ],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        folders.append({p.name: p.read_bytes() for p in folder.iterdir()})
    assert b" in {" in folders[0]["predict.py"]
    assert folders[0] == folders[1] == folders[2]
    for content in folders[0].values():
        assert str(tmp_path).encode() not in content


@pytest.mark.library
def test_mypy_and_ruff_find_nothing_in_it(tmp_path: Path) -> None:
    programs = [ORDINARY[name]() for name in ("every type", "numbers")]
    alone = pd.DataFrame({"x": [1.5, 2.5], "y": [0.5, 0.5]})
    programs.append(treecompile.learn(alone, target="y").program)  # it tests nothing
    made = [emitted(replace(program, training=None)) for program in programs]
    for seed in range(12):
        forest = ForestProgram("y", "random", random_forest(random.Random(seed)))
        made.append(emit(forest, "python").text)
    for place, text in enumerate(made):
        (tmp_path / f"predict_{place}.py").write_text(text)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "."),
            *("--cache-dir", os.devnull, "--config-file", os.devnull),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "check", "--isolated", "."),
            *("--select=E,F,W,I,UP", "--ignore=E501", "--target-version=py39"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
