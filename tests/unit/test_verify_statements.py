"""How `verify` reads the SQL of an artefact: tokens, forms, names, dbt."""

from __future__ import annotations

import pytest

from treecompile.verify.statements import (
    DEEPEST,
    RefusedError,
    SqlForm,
    Token,
    from_dbt,
    has_backslashes,
    sql_form,
)

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
        ("SELECT 1 FROM 'x'", "expected the name of a table"),
        ("SELECT 1 FROM", "expected the name"),
        ("CREATE VIEW 7", "expected the name"),
        ("SELECT 1 FROM t u v", "must end in FROM"),
        ("SELECT 1 FROM t 'u'", "must end in FROM"),
        ("SELECT 1 FROM t.", "must end in FROM"),
        ("SELECT 1 FROM t .. u", "must end in FROM"),
        ("SELECT 1 FROM t, u", "must end in FROM"),
        ("SELECT 1 FROM a IS DISTINCT FROM b", "must end in FROM"),
        (f"SELECT 1 FROM {'a.' * 30}b", "must end in FROM"),
        ("a; b", "more than one statement"),
        ("SELECT 1 INTO u FROM t", "contains INTO"),
        ("a WHERE b, c", "'WHERE' ends the expression"),
        ("a) (b", r"'\)' ends the expression"),
        ("(a), b", "',' ends the expression"),
        ("f(a) + (b) FROM t", "'FROM' ends the expression"),
        ("SELECT 1 FROM a.'x'.b", "must end in FROM"),
        ("a)) FROM t", r"'\)' ends the expression"),
        ("/*M! 1 */ a", "run this comment"),
        ("/*/*", "comment"),
        ("a /* b /* c */", "comment within a comment"),
        ("E'a", "a string has no end"),
        ("a `b", "a quoted name has no end"),
        ("a 'b", "a string has no end"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        sql_form(text, "duckdb")


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT 1 FROM f(1))",
        '(SELECT 1 FROM "f"(1))',
        "(SELECT 1 FROM t, f(1))",
        "(SELECT 1 FROM t JOIN f(1) ON a = b)",
        "(SELECT 1 FROM s.f(1))",
        "(SELECT 1 FROM t JOIN LATERAL f(1))",
        "(SELECT 1 FROM (SELECT a FROM t), f(1))",
        "(SELECT 1 FROM t WHERE a = (SELECT b FROM f(1)))",
        "(SELECT 1 FROM t WHERE a = b UNION SELECT 2 FROM f(1))",
    ],
)
def test_a_function_that_gives_a_table_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="reads only the rows"):
        sql_form(text, "duckdb")


@pytest.mark.parametrize(
    "text",
    [
        "f(1) + g(a, h(2))",
        "(SELECT f(a), g(b) FROM t)",
        "(SELECT 1 FROM (SELECT a FROM t))",
        "(SELECT 1 FROM t, (SELECT a FROM t) u)",
        "(SELECT 1 FROM t, LATERAL (SELECT a FROM t) u)",
        "(SELECT 1 FROM t WHERE a IN (b, f(2)) AND g(a) = (1))",
        "(SELECT 1 FROM t WHERE a = 1 ORDER BY a, f(1))",
        "(SELECT 1 FROM t UNION SELECT a, f(1) FROM u)",
        "(SELECT max(a) FROM t GROUP BY a, f(1))",
        "'f' IN (1) OR t.a IN (2)",
    ],
)
def test_other_calls_are_not(text: str) -> None:
    assert sql_form(text, "duckdb").text == text


def test_parentheses_are_counted() -> None:
    fits = "(" * (DEEPEST - 1) + "1" + ")" * (DEEPEST - 1)
    assert sql_form(fits, "duckdb").text == fits
    flat = "(1)" * (2 * DEEPEST)
    assert sql_form(flat, "duckdb").text == flat
    with pytest.raises(RefusedError, match="nested more than"):
        sql_form(f"({fits})", "duckdb")


def test_words_are_barred_where_they_do_harm() -> None:
    for text in ("reflect('a')", "SONAME", "load_file('a')", "file('a')"):
        assert sql_form(text, "duckdb").text == text
    with pytest.raises(RefusedError, match="calls LOAD_FILE"):
        sql_form("`load_file`('a')", "mysql")
    text = "'load_file' (1)"  # a text is no function
    assert sql_form(text, "mysql").text == text


def test_the_name_of_a_call() -> None:
    assert Token("word", "Abs", 0, 3, "ABS").called == "ABS"
    assert Token("name", '"Abs"', 0, 5).called == "ABS"
    assert Token("name", "`abs`", 0, 5).called == "ABS"
    assert Token("name", '"xX"', 0, 4).called == "XX"
    assert Token("string", "'abs'", 0, 5).called == ""


def test_where_a_backslash_escapes() -> None:
    assert has_backslashes("clickhouse")
    assert not has_backslashes("sqlite")
    assert sql_form(r"'\'", "sqlite").text == r"'\'"
    with pytest.raises(RefusedError, match="a string has no end"):
        sql_form(r"'\'", "clickhouse")


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
        "SELECT 1 FROM t CROSS JOIN u",
        "SELECT 1 FROM t a b CROSS JOIN LATERAL (SELECT 1) AS d",
    ],
)
def test_a_query_that_reads_no_table_or_several_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="reads a table|the name of one table"):
        sql_form(text, "duckdb")
