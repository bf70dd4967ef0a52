"""Text for dbt: what its Jinja and its YAML reader make of it is the original text."""

from __future__ import annotations

from contextlib import closing
from random import Random

import duckdb
import pytest
import yaml
from jinja2 import Environment

from tests.support.forests import stump as forest_of
from tests.support.samples import chain, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.model.errors import OptionError
from treecompile.model.ir import (
    Condition,
    Feature,
    ForestProgram,
    Kind,
    Op,
    ValueType,
)
from treecompile.model.semantics import predict

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


def test_all_outputs_are_rendered_back() -> None:
    texts = ("{{ x }}", "{% y %}", "z")
    feature = Feature("x", Kind.CATEGORICAL, ValueType.STR, texts)
    tests = tuple(Condition(0, Op.IN, (text,), False) for text in texts[:2])
    program = chain((feature,), tests, ("a", "b", "c"))
    options = EmitOptions(
        dialect="duckdb", form="dbt", table="rows", output="label,rule", comments=False
    )
    made = Environment().from_string(emit(program, "sql", options).text)
    query = made.render(ref=lambda name: name)
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE rows (x VARCHAR)")
        rows = [(text,) for text in (*texts, None)]
        connection.executemany("INSERT INTO rows VALUES (?)", rows)
        found = connection.execute(query).fetchall()
    assert [row[1] for row in found] == [predict(program.body, row) for row in rows]


def test_the_stages_of_a_forest_are_rendered_back() -> None:
    feature = Feature("x", Kind.CATEGORICAL, ValueType.STR, ("{{ x }}", "{% y %}"))
    test = Condition(0, Op.IN, ("{{ x }}",), False)
    forest = forest_of(feature, test, (1.0, -1.0), ("{{ no }}", "yes"))
    options = EmitOptions(dialect="duckdb", form="dbt", table="rows", comments=False)
    text = emit(ForestProgram("y", "a stump", forest), "sql", options).text
    query = Environment().from_string(text).render(ref=lambda name: name)
    assert query.startswith("WITH typed AS (")
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE rows (x VARCHAR)")
        rows = [("{{ x }}",), ("{% y %}",), (None,)]
        connection.executemany("INSERT INTO rows VALUES (?)", rows)
        found = connection.execute(query).fetchall()
    assert [row[1] for row in found] == ["yes", "{{ no }}", "{{ no }}"]


def test_the_names_of_tables_are_those_of_jinja() -> None:
    for table in ("é\U0001f600", 'a"b', "a\\b", "a}}b"):
        call = dbt.reference(f"s.{table}")
        found = Environment().from_string(call).render(source=lambda *names: names[1])
        assert found == table
