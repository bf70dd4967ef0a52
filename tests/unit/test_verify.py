"""`verify`: its rows reach every cell, and it lets no broken artefact pass."""

from __future__ import annotations

import random
from math import nextafter

import pandas as pd
import pytest

import treecompile
from tests.support.random_models import random_tree
from tests.support.samples import TENNIS, every_type, numeric
from treecompile.cli.reports import verification
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import EngineError, OptionError, TreecompileError
from treecompile.model.ir import Program, Tree, ValueType
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import decider
from treecompile.regions.region import intersect
from treecompile.rules.extract import extract
from treecompile.verify.cells import probe_rows
from treecompile.verify.verification import verify

# ---------------------------------------------------------------- cells


def reachable(tree: Tree) -> set[str]:
    """The leaves on whose path no two conditions contradict each other."""
    found = set()
    for rule in extract(tree).rules:
        by_feature = [
            [c for c in rule.conditions if c.feature == position]
            for position in range(len(tree.features))
        ]
        merged = map(intersect, by_feature, tree.features)
        if all(bounds is not None for bounds in merged):
            found.add(rule.id)
    return found


def entered(tree: Tree, budget: int) -> tuple[set[str], bool]:
    """The leaves that the rows of a trial reach, and whether it is complete."""
    tried = probe_rows(tree, budget=budget)
    ids = rule_ids(tree)
    return {ids[decider(tree, row)] for row in tried.rows}, tried.complete


def test_the_rows_enter_every_leaf_that_can_be_entered() -> None:
    complete = walked = 0
    for seed in range(60):
        tree = random_tree(random.Random(seed), splits=6)
        for budget in (20_000, 500):
            found, whole = entered(tree, budget)
            assert found == reachable(tree), (seed, budget)
            complete += whole
            walked += not whole
    assert complete >= 20
    assert walked >= 20


def test_the_rows_are_the_same_for_the_same_seed_and_within_the_budget() -> None:
    body = every_type().body
    first, again = (probe_rows(body, budget=60, seed=1) for _ in range(2))
    assert repr(first) == repr(again)
    assert repr(first) != repr(probe_rows(body, budget=60, seed=2))
    assert len(first.rows) <= 60
    assert not first.complete


def test_a_complete_trial_stands_on_every_edge() -> None:
    rows = probe_rows(every_type().body).rows
    edges = (
        {2.5, nextafter(2.5, 0), nextafter(2.5, 9), float("inf"), -float("inf"), None},
        {"a", "b", "z", "A", "a ", None},
        {1, 2, 9, None},
        {False, True, None},
        {"low", "mid", "high", None},
    )
    for position, feature in enumerate(every_type().body.features):
        tried = {row[position] for row in rows}
        assert edges[position] <= tried
        if feature.type in (ValueType.STR, ValueType.INT):
            unseen = tried - {*feature.categories, None}
            assert unseen, feature.name


# ---------------------------------------------------------------- mutants


def tennis() -> Program:
    return treecompile.learn(TENNIS, target="play").program


MODELS = {"tennis": tennis, "numeric": numeric}
# A model, a target, a piece of its text and what is put in its place; [x] is quoted as
# the dialect does.
MUTANTS: list[tuple[str, str, str, str]] = [
    # python
    ("numeric", "python", "x <= 0.1", "x <= 0.10000000000000002"),
    ("numeric", "python", "x <= 0.1", "x <= 0.09999999999999999"),
    ("numeric", "python", "x <= 0.1", "x < 0.1"),
    ("numeric", "python", "x <= 0.1", "not x > 0.1"),
    ("numeric", "python", "not y > 2.5", "y <= 2.5"),
    ("numeric", "python", "not y > 2.5", "not y >= 2.5"),
    ("numeric", "python", "not y > 2.5", "y > 2.5"),
    (
        "numeric",
        "python",
        "    if x <= 0.1",
        "    if x == 13.0:\n        x = 0.0\n{old}",
    ),
    (
        "numeric",
        "python",
        "    if x <= 0.1",
        "    if x == -13:\n        x = 1.0\n{old}",
    ),
    # These constants are in every module: in the probabilities, the version, the code.
    (
        "numeric",
        "python",
        "    if x <= 0.1",
        "    if x == 1.0:\n        x = 0.0\n{old}",
    ),
    (
        "numeric",
        "python",
        "    if x <= 0.1",
        "    if x == 0.75:\n        x = 0.0\n{old}",
    ),
    (
        "numeric",
        "python",
        "    if x <= 0.1",
        "    if x == 2.5:\n        x = 0.0\n{old}",
    ),
    ("numeric", "python", '"R1": (0.75, 0.25', '"R1": (0.25, 0.75'),
    ("numeric", "python", "found.append(predict(row))", "found.append('low')"),
    ("numeric", "python", "return RULES[predict(row, True)]", 'return RULES["R1"]'),
    (
        "tennis",
        "python",
        'return "R3" if rule else "yes"',
        'return "R3" if rule else "no"',
    ),
    (
        "tennis",
        "python",
        'return "R3" if rule else "yes"',
        'return "R1" if rule else "yes"',
    ),
    ("tennis", "python", 'outlook == "cloudy"', 'outlook == "Cloudy"'),
    ("tennis", "python", 'outlook == "cloudy"', 'outlook in ("cloudy", None)'),
    ("tennis", "python", 'outlook == "cloudy"', 'outlook in ("cloudy", "fog")'),
    ("tennis", "python", 'wind == "strong"', 'wind in ("strong", "sunny")'),
    ("tennis", "python", 'wind == "strong"', 'wind != "weak"'),
    ("tennis", "python", 'wind == "strong"', 'wind != "strong"'),
    ("tennis", "python", 'humidity == "normal"', 'humidity.strip() == "normal"'),
    ("tennis", "python", "from typing import Any", "{old}\nimport treecompile"),
    (
        "tennis",
        "python",
        "return RULES[predict(row, True)]",
        "return RULES[predict(row, True)",
    ),
    # sql
    ("numeric", "sql", "0.1 ", "0.10000000000000002 "),
    ("numeric", "sql", "0.1 ", "0.09999999999999999 "),
    ("numeric", "sql", " <= ", " < "),
    ("numeric", "sql", " THEN 'high'", " OR y IS NULL THEN 'high'"),
    ("numeric", "sql", " > ", " >= "),
    ("numeric", "sql", " > ", " <= "),
    ("numeric", "sql", "CASE\n", "CASE\n  WHEN x = 13 THEN 'low'\n"),
    ("numeric", "sql", "CASE\n", "CASE\n  WHEN y = 0.1 THEN 'low'\n"),
    ("numeric", "sql", "CASE\n", "CASE\n  WHEN x > 1e300 THEN 'low'\n"),
    ("numeric", "sql", "CASE\n", "CASE\n  WHEN x IS NULL THEN 'low'\n"),
    ("numeric", "sql", "ELSE 'mid'", "ELSE 'Mid'"),
    ("numeric", "sql", "ELSE 'mid'", "ELSE NULL"),
    ("tennis", "sql", "= 'cloudy'", "= 'cloudy '"),
    ("tennis", "sql", "= 'cloudy'", "IN ('cloudy', 'fog')"),
    ("tennis", "sql", "= 'strong'", "IN ('strong', 'sunny')"),
    ("tennis", "sql", "= 'strong'", "<> 'strong'"),
    ("tennis", "sql", "= 'strong'", "<> 'weak'"),
    ("tennis", "sql", "ELSE 'no'", "ELSE 'yes'"),
    ("tennis", "sql", "'cloudy' THEN 'yes'", "'cloudy' THEN 1"),
    ("tennis", "sql", "= 'normal'", ">= 'normal'"),
    ("tennis", "sql", "END", ""),
]


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


def test_swapped_branches_are_caught() -> None:
    program = tennis()
    for to in ("python", "sql"):
        text = emit(program, to).text
        lines = text.splitlines(keepends=True)
        four, five = (
            next(n for n, line in enumerate(lines) if mark in line)
            for mark in (
                ('"R4" if', '"R5" if') if to == "python" else ("/* R4:", "/* R5:")
            )
        )
        if to == "python":
            lines[four], lines[five] = (
                lines[four].replace('"no"', '"yes"'),
                lines[five].replace('"yes"', '"no"'),
            )
        else:
            lines[four] = lines[four].replace("'no'", "'yes'")
            lines[five] = lines[five].replace("'yes'", "'no'")
        assert not verify(program, "".join(lines)).passed


def test_a_collation_that_compares_loosely_is_caught() -> None:
    text = emit(tennis(), "sql").text
    assert not verify(tennis(), text.replace("BINARY", "NOCASE")).passed
    assert not verify(tennis(), text.replace("BINARY", "RTRIM")).passed


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


# ---------------------------------------------------------------- without comments


def silent(program: Program, **options: str) -> str:
    text = emit(program, "sql", EmitOptions(comments=False, **options)).text  # type: ignore[arg-type]
    assert "/*" not in text
    return text


def test_what_an_artefact_without_comments_gives_is_told() -> None:
    program = numeric()
    label = silent(program)
    assert verify(program, label, "sqlite").passed
    for output, named in (("rule", ""), ("probability", ""), ("probability", "mid")):
        text = silent(program, output=output, label=named)
        taken = verify(program, text, "sqlite")
        assert not taken.passed
        assert taken.assumed
        assert "--output" in [*verification("a", taken)][-1]
        told = verify(program, text, "sqlite", output=output, label=named)
        assert told.passed
        assert not told.assumed
        assert not verify(program, label, "sqlite", output=output, label=named).passed


def test_the_columns_of_a_query_say_what_it_gives() -> None:
    program = numeric()
    for form in ("select", "view", "dbt"):
        text = silent(program, form=form, table="t", output="rule,label,probability")
        assert verify(program, text, "sqlite").passed
        text = silent(program, form=form, table="t", output="probability", label="mid")
        assert not verify(program, text, "sqlite").passed
        told = {"output": "probability", "label": "mid"}
        assert verify(program, text, "sqlite", **told).passed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "does not name its engine.*engine, one of python, node, sqlite"),
        ({"engine": "sqlite", "output": "labels"}, "output='labels'.*label, prob"),
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
    with pytest.raises(OptionError, match=r"'label'.*says that it gives rule"):
        verify(program, text, output="label")
