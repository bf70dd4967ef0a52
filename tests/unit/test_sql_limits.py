"""Limits of the SQL text and of its sums, and what is beyond them."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.support.dialects import SQLITE, with_limits
from tests.support.fractional import model
from tests.support.rule_lists import at_most, rule_set
from tests.support.samples import balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.checks import size_warnings
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.fractional import (
    bounds,
    check_sums,
    check_terms,
    first_greatest,
    nested_operators,
    total,
)
from treecompile.emit.sql.lower import case_lines, expressions
from treecompile.emit.sql.text import Quoting, column_names, literal
from treecompile.emit.steps import Step, tree_steps
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
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

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


# ---------------------------------------------------------------- limits


def lines_of(dialect: Dialect, tests: int) -> list[str]:
    """A chain of so many tests."""
    conditions = tuple(Condition(0, Op.LE, float(n), False) for n in range(tests))
    body = chain((X,), conditions, ("a", "b")).body
    assert isinstance(body, Tree)
    return list(case_lines(tree_steps(body), lambda test, known: "t", str, dialect))


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
        list(case_lines(steps, lambda test, known: "t", str, with_limits(tests=most)))
    with pytest.raises(TargetError, match="joins 5 conditions by AND.*allows 4"):
        list(case_lines(steps, lambda test, known: "t", str, with_limits(tests=4)))


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
        return list(case_lines(tree_steps(body), lambda test, known: "t", str, dialect))

    most = whens(lines(0))
    assert 1 < most < 31
    assert lines(most) == lines(0)
    with pytest.raises(TargetError, match="more WHENs"):
        lines(most - 1)
    assert not any(line.endswith(" ") for line in lines(0))
    assert lines(0)[0] == "CASE"
    assert lines(0)[-1] == "END"


@pytest.mark.parametrize(("outer", "inner"), [(1, 3), (3, 1), (3, 3)])
def test_the_arms_of_an_inner_case_are_its_own(outer: int, inner: int) -> None:
    test = (Condition(0, Op.LE, 0.5, False),)
    steps = [
        *(Step(0, test, n) for n in range(outer - 1)),
        Step(0, test, None),
        *(Step(1, test, n) for n in range(inner)),
        *(Step(1, (), 8), Step(0, (), 9)),
    ]

    def lines(arms: int) -> list[str]:
        return list(
            case_lines(steps, lambda test, known: "t", str, with_limits(arms=arms))
        )

    assert whens(lines(3)) == 3
    with pytest.raises(TargetError, match="more WHENs"):
        lines(2)


@pytest.mark.parametrize("nesting", [1, 2, 3, 9])
def test_any_nesting_decides_alike(nesting: int) -> None:
    body = balanced(4).body
    dialect = with_limits(nesting=nesting)
    columns = column_names(body, Quoting(dialect), {})
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
    assert re.search(r", model [0-9a-f]{64}, layout list: 2 rules,.*\*/$", first)
    rules = rule_set(((at_most(0, 5.0),), "yes"), ((at_most(1, 1.0),), "no"))
    asked = EmitOptions(layout="decision")
    nested = emit(Program("y", "test", rules), "sql", asked)
    (said,) = nested.notes
    assert said.removeprefix("the SQL uses the ") in nested.text.splitlines()[0]
