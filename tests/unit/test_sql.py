"""SQL as it is written: whole artefacts, names, refusals and limits.

A file of tests/golden/sql is an artefact. Its first line names the model and the
options; `-- beside:` begins the second file of a dbt model. With TREECOMPILE_REFRESH=1
in the environment, the files are written anew.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.forests import many_trees, stump, tennis_forest
from tests.support.rule_lists import STATS
from tests.support.samples import balanced, chain, every_type
from tests.support.samples import stump as one_split
from treecompile.emit.compiler import Artefact, emit
from treecompile.emit.header import read
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.text import Quoting
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import (
    AnyProgram,
    Arithmetic,
    Category,
    Condition,
    Feature,
    ForestProgram,
    Kind,
    Label,
    Op,
    Program,
    Rule,
    RuleSet,
    ValueType,
)

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
CASES = Path(__file__).parents[1] / "golden" / "sql"
EVIL = "*/ ; & {{ x }}\n--"


def on(*names: str, labels: tuple[Label, ...] = ("low", "high")) -> Program:
    """A test of each feature."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in names)
    tests = tuple(Condition(n, Op.LE, 0.5, False) for n in range(len(names)))
    return chain(features, tests, labels)


def on_text(*categories: Category, labels: tuple[Label, ...] = ("a", "b")) -> Program:
    """A test for the first category."""
    (value_type,) = {ValueType(type(each).__name__) for each in categories}
    feature = Feature("text", Kind.CATEGORICAL, value_type, categories)
    return chain((feature,), (Condition(0, Op.IN, categories[:1], False),), labels)


def on_sets() -> Program:
    """Rules with a set of five categories, one of three, and one alone."""
    feature = Feature("c", Kind.CATEGORICAL, ValueType.STR, tuple("abcdefgh"))
    rules = [
        (Condition(0, Op.IN, tuple("abcde"), missing=False), "R1"),
        (Condition(0, Op.NOT_IN, tuple("abc"), missing=True), "R2"),
        (Condition(0, Op.IN, ("d",), missing=False), "R3"),
    ]
    made = [Rule(n, (t,), "a", STATS, 1.0) for t, n in rules]
    rest = Rule("R4", (), "b", STATS, 1.0)
    return Program("y", "by hand", RuleSet((feature,), ("a", "b"), tuple(made), rest))


def boosted() -> ForestProgram:
    """Three sums of 32 bits."""
    return ForestProgram("y", "boosted", many_trees(Random(1), 3, Arithmetic.SINGLE))


def braces() -> ForestProgram:
    test = Condition(0, Op.IN, ("{{ x }}",), missing=False)
    feature = Feature("{% x", Kind.CATEGORICAL, ValueType.STR, ("{{ x }}", "y"))
    forest = stump(feature, test, (1.0, -1.0), ("{{ no }}", "yes"))
    return ForestProgram("y", "a stump", forest)


MODELS: dict[str, Callable[[], AnyProgram]] = {
    "every_type": every_type,
    "tennis": tennis_forest,
    "boosted": boosted,
    "braces": braces,
    "evil": lambda: chain(
        (Feature(EVIL, Kind.CATEGORICAL, ValueType.STR, (EVIL, "'")),),
        (Condition(0, Op.IN, (EVIL,), False),),
        (EVIL, "'; --"),
    ),
    "numbers": lambda: balanced(2),
    "flags": lambda: on_text(True, False, labels=(True, False)),
    "order": lambda: on("age", "order", "Full name", labels=("a", "b", "c", "d")),
    "sets": on_sets,
}


def emitted(model: str, options: dict[str, Any]) -> Artefact:
    return emit(MODELS[model](), "sql", EmitOptions(**options))


def masked(text: str) -> str:
    """The header, without what other releases change."""
    text = re.sub(r"treecompile \d\S+,", "treecompile VERSION,", text, count=1)
    return re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text, count=1)


@pytest.mark.parametrize(
    "path", sorted(CASES.glob("*.sql")), ids=lambda path: path.stem
)
def test_an_artefact_is_as_it_was(path: Path) -> None:
    first, _, expected = path.read_text(encoding="utf-8").partition("\n")
    model, *given = shlex.split(first.removeprefix("-- "))
    made = emitted(model, dict(each.split("=", 1) for each in given))
    text = masked(made.text) + (f"-- beside:\n{made.beside}" if made.beside else "")
    if os.environ.get("TREECOMPILE_REFRESH"):
        path.write_text(f"{first}\n{text}", encoding="utf-8")
    else:
        assert text == expected


# ---------------------------------------------------------------- the header


@pytest.mark.parametrize("place", range(15))
def test_an_artefact_can_be_written_again_from_its_header(place: int) -> None:
    dialect = dialect_names()[place]
    sound = {EVIL: "sound"} if dialect in ("bigquery", "redshift") else {}
    options = EmitOptions(
        dialect=dialect, form="select", table='s."t; */"', output="rule", columns=sound
    )
    if dialect == "bigquery":
        options = replace(options, table="t")
    program = MODELS["evil"]()
    text = emit(program, "sql", options).text
    found = read(text)
    assert found is not None
    assert found.target == "sql"
    assert emit(program, "sql", EmitOptions(**found.options)).text == text
    head = text.partition(" */\n")[0]
    assert not re.search(r"[;&]|\{\{|\*/|\\", head[3:])
    assert head.count("\n") == 1


def test_a_header_has_at_most_five_lines() -> None:
    names = ["x" * 200, *(f"column number {n}" for n in range(60))]
    labels = tuple(f"l{n}" for n in range(62))
    text = emit(on(*names, labels=labels), "sql").text
    lines = text.partition(" */")[0].splitlines()
    assert len(lines) == 5
    assert max(map(len, lines[1:])) <= 120
    assert lines[1].endswith("xxx...,")
    assert lines[2].startswith("   column number 0 REAL, column number 1 REAL,")
    assert re.fullmatch(r"   and \d\d more", lines[4])
    leaf = chain((X,), (), ("low",))
    assert re.search(r"model [0-9a-f]{64} \*/\n'low'", emit(leaf, "sql").text)
    plain = emit(one_split(0.5), "sql", EmitOptions(comments=False)).text
    assert plain.startswith("CASE\n  WHEN")


# ---------------------------------------------------------------- names

NAMES = [
    ("snowflake", "age", "age"),  # found as AGE
    ("snowflake", "Age", "Age"),
    ("snowflake", "_age", "_age"),
    ("snowflake", "order", '"order"'),
    ("snowflake", "blood pressure", '"blood pressure"'),
    ("oracle", "age", "age"),
    ("oracle", "_age", '"_age"'),
    ("oracle", "level", '"level"'),
    ("postgres", "age", "age"),
    ("postgres", "Age", '"Age"'),  # not found as age
    ("redshift", "Age", "Age"),  # case does not matter
    ("duckdb", "größe", '"größe"'),
    ("duckdb", "1st", '"1st"'),
    ("duckdb", "a$b", '"a$b"'),
    ("clickhouse", "Age", "Age"),  # case is kept
    ("clickhouse", "a\\b", '"a\\\\b"'),
    ("datafusion", "Age", '"Age"'),
    ("tsql", "group", "[group]"),
    ("tsql", "fl]ag", "[fl]]ag]"),
    ("bigquery", "rows", "`rows`"),
    ("sqlite", "a`b", "`a``b`"),
    ("mysql", "rank", "`rank`"),
    ("mariadb", "rank", "rank"),
]


def test_how_a_name_is_written() -> None:
    found = [
        (dialect, name, Quoting(read_dialect(dialect), bare=True).name(name))
        for dialect, name, _ in NAMES
    ]
    assert found == NAMES


def test_names_that_differ_by_case_are_quoted_or_refused() -> None:
    twins = on("age", "Age", "sex", labels=("a", "b", "c", "d"))
    for dialect in ("postgres", "clickhouse", "datafusion", "snowflake", "oracle"):
        text = emit(twins, "sql", EmitOptions(dialect=dialect)).text
        assert '"age"' in text
        assert '"Age"' in text
        assert '"sex"' not in text
    folding = {"sqlite", "duckdb", "mariadb", "mysql", "spark", "databricks"}
    for dialect in folding | {"bigquery", "redshift", "tsql", "trino"}:
        options = EmitOptions(dialect=dialect)
        with pytest.raises(TargetError, match=r"makes 'age' and 'Age' one name.*col"):
            emit(twins, "sql", options)
        renamed = emit(twins, "sql", replace(options, columns={"Age": "years"})).text
        assert "years" in renamed


def test_an_output_with_the_name_of_a_column() -> None:
    options = EmitOptions(dialect="duckdb", form="select", table="t")
    program = on("x", "Prediction", labels=("a", "b", "c"))
    with pytest.raises(TargetError, match="two columns 'prediction'"):
        emit(program, "sql", options)
    emit(program, "sql", replace(options, dialect="clickhouse"))  # case counts
    emit(program, "sql", replace(options, output="rule"))
    emit(program, "sql", replace(options, columns={"Prediction": "given"}))
    emit(program, "sql", replace(options, form="expression"))
    (warning,) = emit(
        replace(on("x"), target="rule"), "sql", replace(options, output="rule")
    ).warnings
    assert "two of that name" in warning


def test_a_name_that_a_console_replaces_is_warned_about() -> None:
    for name, dialect, count in (("R&D", "oracle", 1), ("R&D", "trino", 0)):
        warnings = emit(on(name), "sql", EmitOptions(dialect=dialect)).warnings
        assert len(warnings) == count
        assert all("SET DEFINE OFF" in warning for warning in warnings)


# ---------------------------------------------------------------- refusals

REFUSED_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("every_type", {"output": "labels"}, "^output='labels'"),
    ("every_type", {"output": "label,rule"}, "several outputs need form=select, view"),
    ("every_type", {"output": "rule, rule"}, "^output='rule, rule': an output is g"),
    ("every_type", {"output": "margin"}, "only a forest has margins"),
    ("numbers", {"output": "probability"}, "the model predicts a number"),
    ("tennis", {"output": "rule"}, "a forest has no rules"),
    ("tennis", {"output": "margin", "label": "no"}, "one margin for both labels"),
    ("every_type", {"label": "rest"}, "^label needs output=probability"),
    ("flags", {"output": "probability", "label": "1"}, "one of true, false"),
    ("every_type", {"columns": {"y": "z"}}, "columns: the model has no feature 'y'"),
    ("every_type", {"form": "table"}, "^form='table'"),
    ("every_type", {"form": "select"}, "^form=select needs a table to read: add ta"),
    ("every_type", {"form": "view", "table": "t", "name": "a."}, r"^name='a\.': expec"),
    *(
        ("every_type", {"form": "select", "table": table}, "^table=.*expected NAME or")
        for table in (".", "a..b", 'a"b', '"a', ".a", "a.")
    ),
    ("every_type", {"form": "dbt", "table": "a.b.c"}, "the name of a model or SOURCE"),
]


@pytest.mark.parametrize(("model", "options", "said"), REFUSED_OPTIONS)
def test_options_that_make_no_sense_are_named(
    model: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises((OptionError, TargetError), match=said):
        emitted(model, options)


REFUSED = [
    ("mariadb", on("x" * 65), "MariaDB allows names of at most 64 characters"),
    ("mysql", on("🐧"), r"MySQL does not allow the name '🐧', because of '🐧'"),
    ("mariadb", on("blank "), "because of ' '.*columns: "),
    ("mariadb", on("line\n"), r"because of '\\n'"),
    ("bigquery", on("a.b"), r"BigQuery does not allow the name 'a.b', because of '\.'"),
    ("bigquery", on("_partition_date"), "because of '_partition'"),
    ("bigquery", on("x" * 301), "300 characters"),
    ("oracle", on('say "hi"'), "because of '\"'"),
    ("oracle", on("ü" * 65), "names of at most 128 bytes"),
    ("redshift", on("tab\there"), r"because of '\\t'"),
    ("tsql", on("x" * 129), "SQL Server allows names of at most 128 characters"),
    ("snowflake", on(""), "Snowflake does not allow empty column names"),
    ("sqlite", on("a\0b"), r"'a\\x00b'"),
    ("duckdb", on("half \ud800"), r"'half \\ud800'"),
    ("sqlite", on_text(2**63, 1), f"{2**63} does not fit"),
    ("duckdb", on("x", labels=(2**63, 0)), f"{2**63} does not fit"),
    ("oracle", on_text("x", ""), "Oracle treats the category '' of 'text' as NULL"),
    ("oracle", on_text("x", labels=("", "b")), "Oracle treats the label '' as NULL"),
    ("oracle", on_text("é" * 2000 + "x"), "at most 4,000 bytes"),
    ("redshift", on_text("x" * 65_535), "at most 65,534 bytes"),
    ("tsql", one_split(5e-324), "SQL Server has no number as close to zero"),
    *(
        (dialect, on_text("a\0b"), r"NUL character.*'a\\x00b'")
        for dialect in ("postgres", "oracle", "tsql", "redshift", "trino")
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=range(len(REFUSED)))
def test_what_a_database_has_not_is_refused(case: tuple[str, Program, str]) -> None:
    dialect, program, said = case
    with pytest.raises(TargetError, match=said) as caught:
        emit(program, "sql", EmitOptions(dialect=dialect))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_only_what_is_written_is_checked() -> None:
    program = on_text("x", labels=("a\0b", "c"))
    emit(program, "sql", EmitOptions(dialect="postgres", output="rule"))
    emit(on_text("é" * 2000), "sql", EmitOptions(dialect="oracle"))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("mysq", "'mysql'"),
        ("MariaDB", "'mariadb'"),
        ("postgresql", "'postgres'"),
        ("SQL-Server", "'tsql'"),
        ("db2", "expected one of bigquery, clickhouse"),
    ],
)
def test_an_unknown_dialect_is_told_the_nearest(name: str, near: str) -> None:
    with pytest.raises(TargetError, match=near):
        emit(one_split(0.5), "sql", EmitOptions(dialect=name))


# ---------------------------------------------------------------- limits


@pytest.fixture
def ours(tmp_path: Path) -> Callable[[str], EmitOptions]:
    """SQLite with other limits, or other keys, in a file of our own."""

    def write(text: str) -> EmitOptions:
        path = tmp_path / "ours.toml"
        path.write_text(f'base = "sqlite"\n{text}', encoding="utf-8")
        return EmitOptions(dialect=str(path), comments=False)

    return write


SIX = on(*"abcdef", labels=tuple("ghijklm"))  # a CASE of six arms


@pytest.mark.parametrize(
    ("text", "program", "said"),
    [
        ("[limits]\narms = 6", SIX, ""),
        ("[limits]\narms = 5", SIX, "more WHENs than the 5 that SQLite allows"),
        ("[limits]\nnesting = 1\ntests = 4", balanced(4), ""),
        ("[limits]\nnesting = 1\ntests = 3", balanced(4), "joins 4 conditions by AND"),
        ("[limits]\ntext = 79", one_split(0.5), ""),
        ("[limits]\ntext = 60", one_split(0.5), "bytes, but SQLite allows 60: learn"),
        ('[types]\nboolean = ""', on_text(True, False), "no type for the column 'te"),
        ('[types]\nboolean = ""', on("x", labels=(True, False)), "for the prediction"),
        ('[types]\nboolean = ""', SIX, ""),
    ],
)
def test_limits_of_a_dialect(
    ours: Callable[[str], EmitOptions], text: str, program: Program, said: str
) -> None:
    if not said:
        assert emit(program, "sql", ours(text)).text
        return
    with pytest.raises(TargetError, match=said):
        emit(program, "sql", ours(text))


def test_slow_and_long_texts_are_warned_about(
    ours: Callable[[str], EmitOptions],
) -> None:
    options = ours('[limits]\ntext = 60\nbeyond = "be patient"\nslow_leaves = 2')
    slow, long = emit(one_split(0.5), "sql", options).warnings
    assert slow == "SQLite is slow to read an expression of 2 leaves"
    assert re.fullmatch(
        r"the SQL has \d\d bytes, but SQLite allows 60: be patient", long
    )


@pytest.mark.parametrize(
    ("limits", "written"),
    [
        ("members = 2", "({x} IN ('a', 'b') OR {x} IN ('c', 'd') OR {x} IN ('e'))"),
        ("members = 2", "(({x} NOT IN ('a', 'b') AND {x} NOT IN ('c')) OR c IS NULL)"),
        ("many_sets = 1", "(({x} <> 'a' AND {x} <> 'b' AND {x} <> 'c') OR c IS NULL)"),
        ("many_sets = 2", "({x} NOT IN ('a', 'b', 'c') OR c IS NULL)"),
        ("many_sets = 1", "{x} = 'd' THEN"),
    ],
)
def test_sets_are_divided(
    ours: Callable[[str], EmitOptions], limits: str, written: str
) -> None:
    text = emit(on_sets(), "sql", ours(f"[limits]\n{limits}")).text
    assert written.replace("{x}", "c COLLATE BINARY") in text


@pytest.mark.parametrize(("many", "wrapped"), [(0, 0), (2, 3), (3, 0)])
def test_many_thresholds_are_wrapped(
    ours: Callable[[str], EmitOptions], many: int, wrapped: int
) -> None:
    text = emit(balanced(2), "sql", ours(f"[limits]\nmany_doubles = {many}")).text
    assert text.count("<= (SELECT CAST(") == wrapped


def test_a_forest_that_is_too_long_for_an_expression(
    ours: Callable[[str], EmitOptions],
) -> None:
    options = ours("[forests]\ntrees = 2\nsubquery = false")
    with pytest.raises(TargetError, match="up 32-bit numbers, which SQLite does not"):
        emit(boosted(), "sql", options)
    forest = ForestProgram("y", "x", many_trees(Random(1), 5, Arithmetic.DOUBLE))
    with pytest.raises(TargetError, match="adds up 5 trees, and .* at most 2: use few"):
        emit(forest, "sql", options)
    short = replace(forest, body=many_trees(Random(1), 2, Arithmetic.DOUBLE))
    assert emit(short, "sql", options).text.count("+ CASE") == 2
