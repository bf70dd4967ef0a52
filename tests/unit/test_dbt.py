"""Text for dbt: what its Jinja and its YAML reader make of it is the original text."""

from __future__ import annotations

from contextlib import closing
from random import Random

import duckdb
import pytest
import yaml
from jinja2 import Environment

from tests.support.samples import chain, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.model.ir import (
    Condition,
    Feature,
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
    columns = [dbt.Described("prediction", "said: {{ x }}", values=[label])]
    made = dbt.Properties("m\U0001f600", "of {% y %}", columns)
    text = dbt.properties(made)
    assert text.isascii()
    ((model,),) = [yaml.safe_load(text)["models"]]
    assert model["name"] == "m\U0001f600"
    assert dbt.rendered(model["description"]) == "of {% y %}"
    (column,) = model["columns"]
    assert dbt.rendered(column["description"]) == "said: {{ x }}"
    tests = column["data_tests"]
    assert tests[1]["accepted_values"]["arguments"]["values"] == [label]


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


def test_the_names_of_tables_are_those_of_jinja() -> None:
    for table in ("é\U0001f600", 'a"b', "a\\b", "a}}b"):
        call = dbt.reference(f"s.{table}")
        found = Environment().from_string(call).render(source=lambda *names: names[1])
        assert found == table
