"""Text for dbt: what its Jinja and its YAML reader make of it is the original text."""

from __future__ import annotations

import re
from contextlib import closing
from random import Random
from typing import Any

import duckdb
import pytest
import yaml
from jinja2 import Environment

from tests.support.samples import balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.model.errors import OptionError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Program,
    ValueType,
)
from treecompile.model.semantics import is_missing, predict
from treecompile.verify.dbt_tests import unit_tests

PIECES = ["{", "}", "%", "#", "\r", "\n", "\r\n", '"', "\\", "\\r", " ", "a", '{{ "']
TEXTS = ["", '{{ "\\r" }}', '{{ "{" }}', "{\r", "{{\r", "{\r{", "\U0001f600{{ x }}"]


@pytest.mark.parametrize("seed", range(20))
def test_jinja_and_verify_give_the_text_back(seed: int) -> None:
    random = Random(seed)
    jinja = Environment(keep_trailing_newline=True)
    made = ("".join(random.choices(PIECES, k=random.randrange(12))) for _ in range(200))
    for text in (*TEXTS, *made):
        escaped = dbt.escaped(text)
        assert jinja.from_string(escaped).render() == text
        assert dbt.rendered(escaped) == text


@pytest.mark.parametrize(
    "label",
    [
        *("'yes'", "'no'", "TRUE", "1", "null", "2020-01-01", "1e3", "", "~", "a: b"),
        *("'\U0001f600'", "é", "\x85\x7f\u2028\ufeff\xa0", "\t\n\0", "'a" + " b" * 99),
    ],
)
def test_labels_are_read_back_as_text(label: str) -> None:
    columns = [dbt.Column("prediction", "said: {{ x }}", values=[label])]
    text = dbt.properties("m\U0001f600", "of {% y %}", columns)
    assert text.isascii()
    ((model,),) = [yaml.safe_load(text)["models"]]
    assert model["name"] == "m\U0001f600"
    assert dbt.rendered(model["description"]) == "of {% y %}"
    (column,) = model["columns"]
    assert dbt.rendered(column["description"]) == "said: {{ x }}"
    tests = column["data_tests"]
    assert tests[1]["accepted_values"]["arguments"]["values"] == [label]


@pytest.mark.parametrize("text", ["", "a", "a\n\nb", "a " * 200, "\n", '"', "XX"])
def test_a_text_is_on_one_line_in_quotes(text: str) -> None:
    written = dbt.scalar(text)
    assert (written[0], written[-1]) == ('"', '"')
    assert "\n" not in written
    assert yaml.safe_load(written) == text


def test_ordinary_properties_look_as_ever() -> None:
    columns = [
        dbt.Column("prediction", "The answer", values=["'a'", "'b'"]),
        dbt.Column("Rule", "The rule", quote=True),
    ]
    assert dbt.properties("m", "A model", columns) == ("""\
version: 2

models:
  - name: "m"
    description: "A model"
    columns:
      - name: "prediction"
        description: "The answer"
        data_tests:
          - not_null
          - accepted_values:
              arguments:
                values: ["'a'", "'b'"]
                quote: false
      - name: "Rule"
        description: "The rule"
        quote: true
        data_tests:
          - not_null
""")


# ---------------------------------------------------------------- unit tests


def unit_test_of(program: Program, **options: Any) -> dict[str, Any]:
    asked = EmitOptions(dialect="duckdb", form="dbt", table="raw.rows", **options)
    (found,) = yaml.safe_load(unit_tests(program, asked))["unit_tests"]
    return found  # type: ignore[no-any-return]


def test_a_unit_test_has_rows_and_the_answers_of_the_model() -> None:
    program = every_type()
    found = unit_test_of(program, name="m", output="label,rule")
    assert (found["name"], found["model"]) == ("m_answers", "m")
    (given,) = found["given"]
    assert given["input"] == "source('raw', 'rows')"
    rows = given["rows"].rstrip("\n").split(" UNION ALL\n")
    answers = found["expect"]["rows"]
    assert 20 < len(rows) == len(answers) <= 40
    rules = {f"R{n}" for n in range(1, 7)}
    assert {answer["rule"] for answer in answers} == rules
    assert "NULL" in given["rows"]
    assert "NULL" not in rows[0]
    with closing(duckdb.connect()) as connection:
        for place, (row, answer) in enumerate(zip(rows, answers, strict=True), start=1):
            number, *values = connection.execute(row).fetchone()  # type: ignore[misc]
            assert number == answer["tc_case"] == place
            assert predict(program.body, tuple(values)) == answer["prediction"]


def test_unit_tests_of_other_models() -> None:
    upper = unit_test_of(stump(0.5), identifiers="upper")
    assert {*upper["expect"]["rows"][0]} == {"TC_CASE", "PREDICTION"}
    assert " AS X" in upper["given"][0]["rows"]
    whole = unit_test_of(stump(40.5), types={"x": "integer"})
    rows = whole["given"][0]["rows"].splitlines()
    assert any(", 40 AS x" in row for row in rows)
    assert any(", 41 AS x" in row for row in rows)
    assert not any("." in row for row in rows)
    numbers = unit_test_of(balanced(2))
    assert all(isinstance(r["prediction"], float) for r in numbers["expect"]["rows"])
    options = EmitOptions(dialect="oracle", form="dbt", table="t")
    assert unit_tests(stump(0.5), options) == ""


WHOLE = """
unit_tests:
  - name: "predictions_answers"
    description: Rows at the edges of the model, and its answers
    model: "predictions"
    given:
      - input: source('raw', 'rows')
        format: sql
        rows: |
          SELECT 1 AS tc_case, 0.5000000000000001e0 AS x UNION ALL
          SELECT 2 AS tc_case, 0.49999999999999994e0 AS x UNION ALL
          SELECT 3 AS tc_case, 0.5e0 AS x UNION ALL
          SELECT 4 AS tc_case, NULL AS x
    expect:
      rows:
        - {"tc_case": 1, "prediction": "high"}
        - {"tc_case": 2, "prediction": "low"}
        - {"tc_case": 3, "prediction": "low"}
        - {"tc_case": 4, "prediction": "high"}
"""


def test_a_whole_unit_test() -> None:
    options = EmitOptions(dialect="duckdb", form="dbt", table="raw.rows")
    assert unit_tests(stump(0.5), options) == WHOLE


def test_answers_of_every_type_are_read_back() -> None:
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, 0.5, missing=True)
    pairs: list[tuple[Label, Label]] = [
        (True, False),
        ("True", "1"),
        (1, 2),
        (0.5, 1.5),
    ]
    for labels in pairs:
        rows = unit_test_of(chain((x,), (test,), labels))["expect"]["rows"]
        found = {row["prediction"] for row in rows}
        assert found == {*labels}
        assert {*map(type, found)} == {type(labels[0])}


def test_the_first_rows_have_the_fewest_nulls() -> None:
    """Also where the first row of a rule is one with a missing value."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "abc")
    tests = tuple(is_missing(place, each) for place, each in enumerate(features))
    found = unit_test_of(chain(features, tests, ("no a", "no b", "no c", "all")))
    nulls = [row.count("NULL") for row in found["given"][0]["rows"].splitlines()]
    assert nulls == sorted(nulls)
    assert (nulls[0], nulls[-1]) == (0, 3)


def test_rows_that_the_database_cannot_hold_are_left_out() -> None:
    least = 2.0**-1022  # below it, SQL Server has no numbers
    options = EmitOptions(dialect="tsql", form="dbt", table="t")
    (found,) = yaml.safe_load(unit_tests(stump(least), options))["unit_tests"]
    assert {row["prediction"] for row in found["expect"]["rows"]} == {"low", "high"}
    assert "2.225073858507201e-308" not in found["given"][0]["rows"]
    whole = unit_test_of(stump(2.0**63 - 1024), types={"x": "integer"})
    rows = whole["given"][0]["rows"]
    values = re.findall(r", (\S+) AS x", rows)
    assert len(values) == len(rows.splitlines())
    assert {"NULL", str(2**63 - 1024)} < {*values}
    assert all(value == "NULL" or abs(int(value)) < 2**63 for value in values)


def test_many_rows_that_are_left_out_leave_room_for_the_others() -> None:
    texts = (*(f"{{{n}}}" for n in range(200)), "a{", "b}", "plain")
    feature = Feature("x", Kind.CATEGORICAL, ValueType.STR, texts)
    test = Condition(0, Op.IN, ("plain", "{1}"), missing=False)
    found = unit_test_of(chain((feature,), (test,), ("yes", "no")))
    rows = found["given"][0]["rows"]
    assert not {"{", "}"} & {*rows}
    assert all(text in rows for text in ("'plain' AS", "'PLAIN' AS", "NULL AS"))
    assert {row["prediction"] for row in found["expect"]["rows"]} == {"yes", "no"}


def test_rows_that_jinja_or_yaml_would_change_are_left_out() -> None:
    texts = ("{{ x }}", "a\nb", "plain")
    feature = Feature("x", Kind.CATEGORICAL, ValueType.STR, texts)
    tests = tuple(Condition(0, Op.IN, (text,), False) for text in texts)
    found = unit_test_of(chain((feature,), tests, ("{{ a }}", "b", "c", "d")))
    text = found["given"][0]["rows"]
    assert "'plain'" in text
    assert "{" not in text
    assert {row["prediction"] for row in found["expect"]["rows"]} == {"c", "d"}
    labels = chain((feature,), tests[2:], ("{{ a }}", "{{ b }}"))
    options = EmitOptions(dialect="duckdb", form="dbt", table="t")
    assert unit_tests(labels, options) == ""


@pytest.mark.parametrize("table", ["a.", ".a", "a.b.c", ""])
def test_a_table_is_a_model_or_a_table_of_a_source(table: str) -> None:
    with pytest.raises(OptionError, match=r"expected the name of a model or SOURCE"):
        dbt.reference(table)


def test_the_probability_is_that_of_a_label() -> None:
    for label, said in (("", "the predicted label"), ("high", "high")):
        options = EmitOptions(form="dbt", table="t", output="probability", label=label)
        beside = yaml.safe_load(emit(stump(0.5), "sql", options).beside)
        (column,) = beside["models"][0]["columns"]
        assert column["description"] == f"The probability of {said}"


def test_steps_are_rendered_back_too() -> None:
    """The text of the first steps is within Jinja as well."""
    texts = ("{{ x }}", "{% y %}", "z")
    feature = Feature("x", Kind.CATEGORICAL, ValueType.STR, texts)
    tests = tuple(Condition(0, Op.IN, (text,), False) for text in texts[:2])
    program = chain((feature,), tests, ("a", "b", "c"))
    options = EmitOptions(
        dialect="duckdb", form="dbt", table="rows", output="label,rule", comments=False
    )
    made = Environment().from_string(emit(program, "sql", options).text)
    query = made.render(ref=lambda name: name)
    assert query.startswith("WITH decided AS (")
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE rows (x VARCHAR)")
        rows = [(text,) for text in (*texts, None)]
        connection.executemany("INSERT INTO rows VALUES (?)", rows)
        found = connection.execute(query).fetchall()
    assert [row[1] for row in found] == [predict(program.body, row) for row in rows]


def test_the_names_of_tables_are_those_of_jinja() -> None:
    for table in ("é\U0001f600", 'a"b', "a\\b", "a}}b"):
        call = dbt.reference(f"s.{table}")
        found = Environment().from_string(call).render(source=lambda *names: names[1])
        assert found == table
