"""The forms of SQL: the first line, dbt models, functions, options, layout."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from tests.support.dialects import SQLITE
from tests.support.samples import chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql import forms
from treecompile.emit.sql.dialect import Functions
from treecompile.emit.sql.forms import Steps
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Program,
    ValueType,
)

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


# ---------------------------------------------------------------- the first line


def test_the_first_line_names_dialect_outputs_and_model() -> None:
    options = EmitOptions(
        dialect="duckdb", form="select", table="t", output="rule, probability, label"
    )
    first = emit(every_type(), "sql", options).text.splitlines()[0]
    assert ", dialect duckdb, output rule, probability, label, model " in first
    of_one = EmitOptions(output="probability", label="code")
    assert ", output probability 2, model " in emit(every_type(), "sql", of_one).text
    assert (
        "treecompile" not in emit(every_type(), "sql", EmitOptions(comments=False)).text
    )


def test_comments_say_which_rule_decides() -> None:
    text = emit(every_type(), "sql").text
    assert "'number' /* R1: 3 of 4 cases */" in text
    plain = emit(every_type(), "sql", EmitOptions(comments=False)).text
    assert "/*" not in plain


# ---------------------------------------------------------------- dbt


def dbt(made: Program, **options: str) -> tuple[str, str]:
    found = emit(made, "sql", EmitOptions(dialect="duckdb", form="dbt", **options))  # type: ignore[arg-type]
    return found.text, found.beside


def test_a_dbt_model_has_its_columns_and_tests_beside_it() -> None:
    text, beside = dbt(stump(0.5), table="rows", output="label,rule", name="answers")
    assert 'FROM {{ ref("rows") }}' in text
    assert beside.splitlines() == [
        "version: 2",
        "",
        "models:",
        '  - name: "answers"',
        '    description: "Predictions of answer, written by treecompile"',
        "    columns:",
        '      - name: "prediction"',
        '        description: "The predicted answer"',
        "        data_tests:",
        "          - not_null",
        "          - accepted_values:",
        "              arguments:",
        """                values: ["'low'", "'high'"]""",
        "                quote: false",
        '      - name: "rule"',
        '        description: "The rule of the model that decided"',
        "        data_tests:",
        "          - not_null",
    ]
    assert beside.endswith("not_null\n")
    _, unnamed = dbt(stump(0.5), table="rows")
    assert '  - name: "predictions"' in unnamed
    assert emit(stump(0.5), "sql").beside == ""


def test_columns_are_quoted_in_both_files_or_in_none() -> None:
    text, beside = dbt(stump(0.5), table="rows", identifiers="quoted")
    assert 'AS "prediction"' in text
    assert "        quote: true\n" in beside
    text, beside = dbt(stump(0.5), table="rows", identifiers="upper")
    assert "AS PREDICTION\n" in text
    assert '- name: "PREDICTION"\n' in beside
    assert "quote: true" not in beside
    asked = {"output": "probability", "label": "high"}
    _, beside = dbt(stump(0.5), table="rows", **asked)
    assert 'description: "The probability of high"' in beside


def test_the_table_of_a_dbt_model() -> None:
    assert '{{ source("raw", "rows") }}' in dbt(stump(0.5), table="raw.rows")[0]
    with pytest.raises(OptionError, match="the name of a model or SOURCE.TABLE"):
        dbt(stump(0.5), table="a.b.c")


def test_labels_that_dbt_would_take_for_templates() -> None:
    labels: tuple[Label, ...] = ("{{ a }}", "{% b %}", "{# c #}", "{d}")
    tests = tuple(Condition(0, Op.LE, float(n), False) for n in range(3))
    text, beside = dbt(chain((X,), tests, labels), table="rows")
    for said in (text, beside):
        plain = said.replace('{{ "{" }}', "{").replace('{{ \\"{\\" }}', "{")
        assert all(f"'{label}'" in plain for label in labels)
        for opening in ("{{ a", "{%", "{#"):
            assert opening not in said
        assert "{d}" in said


# ---------------------------------------------------------------- functions


def test_a_function_has_a_parameter_for_each_column_that_is_read() -> None:
    unread = Feature("unread", Kind.NUMERIC, ValueType.FLOAT)
    made = chain((unread, X), (Condition(1, Op.LE, 2.0, False),), ("low", "high"))
    options = EmitOptions(dialect="duckdb", form="function", name="decide")
    with closing(duckdb.connect()) as connection:
        connection.execute(emit(made, "sql", options).text)
        found = connection.execute("SELECT decide(2.0), decide(2.5)").fetchone()
    assert found == ("low", "high")


PARAMETER = ("name", "identifier", "number", "type")
FUNCTIONS = Functions(
    create=Phrase(
        "{name}({parameters}) -> {type}, {variable}: {expression}",
        ("name", "parameters", "type", "variable", "expression"),
    ),
    parameter=Phrase("{name} {identifier} {number} {type}", PARAMETER),
    reference=Phrase("#{number}", PARAMETER),
    text_reference=Phrase("@{identifier}", PARAMETER),
    text="T",
    integer="I",
    boolean="B",
    text_variable="V",
)


def test_every_part_of_a_function_has_its_place() -> None:
    body = every_type().body
    dialect = replace(SQLITE, functions=FUNCTIONS)
    options = EmitOptions(form="function", columns={"number": "the number"})
    references = forms.references(body, dialect, options)
    assert references == {0: "#1", 1: "@text", 2: "#3", 3: "#4", 4: "@grade"}

    def statement(**more: str) -> str:
        asked = replace(options, **more)  # type: ignore[arg-type]
        made = Steps({"prediction": ["one", "two"]})
        return "\n".join(forms.statement(made, body, dialect, asked))

    declared = (
        "`the number` number 1 REAL, text text 2 T, code code 3 I,"
        " flag flag 4 B, grade grade 5 T"
    )
    assert statement() == f"predict({declared}) -> T, V: one\ntwo"
    assert statement(name="f", output=" rule ").startswith("f(")
    assert statement(output=" rule ").endswith("-> T, V: one\ntwo")
    assert statement(output="probability").endswith("-> REAL, REAL: one\ntwo")
    none = replace(FUNCTIONS, text="", text_reference=Phrase("", ()))
    plain = replace(SQLITE, functions=none)
    assert forms.references(body, plain, options)[1] == "#2"
    assert (
        "grade 5 TEXT" in forms.statement(Steps({"p": [""]}), body, plain, options)[0]
    )


@pytest.mark.parametrize(
    ("dialect", "output", "declared"),
    [
        ("postgres", "label", "RETURNS text"),
        ("postgres", "probability", "RETURNS double precision"),
        ("postgres", "rule", "RETURNS text"),
    ],
)
def test_a_function_declares_the_type_of_its_answer(
    dialect: str, output: str, declared: str
) -> None:
    options = EmitOptions(dialect=dialect, form="function", output=output)
    assert declared.casefold() in emit(stump(0.5), "sql", options).text.casefold()


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"output": "labels"}, "^--output 'labels'"),
        ({"output": "label,rule"}, "several outputs need --as select, view or dbt"),
        (
            {"output": "rule, rule", "form": "select", "table": "t"},
            "^--output 'rule, rule': an output is given twice",
        ),
        ({"label": "low"}, "^--label needs --output probability"),
        (
            {"label": "mid", "output": "probability"},
            "^--label 'mid' is not a label: expected one of low, high",
        ),
        ({"form": "table"}, "^--as 'table'"),
        ({"form": "select"}, "^--as select needs a table to read: add --table NAME"),
        (
            {"form": "function", "alias": "a", "dialect": "duckdb"},
            "^--alias is for a query, and a function reads no table",
        ),
        ({"form": "view", "table": "a..b"}, r"^--table 'a\.\.b': expected NAME or"),
        ({"form": "view", "table": "t", "name": "a."}, r"^--name 'a\.': expected"),
        ({"form": "view", "table": "t", "alias": ".a"}, r"^--alias '\.a': expected"),
    ],
)
def test_options_that_make_no_sense_are_named(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        emit(stump(0.5), "sql", EmitOptions(**options))


def test_sqlite_has_no_functions() -> None:
    with pytest.raises(TargetError, match="^SQLite has no functions written in SQL"):
        emit(stump(0.5), "sql", EmitOptions(form="function"))


@pytest.mark.parametrize("labels", [(1, 2), (False, True), (0.5, 1.5), ("a", "b")])
def test_the_probability_of_a_label_by_its_text(labels: tuple[Label, ...]) -> None:
    made = chain((X,), (Condition(0, Op.LE, 0.0, False),), labels)
    shown = {False: "false", True: "true"} if labels[1] is True else {}
    for place, label in enumerate(labels):
        text = shown.get(label, str(label))  # type: ignore[call-overload]
        options = EmitOptions(output="probability", label=text)
        assert f", output probability {place}, " in emit(made, "sql", options).text


def test_text_that_would_end_a_function_is_refused() -> None:
    made = chain((X,), (Condition(0, Op.LE, 0.0, False),), ("a$$b", "c"))
    options = EmitOptions(dialect="snowflake", form="function")
    with pytest.raises(TargetError, match=r"contains '\$\$', which ends a function in"):
        emit(made, "sql", options)
    assert emit(made, "sql", EmitOptions(dialect="snowflake")).text


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_alias_stands_before_every_column(engine: str) -> None:
    table = "x DOUBLE, y DOUBLE"
    options: dict[str, Any] = {"dialect": engine, "form": "select"}
    options |= {"table": "main.t", "alias": "a b"}
    text = emit(stump(0.5), "sql", EmitOptions(output="label,rule", **options)).text
    with closing(connected(engine)) as connection:
        connection.execute(f"CREATE TABLE t ({table})")
        connection.execute("INSERT INTO t VALUES (0.5, 7), (1, 8)")
        found = connection.execute(text)
        names = [column[0] for column in found.description]
        assert names == ["x", "y", "prediction", "rule"]
        rows = sorted(found.fetchall())
    assert rows == [(0.5, 7.0, "low", "R1"), (1.0, 8.0, "high", "R2")]


def connected(engine: str) -> Any:
    return sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect()


def test_the_layout_of_a_query_and_of_a_view() -> None:
    def text(**options: Any) -> str:
        return emit(stump(0.5), "sql", EmitOptions(comments=False, **options)).text

    assert text(form="select", table="s.t") == """\
SELECT
  *,
  CASE
    WHEN x <= CAST(0.5 AS REAL) THEN 'low'
    ELSE 'high'
  END AS prediction
FROM s.t;
"""
    assert text(form="view", table="t", alias="a") == """\
CREATE VIEW predictions AS
SELECT
  a.*,
  CASE
    WHEN a.x <= CAST(0.5 AS REAL) THEN 'low'
    ELSE 'high'
  END AS prediction
FROM t a;
"""
    oracle = text(dialect="oracle", form="select", table="t")
    assert oracle.startswith("SELECT\n  t.*,\n")
    both = text(form="select", table="t", output="rule,label")
    assert "  END AS rule,\n  CASE\n" in both
    assert both.endswith("  END AS prediction\nFROM t;\n")
