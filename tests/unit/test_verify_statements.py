"""How `verify` reads the SQL of an artefact: tokens, forms, names, dbt."""

from __future__ import annotations

import pytest

from treecompile.verify.statements import RefusedError, SqlForm, from_dbt, sql_form

FORMS = {
    "a + 1": SqlForm("a + 1"),
    "a + 1 ;; -- end": SqlForm("a + 1"),
    "/* x */ f(a) -- /* y": SqlForm("/* x */ f(a)"),
    "a IS DISTINCT FROM b": SqlForm("a IS DISTINCT FROM b"),
    "(SELECT 1 FROM t, u)": SqlForm("(SELECT 1 FROM t, u)"),
    "select 1 from t;": SqlForm("select 1 from t", "t"),
    "SELECT 1 FROM t AS_": SqlForm("SELECT 1 FROM t AS_", "t"),
    'SELECT 1 FROM shop . "a.b" o': SqlForm(
        'SELECT 1 FROM shop . "a.b" o', 'shop . "a.b"', "shop . "
    ),
    "SELECT 1 FROM a.`b`.c": SqlForm("SELECT 1 FROM a.`b`.c", "a.`b`.c", "a.`b`."),
    "SELECT a IS DISTINCT FROM b FROM t": SqlForm(
        "SELECT a IS DISTINCT FROM b FROM t", "t"
    ),
    "SELECT (SELECT 1 FROM u) FROM t": SqlForm("SELECT (SELECT 1 FROM u) FROM t", "t"),
    "CREATE VIEW v.w AS SELECT 1 FROM s.t": SqlForm(
        "CREATE VIEW v.w AS SELECT 1 FROM s.t", "s.t", "s.", view="v.w"
    ),
}


@pytest.mark.parametrize("text", FORMS)
def test_the_form_of_a_text(text: str) -> None:
    assert sql_form(text, "duckdb") == FORMS[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no SQL"),
        ("; -- nothing", "no SQL"),
        ("SELECT 1", "no FROM"),
        ("SELECT 1 FROM 'x'", "expected the name of a table"),
        ("SELECT 1 FROM", "expected the name"),
        ("CREATE VIEW 7", "expected the name"),
        ("a; b", "more than one statement"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        sql_form(text, "duckdb")


def test_where_a_backslash_escapes() -> None:
    assert sql_form(r"'\' ; -- '", "sqlite").text == r"'\'"
    assert sql_form(r"'\' ; -- '", "clickhouse").text == r"'\' ; -- '"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ('SELECT 1 FROM {{ ref("orders") }}', "SELECT 1 FROM orders"),
        ('{{ ref("orders") }} o\n', "orders o\n"),
        ('FROM {{ ref("X") }}', "FROM X"),
        ('FROM {{ ref("X") }}\n)\nSELECT 1 FROM a', "FROM X\n)\nSELECT 1 FROM a"),
        ('FROM {{ ref("X") }} b c', 'FROM {{ ref("X") }} b c'),
        ('FROM {{ source("shop", "orders") }} o', "FROM shop.orders o"),
        ('{{ source("a", "b") }} {{ ref("c") }}', '{{ source("a", "b") }} c'),
        ('{{ ref("c") }} {{ source("a", "b") }}', '{{ ref("c") }} a.b'),
        ("SELECT 1 FROM t", "SELECT 1 FROM t"),
        ('{{ ref("a") }} b c', '{{ ref("a") }} b c'),
    ],
)
def test_the_sql_that_dbt_makes(text: str, sql: str) -> None:
    assert from_dbt(text) == sql


STEPS = "WITH a AS (SELECT *, 1 AS c FROM {}), b AS (SELECT * FROM a) SELECT * FROM b"


@pytest.mark.parametrize(
    ("text", "table"),
    [
        (STEPS.format("t"), "t"),
        (STEPS.format('shop."T" x'), 'shop."T"'),
        (f"CREATE VIEW v AS {STEPS.format('t')};", "t"),
        ("WITH a AS (SELECT 1 FROM A) SELECT 1 FROM t", "t"),
        ("SELECT t.* FROM t CROSS JOIN LATERAL (SELECT 1 AS c) AS d", "t"),
        ("SELECT x.* FROM s.t x CROSS JOIN LATERAL (SELECT 1 AS c) AS d;", "s.t"),
    ],
)
def test_the_table_that_the_first_step_reads(text: str, table: str) -> None:
    assert sql_form(text, "duckdb").table == table


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT 1) SELECT 1 FROM a",
        "WITH a AS (SELECT 1 FROM (SELECT 2)) SELECT 1 FROM a",
    ],
)
def test_a_query_that_reads_no_table_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="no step of the query reads a table"):
        sql_form(text, "duckdb")
