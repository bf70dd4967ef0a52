"""Text for dbt: what its Jinja and its YAML reader make of it is the original text."""

from __future__ import annotations

from random import Random

import pytest
import yaml
from jinja2 import Environment

from treecompile.emit.sql import dbt

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
    text = dbt.properties("m\U0001f600", ["prediction"], "prediction", [label])
    assert text.isascii()
    ((model,),) = [yaml.safe_load(text)["models"]]
    assert model["name"] == "m\U0001f600"
    tests = model["columns"][0]["data_tests"]
    assert tests[1]["accepted_values"]["arguments"]["values"] == [label]


def test_ordinary_properties_look_as_ever() -> None:
    assert dbt.properties(
        "m", ["prediction", "rule"], "prediction", ["'a'", "'b'"]
    ) == (
        """\
version: 2

models:
  - name: "m"
    columns:
      - name: "prediction"
        data_tests:
          - not_null
          - accepted_values:
              arguments:
                values: ["'a'", "'b'"]
                quote: false
      - name: "rule"
        data_tests:
          - not_null
"""
    )


def test_the_names_of_tables_are_those_of_jinja() -> None:
    for table in ("é\U0001f600", 'a"b', "a\\b", "a}}b"):
        call = dbt.reference(f"s.{table}")
        found = Environment().from_string(call).render(source=lambda *names: names[1])
        assert found == table
