"""The forms of SQL: the first line, dbt models, options, layout."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import chain, every_type, stump
from treecompile.emit import header
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.outputs import asked_outputs
from treecompile.model.errors import OptionError
from treecompile.model.file.write import sha256
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
    found = header.read(first)
    assert found is not None
    assert (found.target, found.sha256) == ("sql", sha256(every_type()))
    assert EmitOptions(**found.options) == options
    assert (
        "treecompile" not in emit(every_type(), "sql", EmitOptions(comments=False)).text
    )


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
    for dialect, is_quoted in (("tsql", True), ("duckdb", False)):
        options = EmitOptions(dialect=dialect, form="dbt", table="t", output="rule")
        made = emit(stump(0.5), "sql", options)
        assert ("AS [rule]" in made.text) == is_quoted
        assert ("        quote: true\n" in made.beside) == is_quoted
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


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"output": "labels"}, "^output='labels'"),
        ({"output": "label,rule"}, "several outputs need form=select, view or dbt"),
        (
            {"output": "rule, rule", "form": "select", "table": "t"},
            "^output='rule, rule': an output is given twice",
        ),
        ({"label": "low"}, "^label needs output=probability"),
        (
            {"label": "mid", "output": "probability"},
            "^label='mid' is not a label: expected one of low, high",
        ),
        ({"form": "table"}, "^form='table'"),
        ({"form": "select"}, "^form=select needs a table to read: add table=NAME"),
        ({"form": "view", "table": "a..b"}, r"^table='a\.\.b': expected NAME or"),
        ({"form": "view", "table": "t", "name": "a."}, r"^name='a\.': expected"),
    ],
)
def test_options_that_make_no_sense_are_named(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        emit(stump(0.5), "sql", EmitOptions(**options))


@pytest.mark.parametrize("labels", [(1, 2), (False, True), (0.5, 1.5), ("a", "b")])
def test_the_probability_of_a_label_by_its_text(labels: tuple[Label, ...]) -> None:
    made = chain((X,), (Condition(0, Op.LE, 0.0, False),), labels)
    shown = {False: "false", True: "true"} if labels[1] is True else {}
    for place, label in enumerate(labels):
        text = shown.get(label, str(label))  # type: ignore[call-overload]
        options = EmitOptions(output="probability", label=text)
        asked = asked_outputs(made.body, options)
        assert [each.label for each in asked] == [place]
