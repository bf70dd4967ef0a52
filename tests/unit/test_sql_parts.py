"""Parts of the SQL text, each judged by itself: limits, warnings, sums, dbt."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import duckdb
import pytest

from tests.support.fractional import model, program
from tests.support.rule_lists import at_most, rule_set
from tests.support.samples import balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import forms
from treecompile.emit.sql.dialect import Dialect, Functions, read_dialect
from treecompile.emit.sql.fractional import (
    bounds,
    check_sums,
    check_terms,
    first_greatest,
    nested_operators,
    total,
)
from treecompile.emit.sql.lower import (
    case_lines,
    check_values,
    expressions,
    size_warnings,
)
from treecompile.emit.sql.text import ConditionWriter, Quoting, column_names, literal
from treecompile.emit.steps import tree_steps
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Moments,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import certain, negate

SQLITE = read_dialect("sqlite")
X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def with_limits(**limits: int | str) -> Dialect:
    return replace(SQLITE, limits=replace(SQLITE.limits, **limits))  # type: ignore[arg-type]


# ---------------------------------------------------------------- limits


def lines_of(dialect: Dialect, tests: int) -> list[str]:
    """A chain of so many tests."""
    conditions = tuple(Condition(0, Op.LE, float(n), False) for n in range(tests))
    body = chain((X,), conditions, ("a", "b")).body
    assert isinstance(body, Tree)
    return list(case_lines(tree_steps(body), lambda test: "t", str, dialect))


def test_a_case_has_as_many_arms_as_are_allowed() -> None:
    assert len(lines_of(with_limits(arms=3), 3)) == 6  # CASE, 3 WHEN, ELSE, END
    with pytest.raises(TargetError, match="more WHENs than the 3 that SQLite allows"):
        lines_of(with_limits(arms=3), 4)
    assert len(lines_of(with_limits(arms=0), 50)) == 53  # 0 is no limit


def test_a_rule_joins_as_many_tests_as_are_allowed() -> None:
    body = every_type().body
    assert isinstance(body, Tree)
    steps = list(tree_steps(body))
    steps[0] = replace(steps[0], tests=steps[0].tests * 5)
    for most in (5, 6):
        list(case_lines(steps, lambda test: "t", str, with_limits(tests=most)))
    with pytest.raises(TargetError, match="joins 5 conditions by AND.*allows 4"):
        list(case_lines(steps, lambda test: "t", str, with_limits(tests=4)))


def test_the_size_of_the_text_is_compared_with_what_the_database_reads() -> None:
    lines = ["CASE", "é", "END"]  # 5 + 3 + 4 bytes with line ends
    assert list(size_warnings(lines, 9, with_limits(text=12, slow_leaves=10))) == []
    assert list(size_warnings(lines, 9, with_limits(text=0, slow_leaves=0))) == []
    slow = list(size_warnings(lines, 10, with_limits(text=12, slow_leaves=10)))
    assert slow == ["SQLite is slow to read an expression of 10 leaves"]
    with pytest.raises(TargetError, match="has 12 bytes, but SQLite allows 11: learn"):
        list(size_warnings(lines, 9, with_limits(text=11, beyond="")))
    (said,) = size_warnings(lines, 9, with_limits(text=11, slow_leaves=0, beyond="x"))
    assert said == "the SQL has 12 bytes, but SQLite allows 11: x"


def test_a_text_is_as_long_as_the_type_allows() -> None:
    short = replace(SQLITE, values=replace(SQLITE.values, longest_text=4))
    assert literal("éé", short) == "'éé'"
    with pytest.raises(TargetError, match="at most 4 bytes, but 'ééa'... has 5"):
        literal("ééa", short)


def test_minus_zero_is_written_as_zero() -> None:
    assert literal(-0.0, SQLITE) == "0.0"


# ---------------------------------------------------------------- sums


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_first_of_the_greatest_shares_wins(count: int) -> None:
    names = [f"s{place}" for place in range(count)]
    text = first_greatest(names, [f"'{place}'" for place in range(count)])
    with closing(sqlite3.connect(":memory:")) as connection:
        for shares in product((0.0, 0.25, 0.5), repeat=count):
            columns = ", ".join(f"? AS {name}" for name in names)
            query = f"SELECT {text} FROM (SELECT {columns})"
            (found,) = connection.execute(query, shares).fetchone()
            assert int(found) == shares.index(max(shares))


def operator_depth(text: str) -> int:
    def depth(node: ast.AST) -> int:
        below = max(map(depth, ast.iter_child_nodes(node)), default=0)
        return below + isinstance(node, ast.BinOp)

    return depth(ast.parse(text))


@pytest.mark.parametrize(
    "inner", [(0, 0), (3, 0), (0, 3), (0, 0, 0), (5, 1, 0), (0, 2, 4), (1, 1, 1, 1)]
)
def test_operators_are_counted_as_a_parser_nests_them(inner: Sequence[int]) -> None:
    terms = ["(" + "-".join(["x"] * (number + 1)) + ") * w" for number in inner]
    assert [operator_depth(term) for term in terms] == [1 + n for n in inner]
    assert nested_operators(inner) == operator_depth(
        f"({' + '.join(['0.0', *terms])}) / t"
    )


def magnitudes(tree: Tree) -> tuple[list[float], list[float]]:
    """All products and sums of divided rows, and all quotients."""
    added: list[float] = []
    divided: list[float] = []
    values: dict[int, list[tuple[float, ...]]] = {}
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            values[position] = [certain(node)]
            continue
        below = [values[branch.then] for branch in node.branches]
        values[position] = [each for some in below for each in some]  # if it is known
        for chosen in product(*below):
            sums = [0.0] * len(chosen[0])
            for branch, shares in zip(node.branches, chosen, strict=True):
                for place, share in enumerate(shares):
                    sums[place] += branch.weight * share
                    added += [branch.weight * share, sums[place]]
            values[position].append(tuple(s / total(node) for s in sums))
            divided += values[position][-1]
    return added, divided


def small_fractional(random: Random) -> Tree:
    """At most three splits over one number, with weights of very different sizes."""
    nodes: list[Leaf | Split] = []
    size = random.randint(1, 3)
    weights = (1e-5, 0.5, 3.0, 1e6, 0.0)
    for place in range(size):
        test = Condition(0, Op.LE, float(place), missing=True)
        some = random.choice(weights), random.choice(weights[:-1])
        branches = (
            Branch(test, 2 * place + 1, some[0]),
            Branch(negate(test), 2 * place + 2, some[1]),
        )
        nodes += [Split(branches, ClassCounts((1.0, 1.0)), 0.0), leaf(random)]
    nodes.append(leaf(random))
    return Tree((X,), ("a", "b"), tuple(nodes), MissingPolicy.FRACTIONAL)


def leaf(random: Random) -> Leaf:
    counts = random.choice(((1.0, 0.0), (1e-9, 1.0), (2.0, 3.0)))
    return Leaf("a", ClassCounts(counts), 1.0)


@pytest.mark.parametrize("seed", range(60))
def test_no_sum_lies_outside_the_bounds(seed: int) -> None:
    tree = small_fractional(Random(seed))
    low, high = bounds(tree)
    added, divided = magnitudes(tree)
    assert low <= min(n for n in (1.0, *added, *divided) if n) * (1 + 1e-12)
    assert high * (1 + 1e-12) >= max(added)


def test_the_bounds_of_one_split() -> None:
    test = Condition(0, Op.LE, 0.0, missing=True)
    branches = (Branch(test, 1, 3.0), Branch(negate(test), 2, 5.0))
    leaves = [Leaf(v, Moments(1.0, v, 0.0), 1.0) for v in (-2.0, 0.25)]
    tree = Tree((X,), (), (Split(branches, leaves[0].stats, 0.0), *leaves))
    assert total(tree.nodes[0]) == 8.0  # type: ignore[arg-type]
    assert bounds(tree) == (0.75, 16.0)  # the larger product / 8; 2.0 x 8.0
    larger = [
        replace(leaf, value=value)
        for leaf, value in zip(leaves, (4.0, 8.0), strict=True)
    ]
    assert bounds(replace(tree, nodes=(tree.nodes[0], *larger))) == (1.0, 64.0)
    smaller = estimates(0.25, 0.5)
    assert bounds(smaller) == (0.125, 0.5)  # weights of 0.5 each
    nothing = replace(leaves[1], value=0.0)
    tree = replace(tree, nodes=(tree.nodes[0], leaves[0], nothing))
    assert bounds(tree) == (0.75, 16.0)


def estimates(*values: float) -> Tree:
    test = Condition(0, Op.LE, 0.0, missing=True)
    branches = (Branch(test, 1, 0.5), Branch(negate(test), 2, 0.5))
    leaves = [Leaf(v, Moments(1.0, v, 0.0), 1.0) for v in values]
    split = Split(branches, leaves[0].stats, 0.0)
    return Tree((X,), (), (split, *leaves), MissingPolicy.FRACTIONAL)


def test_sums_beyond_doubles_are_refused() -> None:
    check_sums(estimates(1.7e308, 1.0), SQLITE)
    with pytest.raises(TargetError, match="may exceed the largest double"):
        check_sums(estimates(1.75e308, 1.0), SQLITE)
    trapping = replace(SQLITE, sums=replace(SQLITE.sums, traps_underflow=True))
    check_sums(estimates(2e-307, 1.0), trapping)
    check_sums(estimates(1e-307, 1.0), SQLITE)
    with pytest.raises(TargetError, match="may be too small for SQLite"):
        check_sums(estimates(1e-307, 1.0), trapping)


def test_too_many_sums_or_conditions_are_refused() -> None:
    tree = model().body
    assert isinstance(tree, Tree)
    splits = sum(isinstance(node, Split) for node in tree.nodes)
    enough = replace(SQLITE, sums=replace(SQLITE.sums, terms=3 * splits))
    check_terms(tree, 3, enough)
    with pytest.raises(TargetError, match=rf"needs {4 * splits} sums.*{3 * splits}"):
        check_terms(tree, 4, enough)
    check_sums(tree, with_limits(tests=3))
    with pytest.raises(TargetError, match="joins 3 conditions, but SQLite allows 2"):
        check_sums(tree, with_limits(tests=2))
    without = replace(SQLITE, sums=replace(SQLITE.sums, depth=0))
    with pytest.raises(TargetError, match="does not divide missing values in SQLite"):
        check_sums(tree, without)


# ---------------------------------------------------------------- the first line


def test_the_first_line_names_dialect_outputs_and_model() -> None:
    options = EmitOptions(
        dialect="duckdb", form="select", table="t", output="rule, probability, label"
    )
    first = emit(every_type(), "sql", options).text.splitlines()[0]
    assert "; dialect duckdb; output rule, probability, label; model " in first
    of_one = EmitOptions(output="probability", label="code")
    assert "; output probability 2; model " in emit(every_type(), "sql", of_one).text
    assert (
        "treecompile" not in emit(every_type(), "sql", EmitOptions(comments=False)).text
    )


def test_comments_say_which_rule_decides() -> None:
    text = emit(every_type(), "sql").text
    assert "'number' /* R1: 3 of 4 cases */" in text
    plain = emit(every_type(), "sql", EmitOptions(comments=False)).text
    assert "/*" not in plain
    divided = emit(program(), "sql", EmitOptions(output="rule")).text
    assert "'divided' /* divided: several rules share it */" in divided


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
        "    columns:",
        '      - name: "prediction"',
        "        data_tests:",
        "          - not_null",
        "          - accepted_values:",
        "              arguments:",
        """                values: ["'low'", "'high'"]""",
        "                quote: false",
        '      - name: "rule"',
        "        data_tests:",
        "          - not_null",
    ]
    assert beside.endswith("not_null\n")
    _, unnamed = dbt(stump(0.5), table="rows")
    assert '  - name: "predictions"' in unnamed
    assert emit(stump(0.5), "sql").beside == ""


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


FUNCTIONS = Functions(
    create="{name}({parameters}) -> {type}, {variable}: {expression}",
    parameter="{name} {identifier} {number} {type}",
    reference="#{number}",
    text_reference="@{identifier}",
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
        made = {"prediction": ["one", "two"]}
        return "\n".join(forms.statement(made, body, dialect, asked))

    declared = (
        "`the number` number 1 REAL, `text` text 2 T, `code` code 3 I,"
        " `flag` flag 4 B, `grade` grade 5 T"
    )
    assert statement() == f"`predict`({declared}) -> T, V: one\ntwo"
    assert statement(name="f", output=" rule ").startswith("`f`(")
    assert statement(output=" rule ").endswith("-> T, V: one\ntwo")
    assert statement(output="probability").endswith("-> REAL, REAL: one\ntwo")
    plain = replace(SQLITE, functions=replace(FUNCTIONS, text="", text_reference=""))
    assert forms.references(body, plain, options)[1] == "#2"
    assert "grade 5 TEXT" in forms.statement({"p": [""]}, body, plain, options)[0]


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
        ({"output": "label,rule"}, "several need --as select, view or dbt"),
        (
            {"output": "rule, rule", "form": "select", "table": "t"},
            "^--output 'rule, rule': each output can be given only once",
        ),
        ({"label": "low"}, "^--label needs --output probability"),
        (
            {"label": "mid", "output": "probability"},
            "^--label 'mid' is not a label: expected one of low, high",
        ),
        ({"form": "table"}, "^--as 'table'"),
        ({"form": "select"}, "^--as select needs --table, the table to read"),
        (
            {"form": "function", "alias": "a", "dialect": "duckdb"},
            "^--alias names a table, but a function reads none",
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
        assert f"; output probability {place}; " in emit(made, "sql", options).text


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
    WHEN CAST(`x` AS REAL) <= 0.5 THEN 'low'
    ELSE 'high'
  END AS `prediction`
FROM `s`.`t`
"""
    assert text(form="view", table="t", alias="a") == """\
CREATE VIEW `predictions` AS
SELECT
  `a`.*,
  CASE
    WHEN CAST(`a`.`x` AS REAL) <= 0.5 THEN 'low'
    ELSE 'high'
  END AS `prediction`
FROM `t` `a`;
"""
    oracle = text(dialect="oracle", form="select", table="t")
    assert oracle.startswith('SELECT\n  "t".*,\n')
    both = text(form="select", table="t", output="rule,label")
    assert "  END AS `rule`,\n  CASE\n" in both
    assert both.endswith("  END AS `prediction`\nFROM `t`\n")


# ---------------------------------------------------------------- names and values


def test_names_with_backslashes() -> None:
    doubling = replace(SQLITE, names=replace(SQLITE.names, backslash=True))
    assert Quoting(SQLITE).name("a\\b`") == "`a\\b```"
    assert Quoting(doubling).name("a\\b`") == "`a\\\\b```"


def test_names_that_are_too_long_are_named() -> None:
    short = replace(SQLITE, names=replace(SQLITE.names, longest=1, empty=False))
    assert Quoting(short).name("a") == "`a`"
    with pytest.raises(
        TargetError, match="at most 1 bytes, not 'ab': rename the column"
    ):
        Quoting(short).name("ab")
    with pytest.raises(TargetError, match="--column NAME=NEW_NAME$"):
        Quoting(short).name("ab")
    with pytest.raises(TargetError, match="--column =NEW_NAME$"):
        Quoting(short).name("")


def test_limits_of_one() -> None:
    """The least limit is a limit: only 0 is none."""
    with pytest.raises(TargetError, match="more WHENs than the 1 "):
        lines_of(with_limits(arms=1), 2)
    with pytest.raises(TargetError, match="allows 1: learn"):
        list(size_warnings(["ab"], 1, with_limits(text=1, beyond="")))
    assert len(list(size_warnings([], 1, with_limits(slow_leaves=1)))) == 1
    short = replace(SQLITE, values=replace(SQLITE.values, longest_text=1))
    with pytest.raises(TargetError, match="at most 1 bytes"):
        literal("ab", short)


def test_values_that_no_database_holds_are_refused() -> None:
    short = replace(SQLITE, values=replace(SQLITE.values, longest_text=9, nul=False))
    with pytest.raises(TargetError, match="half a surrogate pair"):
        literal("\ud800", short)
    with pytest.raises(TargetError, match=r"SQLite does not allow a NUL character"):
        literal("a\0b", short)
    assert literal(-0.0, read_dialect("postgres")) == "0.0::float8"


def test_a_label_of_a_type_that_a_database_has_not() -> None:
    without = replace(SQLITE, types=replace(SQLITE.types, boolean=""))
    made = chain((X,), (Condition(0, Op.LE, 0.0, False),), (False, True))
    with pytest.raises(TargetError, match="no type for the prediction, of type bool"):
        check_values(made.body, without)
    check_values(stump(0.5).body, without)


C = Feature("c", Kind.CATEGORICAL, ValueType.STR, tuple("abcde"))


def written(dialect: Dialect, *tests: Condition) -> list[str]:
    made = chain((C,), tests, ("low", "high")).body
    writer = ConditionWriter(dialect, made, column_names(made, dialect, {}))
    return [writer.text(test) for test in tests]


def test_long_sets_are_divided() -> None:
    five = Condition(0, Op.IN, tuple("abcde"), missing=False)
    two = Condition(0, Op.NOT_IN, tuple("ab"), missing=True)
    x = SQLITE.columns.text.format("`c`")
    assert written(with_limits(members=2, many_sets=0), five, two) == [
        f"({x} IN ('a', 'b') OR {x} IN ('c', 'd') OR {x} IN ('e'))",
        f"({x} NOT IN ('a', 'b') OR `c` IS NULL)",
    ]
    three = Condition(0, Op.NOT_IN, tuple("abc"), missing=True)
    (divided,) = written(with_limits(members=2, many_sets=0), three)
    assert divided == f"(({x} NOT IN ('a', 'b') AND {x} NOT IN ('c')) OR `c` IS NULL)"


def test_many_sets_are_written_singly() -> None:
    two = Condition(0, Op.IN, tuple("ab"), missing=False)
    three = Condition(0, Op.NOT_IN, tuple("abc"), missing=True)
    one = Condition(0, Op.IN, ("d",), missing=False)
    x = SQLITE.columns.text.format("`c`")
    # Each test occurs twice in the tree, as itself and negated: two sets are four.
    dialect = with_limits(many_sets=3, members=0)
    assert written(dialect, two, three, one) == [
        f"({x} = 'a' OR {x} = 'b')",
        f"(({x} <> 'a' AND {x} <> 'b' AND {x} <> 'c') OR `c` IS NULL)",
        f"{x} = 'd'",
    ]
    assert written(with_limits(many_sets=4, members=0), two, three, one)[0] == (
        f"{x} IN ('a', 'b')"
    )
    assert written(with_limits(many_sets=1, members=0), two)[0].startswith(f"({x} = ")


def test_many_thresholds_are_written_as_a_dialect_wants_it() -> None:
    def doubles(many: int, *values: float) -> list[str]:
        tests = tuple(Condition(0, Op.LE, value, False) for value in values)
        made = chain((X,), tests, ("low", "high")).body
        dialect = with_limits(many_doubles=many, double_of_many="(SELECT {})")
        writer = ConditionWriter(dialect, made, column_names(made, dialect, {}))
        return [writer.text(test).partition("<= ")[2] for test in tests]

    assert doubles(0, 1.0, 2.0, 3.0) == ["1.0", "2.0", "3.0"]
    assert doubles(2, 1.0, 2.0) == ["1.0", "2.0"]
    assert doubles(1, 1.0, 2.0) == ["(SELECT 1.0)", "(SELECT 2.0)"]
    assert doubles(1, 1.0, 1.0) == ["1.0", "1.0"]  # only different ones count
    assert doubles(0, -0.0) == ["0.0"]


# ---------------------------------------------------------------- CASE


def whens(lines: Sequence[str]) -> int:
    """The most WHENs of one CASE."""
    most, open_ = 0, []
    for line in lines:
        word = line.split()[0]
        if word == "CASE":
            open_.append(0)
        elif word == "WHEN":
            open_[-1] += 1
            most = max(most, open_[-1])
        elif word == "END":
            open_.pop()
    assert not open_
    return most


def test_the_arms_of_each_case_are_counted() -> None:
    body = balanced(5).body
    assert isinstance(body, Tree)

    def lines(arms: int) -> list[str]:
        dialect = with_limits(arms=arms)
        return list(case_lines(tree_steps(body), lambda test: "t", str, dialect))

    most = whens(lines(0))
    assert 1 < most < 31
    assert lines(most) == lines(0)
    with pytest.raises(TargetError, match="more WHENs"):
        lines(most - 1)
    assert not any(line.endswith(" ") for line in lines(0))
    assert lines(0)[0] == "CASE"
    assert lines(0)[-1] == "END"


@pytest.mark.parametrize("nesting", [1, 2, 3, 9])
def test_any_nesting_decides_alike(nesting: int) -> None:
    body = balanced(4).body
    dialect = with_limits(nesting=nesting)
    columns = column_names(body, dialect, {})
    (lines,) = expressions(body, dialect, columns, EmitOptions()).values()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(16)])
        text = "\n".join(lines)
        found = connection.execute(f"SELECT x, {text} FROM t").fetchall()
    assert all(x == answer for x, answer in found)


def test_warnings_and_notes_come_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = with_limits(slow_leaves=2)
    monkeypatch.setattr("treecompile.emit.sql.lower.read_dialect", lambda name: slow)
    made = emit(stump(0.5), "sql")
    assert made.warnings == ("SQLite is slow to read an expression of 2 leaves",)
    first = made.text.splitlines()[0]
    assert re.search(r"; model [0-9a-f]{64}( \*/)?$", first)
    rules = rule_set(((at_most(0, 5.0),), "yes"), ((at_most(1, 1.0),), "no"))
    nested = emit(Program("y", "test", rules), "sql")
    assert nested.notes
    assert nested.notes[0] in nested.text.splitlines()[0]
