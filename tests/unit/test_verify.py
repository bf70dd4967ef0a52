"""`verify`: its rows reach every cell, and it lets no broken artefact pass."""

from __future__ import annotations

from dataclasses import replace
from math import nextafter
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.samples import TENNIS, numeric
from treecompile import __version__
from treecompile.cli import json_reports
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import EngineError, OptionError, TreecompileError
from treecompile.model.ir import Program
from treecompile.verify.verification import verify

# ---------------------------------------------------------------- mutants


def tennis() -> Program:
    return treecompile.learn(TENNIS, target="play").program


MODELS = {"tennis": tennis, "numeric": numeric}
# By model and target: a piece of the text, and what is put in its place.
PLANTED: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("numeric", "python"): [
        *(("x <= 0.1", f"x <= {n}") for n in (nextafter(0.1, 0), nextafter(0.1, 1))),
        *(("x <= 0.1", new) for new in ("x < 0.1", "not x > 0.1")),
        *(("not y > 2.5", new) for new in ("y <= 2.5", "not y >= 2.5", "y > 2.5")),
        # The last constants are in every module: in the shares, the version, the code.
        *(
            (
                "    if x <= 0.1",
                f"    if x == {n}:\n        x = {float(n < 0)}\n{{old}}",
            )
            for n in (13.0, -13, 1.0, 0.75, 2.5)
        ),
        ('"R1": (0.75, 0.25', '"R1": (0.25, 0.75'),
        ("[predict(row) for row in rows]", "['low' for row in rows]"),
        ("RULES[decide(*[row[n] for n in FEATURES])[1]]", 'RULES["R1"]'),
    ],
    ("tennis", "python"): [
        ('return "yes", "R3"', 'return "no", "R3"'),
        ('return "yes", "R3"', 'return "yes", "R1"'),
        ('outlook == "cloudy"', 'outlook == "Cloudy"'),
        ('outlook == "cloudy"', 'outlook in ("cloudy", None)'),
        ('outlook == "cloudy"', 'outlook in ("cloudy", "fog")'),
        ('wind == "strong"', 'wind in ("strong", "sunny")'),
        ('wind == "strong"', 'wind != "weak"'),
        ('wind == "strong"', 'wind != "strong"'),
        ('humidity == "normal"', 'humidity.strip() == "normal"'),
        ("from typing import Any", "{old}\nimport treecompile"),
        ("return [predict(row)", "return [predict(row"),
    ],
    ("numeric", "sql"): [
        *(("0.1 ", f"{n} ") for n in (nextafter(0.1, 0), nextafter(0.1, 1))),
        *((" <= ", " < "), (" > ", " >= "), (" > ", " <= ")),
        (" THEN 'high'", " OR y IS NULL THEN 'high'"),
        *(
            ("CASE\n", f"CASE\n  WHEN {test} THEN 'low'\n")
            for test in ("x = 13", "y = 0.1", "x > 1e300", "x IS NULL")
        ),
        *(("ELSE 'mid'", new) for new in ("ELSE 'Mid'", "ELSE NULL")),
    ],
    ("tennis", "sql"): [
        *(("= 'cloudy'", new) for new in ("= 'cloudy '", "IN ('cloudy', 'fog')")),
        ("= 'strong'", "IN ('strong', 'sunny')"),
        *(("= 'strong'", new) for new in ("<> 'strong'", "<> 'weak'")),
        ("ELSE 'no'", "ELSE 'yes'"),
        ("'cloudy' THEN 'yes'", "'cloudy' THEN 1"),
        ("= 'normal'", ">= 'normal'"),
        ("END", ""),
    ],
}
MUTANTS = [(*where, *each) for where, some in PLANTED.items() for each in some]


@pytest.mark.parametrize(("model", "to", "old", "new"), MUTANTS)
def test_a_mutant_is_caught(model: str, to: str, old: str, new: str) -> None:
    program = MODELS[model]()
    for dialect in ("sqlite", "duckdb") if to == "sql" else ("sqlite",):
        asked = EmitOptions(dialect=dialect)
        text = emit(program, to, asked).text
        assert old in text, text
        broken = text.replace(old, new.replace("{old}", old), 1)
        assert verify(program, text).passed
        report = verify(program, broken)
        assert not report.passed, (dialect, report)
        assert report.mismatches or report.refused


def test_the_other_outputs_are_compared_too() -> None:
    program = numeric()
    for options, old, new in (
        (EmitOptions(output="rule"), "'R2'", "'R3'"),
        (EmitOptions(output="probability"), "0.75", "0.76"),
        (EmitOptions(output="probability", label="mid"), "0.25", "0.75"),
        (EmitOptions(form="select", table="t"), "FROM t", "FROM t LIMIT 3"),
        (EmitOptions(form="view", table="t"), "'mid'", "'low'"),
    ):
        text = emit(program, "sql", options).text
        assert old in text
        assert verify(program, text).passed
        broken = text.replace(old, new, 1)
        try:
            assert not verify(program, broken).passed, options
        except EngineError:
            assert "LIMIT" in new


# ---------------------------------------------------------------- the right is not


def learned(columns: dict[str, list[object]], **options: str) -> treecompile.Model:
    frame = pd.DataFrame({**columns, "y": ["n", "n", "y", "y"]})
    return treecompile.learn(frame, target="y", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "others",
    [
        {"a": [1, 1, 1, 1], "A": [2, 2, 2, 2]},
        {"": [1, 1, 1, 1]},
        {"nul\0": [1, 1, 1, 1]},
    ],
)
def test_columns_that_no_test_reads_do_not_stand_in_the_way(
    dialect: str, others: dict[str, list[object]]
) -> None:
    """The database's table need not have them, so their names do not matter."""
    model = learned({**others, "x": [1, 2, 5, 6]})
    assert model.verify(model.emit("sql", dialect=dialect)).passed


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("code", [2**63 - 1, -(2**63)])
def test_the_greatest_integers_can_be_verified(dialect: str, code: int) -> None:
    model = learned({"x": [code, code, 3, 3]}, categorical="x")
    report = model.verify(model.emit("sql", dialect=dialect))
    assert report.passed, report


def test_a_model_without_a_test_can_be_verified() -> None:
    model = treecompile.learn(TENNIS, target="play", max_depth=0)
    for dialect in ("sqlite", "duckdb"):
        assert model.verify(model.emit("sql", dialect=dialect)).passed
    assert model.verify(model.emit("python")).passed


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(EngineError, match=r"'oracel'.*sqlite"):
        verify(tennis(), emit(tennis(), "sql").text, "oracel")


# ---------------------------------------------------------------- bytes first

# A target, its options, and a piece of its text with another in its place.
ARTEFACTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("python", {}, 'return "high"', 'return "tall"'),
    ("sql", {}, "'high'", "'tall'"),
    (
        *("sql", {"dialect": "duckdb", "output": "probability", "label": "mid"}),
        *("1.0e0", "0.7e0"),
    ),
    (
        *("sql", {"form": "view", "table": 'main."b; */ c"', "output": "label, rule"}),
        *("'high'", "'tall'"),
    ),
    (
        *("sql", {"form": "dbt", "table": "rows", "columns": {"x": "a=b, */ c"}}),
        *("'high'", "'tall'"),
    ),
    ("sql", {"dialect": "snowflake"}, "'high'", "'tall'"),
    ("markdown", {}, "mid", "middle"),
    ("html", {}, "mid", "middle"),
    ("rules", {}, "mid", "middle"),
    ("svg", {}, "mid", "middle"),
]


@pytest.mark.parametrize(("target", "options", "old", "new"), ARTEFACTS)
def test_an_artefact_is_as_emitted_or_edited_since(
    target: str, options: dict[str, Any], old: str, new: str
) -> None:
    program = numeric()
    text = emit(program, target, EmitOptions(**options)).text
    report = verify(program, text, budget=300)
    assert report.passed, report
    assert report.as_emitted
    assert ": as emitted" in report.line()
    assert json_reports.verified("a", report)["as_emitted"] is True
    assert old in text
    edited = verify(program, text.replace(old, new, 1), budget=300)
    assert not edited.passed
    assert not edited.as_emitted
    assert edited.engine == report.engine
    if report.engine:
        assert edited.mismatches or edited.refused
        return
    number = text[: text.index(old)].count("\n") + 1
    assert edited.line().startswith("NOT verified: edited since; ")
    assert edited.refused == f"line {number} is not what the model gives"
    assert (report.rows, edited.rows) == (0, 0)


def test_an_edit_that_changes_no_answer_passes() -> None:
    text = emit(numeric(), "sql").text
    report = verify(numeric(), text.replace("CASE", "CASE /* by hand */", 1))
    assert report.passed
    assert report.as_emitted is False
    assert report.line("a.sql").startswith("verified a.sql on sqlite: edited since; ")


def test_an_artefact_of_another_model_runs_if_it_can() -> None:
    """Another target, but the same answers; then another number of labels."""
    other = replace(numeric(), target="other")
    for target in ("sql", "markdown"):
        report = verify(numeric(), emit(other, target).text)
        assert report.of_another_model
        assert "of another model; " in report.line()
        assert report.passed == (target == "sql")
    text = emit(numeric(), "sql", EmitOptions(output="probability", label="mid")).text
    with pytest.raises(EngineError, match="of another model: label='mid' is not a"):
        verify(tennis(), text)


def test_an_artefact_of_another_version_is_not_called_edited() -> None:
    for target in ("sql", "rules"):
        text = emit(numeric(), target).text.replace(f" {__version__},", " 0.0.7,", 1)
        report = verify(numeric(), text)
        assert report.as_emitted is None
        assert report.passed == (target == "sql")
    assert "written by treecompile 0.0.7: emit it again" in report.line()


# ---------------------------------------------------------------- without comments


def silent(program: Program, **options: str) -> str:
    text = emit(program, "sql", EmitOptions(comments=False, **options)).text  # type: ignore[arg-type]
    assert "/*" not in text
    return text


@pytest.mark.parametrize("form", ["expression", "select", "view", "dbt"])
def test_what_an_artefact_without_comments_gives_is_told(form: str) -> None:
    program = numeric()
    table = "" if form == "expression" else "t"
    label = silent(program, form=form, table=table)
    assert verify(program, label, "sqlite").passed
    for output, named in (("rule", ""), ("probability", ""), ("probability", "mid")):
        text = silent(program, form=form, table=table, output=output, label=named)
        assert not verify(program, text, "sqlite").passed
        assert verify(program, text, "sqlite", output=output, label=named).passed
        assert not verify(program, label, "sqlite", output=output, label=named).passed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "does not name its engine.*one of python, c, go, node, rust, sqlite",
        ),
        ({"engine": "sqlite", "output": "labels"}, "output='labels'.*label, prob"),
        ({"engine": "oracle"}, "'oracle' cannot be run here"),
        ({"engine": "sqlite", "label": "mid"}, "label needs output=prob"),
        ({"engine": "sqlite", "output": "probability", "label": "x"}, "not a label"),
        ({"engine": "python", "output": "rule"}, "output is for SQL"),
    ],
)
def test_what_is_said_of_it_must_make_sense(
    options: dict[str, str], message: str
) -> None:
    program = numeric()
    with pytest.raises(TreecompileError, match=message) as caught:
        verify(program, silent(program), **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_what_is_said_must_not_contradict_the_artefact() -> None:
    program = numeric()
    text = emit(program, "sql", EmitOptions(output="rule")).text
    assert verify(program, text, output="rule").passed
    with pytest.raises(OptionError, match=r"^output='label': the artefact says 'rule'"):
        verify(program, text, output="label")
    with pytest.raises(OptionError, match="^columns={'x': 'z'}: the artefact says {}"):
        verify(program, text, columns={"x": "z"})
