"""What an artefact claims, the constants added to it, and the order of its answers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import pytest

from tests.support.samples import TEXT, balanced, chain, every_type, numeric
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType
from treecompile.verify.claims import Claim, check_engine, claim
from treecompile.verify.constants import (
    MOST_ADDED,
    Constants,
    added,
    as_double,
    has_64_bits,
    in_python,
    in_sql,
)
from treecompile.verify.execution import _ordered, can_hold
from treecompile.verify.statements import RefusedError

NUMBER = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
CODE = Feature("n", Kind.CATEGORICAL, ValueType.INT, (1, 2))

# ---------------------------------------------------------------- claims


def sql(**options: str) -> str:
    return emit(numeric(), "sql", EmitOptions(**options)).text  # type: ignore[arg-type]


def test_the_first_line_says_what_an_artefact_is() -> None:
    assert claim(numeric(), sql()) == Claim("sqlite", [("label", None)])
    text = sql(dialect="duckdb", output="probability", label="mid")
    assert claim(numeric(), text) == Claim("duckdb", [("probability", 1)])
    # The user's engine is stronger, and what agrees with the text is no contradiction.
    assert claim(numeric(), text, "sqlite").engine == "sqlite"
    told = claim(numeric(), text, output="probability", label="mid")
    assert told == claim(numeric(), text)
    several = sql(form="select", table="t", output="rule,label,probability")
    assert claim(numeric(), several).wanted == [
        ("rule", None),
        ("label", None),
        ("probability", None),
    ]


def test_a_module_gives_everything() -> None:
    text = emit(numeric(), "python").text
    assert claim(numeric(), text) == Claim(
        "python",
        [
            ("label", None),
            ("rule", None),
            ("probability", 0),
            ("probability", 1),
            ("probability", 2),
        ],
    )
    for options in ({"output": "rule"}, {"label": "mid"}):
        with pytest.raises(OptionError, match="output is for SQL, and this is Python"):
            claim(numeric(), text, **options)


def test_what_nobody_names_is_taken_for_the_label() -> None:
    program = numeric()
    assert claim(program, "'low'", "sqlite") == Claim("sqlite", [("label", None)], True)
    said = claim(program, "'low'", "sqlite", " label , rule")
    assert said == Claim("sqlite", [("label", None), ("rule", None)])
    said = claim(program, "0.5", "sqlite", "rule,probability", "high")
    assert said == Claim("sqlite", [("rule", None), ("probability", 2)])
    # By the columns of a query; an expression and what cannot be read have none.
    query = 'SELECT *,\n  1 AS "rule",\n  2 AS `prediction`\nFROM t'
    assert claim(program, query, "sqlite") == Claim(
        "sqlite", [("rule", None), ("label", None)]
    )
    assert claim(program, '1 AS "rule",\n2', "sqlite").assumed


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("'low'", {}, "does not name its engine"),
        ("'low'", {"engine": "oracle"}, "Oracle.* cannot be run here"),
        ("'low'", {"engine": "sqlit"}, "unknown engine 'sqlit'.*sqlite"),
        ("1", {"engine": "sqlite", "label": "mid"}, "label needs"),
        (
            "1",
            {"engine": "sqlite", "output": "label", "label": "mid"},
            "label needs",
        ),
        ("1", {"engine": "sqlite", "output": "lable"}, "^output='lable'"),
        (sql(output="rule"), {"output": "label"}, "says that it gives rule"),
        (
            sql(output="probability", label="mid").replace("label mid", "label old"),
            {},
            "label='old' is not a label",
        ),
    ],
)
def test_claims_that_make_no_sense(
    text: str, options: dict[str, str], reason: str
) -> None:
    with pytest.raises((EngineError, OptionError), match=reason):
        claim(numeric(), text, **options)


def test_the_last_label_has_a_probability_and_a_number_has_none() -> None:
    text = sql(output="probability", label="high")
    assert claim(numeric(), text).wanted == [("probability", 2)]
    with pytest.raises(EngineError, match="a probability, and the model has none"):
        claim(balanced(1), text)


def test_engines_that_can_be_named() -> None:
    for engine in ("python", "sqlite", "duckdb"):
        check_engine(engine)


# ---------------------------------------------------------------- constants


def test_literals_of_sql() -> None:
    text = "CASE WHEN a = 'it''s' THEN 1 WHEN 2.5 < .5 THEN 1e3 ELSE $t$x$t$ END -- 9"
    assert in_sql(text) == {"it's": 1, 1: 1, 2.5: 1, 0.5: 1, 1000.0: 1, "x": 1}
    assert in_sql("1 + 1 + '1' /* 7 */") == {1: 2, "1": 1}
    assert in_sql("$$a$$ + E'b\\'c\\\\'") == {"a": 1, "b'c\\": 1}
    assert in_sql("e'xyz' + $a$xyz$a$ + 'xyz'") == {"xyz": 3}
    assert in_sql(r"'a\'") == {"a\\": 1}
    assert in_sql(r"'a\'b''\\'", backslash=True) == {"a'b'\\": 1}


def test_numbers_of_sql() -> None:
    (exact,) = in_sql(str(2**60 + 1))
    assert exact == 2**60 + 1
    assert type(exact) is int
    (longest,) = in_sql("9" * 1000)
    assert type(longest) is int
    (longer,) = in_sql("9" * 1001)
    assert longer == inf
    assert in_sql("3*(1<<4)") == {48.0: 1}
    assert in_sql("3.0*(1<<4)/(1<<5)") == {1.5: 1}
    assert in_sql("1/(1<<60)/(1<<40)") == {2.0**-100: 1}
    assert in_sql("5*(1<<5000)") == {5.0: 1}  # beyond the greatest double
    (shifted,) = in_sql("3*(1<<4)")
    assert type(shifted) is float


def test_literals_of_python() -> None:
    found = in_python("x = [1, 1, 2.5, 'a', None, ...]\ndef f(): 'doc'\ny = '\\d'")
    assert found == {1: 2, 2.5: 1, "a": 1, "doc": 1, "\\d": 1}


def test_constants_go_to_the_features_that_they_fit() -> None:
    numbers = (1, 2.5, 3.0, -(2**63), 2**63, 10**400, -(2**63) - 1, 2**63 - 1)
    constants = Constants(frozenset(numbers), frozenset({"b", "a"}))
    assert list(constants.fitting(TEXT)) == ["a", "b"]
    whole = list(constants.fitting(CODE))
    assert whole == [-(2**63), 1, 3, 2**63 - 1]
    assert all(type(each) is int for each in whole)
    doubles = list(constants.fitting(NUMBER))
    assert doubles == sorted(float(n) for n in numbers if n != 10**400)
    assert all(type(each) is float for each in doubles)
    flag = Feature("f", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
    assert not list(constants.fitting(flag))


def test_the_nearest_double() -> None:
    assert as_double(10**400) == inf
    assert as_double(-(10**400)) == -inf
    assert as_double(2**53 + 1) == 2.0**53
    assert isnan(as_double(float("nan")))
    assert has_64_bits(2**63 - 1)
    assert has_64_bits(-(2**63))
    assert not has_64_bits(2**63)
    assert not has_64_bits(-(2**63) - 1)


CLAIMS: list[dict[str, str]] = [
    {},
    {"output": "rule"},
    {"output": "probability"},
    {"output": "probability", "label": "mid"},
    {"dialect": "duckdb"},
    {"dialect": "clickhouse"},
    {"form": "select", "table": "rows", "output": "label,probability"},
]


@pytest.mark.parametrize("options", CLAIMS, ids=str)
def test_only_what_was_added_to_sql_counts(options: dict[str, str]) -> None:
    text = sql(**options)
    claimed = claim(numeric(), text)
    assert added(numeric(), text, claimed, {}) == Constants()
    more = text.replace("CASE", "CASE WHEN x = 2.5 THEN 'low' WHEN y = 77 THEN 'z'", 1)
    found = added(numeric(), more, claimed, {})
    assert found.numbers == {2.5, -2.5, 77, -77}
    assert found.strings == {"low", "z"}


def test_renamed_columns_are_not_added() -> None:
    columns = {"number": "n 9", "text": "it's"}
    options = EmitOptions(columns=columns)
    text = emit(every_type(), "sql", options).text
    claimed = claim(every_type(), text)
    assert added(every_type(), text, claimed, columns) == Constants()


def test_the_fresh_text_has_the_dialect_and_the_names_of_the_artefact() -> None:
    word = replace(TEXT, name="", categories=("a\\b", "c"))
    test = Condition(0, Op.IN, ("a\\b",), missing=False)
    program = chain((word,), (test,), ("low\\", "high"))
    for dialect in ("clickhouse", "sqlite", "duckdb"):
        options = EmitOptions(dialect=dialect, columns={"": "w"})
        text = emit(program, "sql", options).text
        claimed = claim(program, text)
        assert added(program, text, claimed, {"": "w"}) == Constants()


def test_only_what_was_added_to_a_module_counts() -> None:
    text = emit(numeric(), "python").text
    claimed = claim(numeric(), text)
    assert added(numeric(), text, claimed, {}) == Constants()
    found = added(numeric(), f"{text}\nz = (0.1, -7, 1e999, 'new')", claimed, {})
    assert found.numbers == {0.1, -0.1, 7, -7}
    assert found.strings == {"new"}
    for broken in ("1 +", "\0", "(" * 100_000):
        assert added(numeric(), broken, claimed, {}) == Constants()


def test_so_many_constants_are_those_of_another_model() -> None:
    claimed = Claim("sqlite", [("label", None)])
    fits = " + ".join(f"'a{n}'" for n in range(MOST_ADDED))
    assert len(added(numeric(), fits, claimed, {}).strings) == MOST_ADDED
    with pytest.raises(RefusedError, match="10,001 of its numbers and texts"):
        added(numeric(), f"{fits} + 'b'", claimed, {})


# ---------------------------------------------------------------- answers


def test_answers_come_in_the_order_of_the_rows() -> None:
    assert _ordered([(1, "b"), (0, "a"), (2, "c")], 3, 1, 1) == ["a", "b", "c"]
    assert _ordered([(0, 5.0, "a", "R1")], 1, 2, 2) == [("a", "R1")]
    assert _ordered([(0, 5.0, 6.0, "a")], 1, 3, 1) == ["a"]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([(0, "a")], "^1 rows came out for 2"),
        ([(0, "a"), (1, "b"), (2, "c")], "^more than 2 rows came out for 2"),
        ([(0,), (1,)], "^1 column came out: expected 2"),
        ([(0, "a", "b"), (1, "a", "b")], "^3 columns came out: expected 2"),
        ([(0, "a"), (0, "b")], "does not keep"),
        ([(0, "a"), (2, "b")], "does not keep"),
        ([(-1, "a"), (0, "b")], "does not keep"),
        ([(0, "a"), (True, "b")], "does not keep"),
        ([(0, "a"), (1.0, "b")], "does not keep"),
        ([(0, "a"), (None, "b")], "does not keep"),
    ],
)
def test_each_record_must_be_one_rows(
    records: list[tuple[object, ...]], reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        _ordered(records, 2, 1, 1)


def test_a_database_holds_some_values_only() -> None:
    for row in ((1.0, "a", None, 0), (-5, False)):
        for name in ("sqlite", "mysql", "oracle"):
            assert can_hold(read_dialect(name), row)
    dialects = {
        name: read_dialect(name).values for name in ("sqlite", "mysql", "oracle")
    }
    for name, values in dialects.items():
        dialect = read_dialect(name)
        for infinite in (inf, -inf):
            assert can_hold(dialect, (1, infinite)) == values.infinity
        assert can_hold(dialect, ("a\0b",)) == values.nul
        assert can_hold(dialect, (1, "")) == values.empty_text
    assert not dialects["mysql"].infinity
    assert dialects["sqlite"].infinity
    assert not dialects["oracle"].empty_text
