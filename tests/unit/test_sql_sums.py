"""Sums over divided rows, run by SQLite in all the ways that databases need."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product

import pytest

from tests.support.fractional import (
    GRID,
    counts,
    leaf,
    leaf_of,
    model,
    numbers,
    shares,
)
from tests.support.fractional import tree as small_tree
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.lower import expressions
from treecompile.emit.sql.text import column_names
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate

SQLITE = read_dialect("sqlite")


def staged(**sums: int | str) -> Dialect:
    """Sums as the columns of nested queries."""
    return replace(SQLITE, sums=replace(SQLITE.sums, **sums))  # type: ignore[arg-type]


def inline(**sums: int | str) -> Dialect:
    """All in one expression; SQLite's parser allows so much only outside of views."""
    whole: dict[str, int | str] = {"stages": 0, "greatest": "max", "depth": 20}
    return staged(**(whole | sums))


def run(
    tree: Tree, dialect: Dialect, rows: Sequence[Row], **options: str
) -> list[object]:
    columns = column_names(tree, dialect, {})
    asked = EmitOptions(comments=False, **options)  # type: ignore[arg-type]
    (lines,) = expressions(tree, dialect, columns, asked).values()
    names = [f'"{feature.name}"' for feature in tree.features]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (n INTEGER, {', '.join(names)})")
        marks = ", ".join("?" * (len(names) + 1))
        numbered = ((number, *row) for number, row in enumerate(rows))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", numbered)
        text = "\n".join(lines)
        found = connection.execute(f"SELECT {text} FROM t ORDER BY n").fetchall()
    return [answer for (answer,) in found]


def check(tree: Tree, dialect: Dialect, rows: Sequence[Row]) -> None:
    """Labels, their probabilities and that of one label, exactly."""
    known = [shares(tree, row, 0, float) for row in rows]
    if not tree.labels:
        assert run(tree, dialect, rows) == [some[0] for some in known]
        return
    labels = [tree.labels[some.index(max(some))] for some in known]
    assert run(tree, dialect, rows) == labels
    best = run(tree, dialect, rows, output="probability")
    assert best == [max(some) for some in known]
    for place, label in enumerate(tree.labels):
        one = run(tree, dialect, rows, output="probability", label=str(label))
        assert one == [some[place] for some in known]


def body(made: object) -> Tree:
    tree = getattr(made, "body", made)
    assert isinstance(tree, Tree)
    return tree


HEATS: list[Row] = [(x,) for x in (0.5, 1.0, 1.5, 20.0, 21.0, None)]
MODELS: dict[str, tuple[Tree, list[Row]]] = {
    "three labels": (body(model()), GRID),
    "two labels": (
        small_tree(),
        list(product(("clear", "grey", "dark", "hail", None), (20.0, 20.5, None))),
    ),
    "numbers": (body(numbers(0.1, 16.7)), HEATS),
}
ONLY = Leaf("only", ClassCounts((2.0,)), 2.0)
ONE_LABEL = replace(
    body(numbers(0.0, 0.0)),
    labels=("only",),
    nodes=(body(numbers(0.0, 0.0)).nodes[0], ONLY, ONLY),
)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
def test_stages_add_up_as_the_semantics_do(name: str, depth: int) -> None:
    tree, rows = MODELS[name]
    check(tree, staged(depth=depth), rows)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("operators", [9, 12, 950])
def test_stages_keep_within_the_operators(name: str, operators: int) -> None:
    tree, rows = MODELS[name]
    check(tree, staged(operators=operators), rows)


@pytest.mark.parametrize("name", MODELS)
def test_one_expression_adds_up_as_the_semantics_do(name: str) -> None:
    tree, rows = MODELS[name]
    check(tree, inline(), rows)


@pytest.mark.parametrize("name", MODELS)
def test_shares_with_names_are_written_once(name: str) -> None:
    tree, rows = MODELS[name]
    naming = "(SELECT {answer} FROM (VALUES ({shares})))"
    check(tree, inline(naming=naming, named="column{number}"), rows)


@pytest.mark.parametrize("dialect", [staged(), inline()], ids=["staged", "inline"])
def test_one_label_is_certain(dialect: Dialect) -> None:
    check(ONE_LABEL, dialect, HEATS)


# ---------------------------------------------------------------- deep trees

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def deep(levels: int, side: int, branches: int = 2) -> Tree:
    """A chain that goes on in one branch of each split, the first or the last."""
    colour = Feature(
        "c", Kind.CATEGORICAL, ValueType.STR, tuple("abcd"[: branches - 1])
    )
    nodes: list[Node] = []
    for level in range(levels):
        start = branches * level + 1
        if branches == 2:
            test = Condition(0, Op.LE, float(level), missing=True)
            tests = [test, negate(test)]
        else:
            tests = [Condition(1, Op.IN, (c,), False) for c in colour.categories]
            rest = Condition(1, Op.NOT_IN, tuple(colour.categories), missing=True)
            tests.append(rest)
        # The chain goes on at the last position of the level, whatever its branch.
        order = list(range(branches))
        order.append(order.pop(side))
        where = {branch: start + place for place, branch in enumerate(order)}
        made = tuple(
            Branch(test, where[branch], 1.0 + branch + level / 7)
            for branch, test in enumerate(tests)
        )
        nodes.append(Split(made, counts(1, 1), 0.0))
        nodes += [leaf(1 + level, 2 + branch) for branch in range(branches - 1)]
    nodes.append(leaf(5, 3))
    return Tree((X, colour), ("no", "yes"), tuple(nodes), MissingPolicy.FRACTIONAL)


ROWS: list[Row] = list(product((-1.0, 0.0, 1.5, 3.0, 9.0, None), ("a", "b", "z", None)))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("depth", [4, 6, 12])
def test_a_deep_chain_in_one_expression(side: int, depth: int) -> None:
    """With little depth, the deepest branch of a sum is written first."""
    check(deep(6, side), inline(depth=depth), ROWS)


@pytest.mark.parametrize("side", [0, 1, 2])
def test_a_deep_chain_of_three_branches(side: int) -> None:
    check(deep(4, side, 3), inline(depth=4), ROWS)
    check(deep(4, side, 3), inline(), ROWS)
    check(deep(4, side, 3), staged(depth=1), ROWS)


def least_depth(tree: Tree) -> int:
    """The least `depth` of a dialect in which the tree can be written."""
    for depth in range(1, 30):
        try:
            run(tree, inline(depth=depth), ROWS[:1])
        except TargetError as error:
            said = str(error)
        else:
            return depth
        assert f"deep, but SQLite allows {depth}: " in said
    raise AssertionError("not even 30")


def test_writing_the_deepest_branch_first_saves_half_of_the_depth() -> None:
    assert [least_depth(deep(levels, 0)) for levels in (1, 2, 4, 8)] == [1, 2, 3, 5]
    assert [least_depth(deep(levels, 1)) for levels in (1, 2, 4, 8)] == [1, 2, 3, 5]


def test_what_is_beyond_the_limits_is_refused() -> None:
    tree = deep(6, 1)
    with pytest.raises(
        TargetError, match=r"need 6 nested queries, but SQLite allows 5"
    ):
        run(tree, staged(depth=1, stages=5), ROWS)
    check(tree, staged(depth=1, stages=6), ROWS)
    with pytest.raises(TargetError, match=r"needs \d+ columns, but SQLite allows 2:"):
        run(tree, staged(depth=1, columns=2), ROWS)
    check(tree, staged(depth=1, columns=3), ROWS)
    check(tree, staged(operators=4), ROWS)
    for dialect in (staged(operators=3), inline(operators=4)):
        with pytest.raises(
            TargetError, match=r"nests \d+ operators, but SQLite allows"
        ):
            run(tree, dialect, ROWS)
    check(tree, staged(terms=12), ROWS)
    check(tree, inline(terms=12), ROWS)
    for dialect in (staged(terms=11), inline(terms=11)):
        with pytest.raises(TargetError, match=r"needs 12 sums.*the limit.*is 11:"):
            run(tree, dialect, ROWS)


def test_the_greatest_of_three_is_written_twice_without_names() -> None:
    tree = body(model())  # three splits, three labels: five shares to be written
    run(tree, inline(terms=15), GRID)
    with pytest.raises(TargetError, match=r"needs 15 sums"):
        run(tree, inline(terms=14), GRID)
    naming = "(SELECT {answer} FROM (VALUES ({shares})))"
    run(tree, inline(terms=9, naming=naming, named="column{number}"), GRID)
    run(tree, inline(terms=9), GRID, output="probability")
    run(tree, inline(terms=3), GRID, output="probability", label="b")


def test_sets_are_written_singly_where_a_database_wants_it() -> None:
    tree = body(model())
    single = replace(staged(), limits=replace(SQLITE.limits, many_sets=1))
    check(tree, single, GRID)


@pytest.mark.parametrize("names", [("x0", "heat", "v1_0"), ("sky", "X1", "tc_x2")])
def test_columns_may_have_the_names_of_sums(names: tuple[str, ...]) -> None:
    tree = body(model())
    features = tuple(
        replace(f, name=name) for f, name in zip(tree.features, names, strict=True)
    )
    check(replace(tree, features=features), staged(depth=1), GRID)


# ---------------------------------------------------------------- layout


def outline(dialect: Dialect, labels: int) -> str:
    """The text for one split, with `..` for the amounts of its branches."""
    tree = body(numbers(0.5, 16.0))
    if labels:
        below, above = leaf_of(1, 1, 2), leaf_of(2, 1, 1)
        if labels == 2:
            below, above = leaf(1, 3), leaf(3, 1)
        nodes = (tree.nodes[0], below, above)
        tree = replace(tree, labels=("a", "b", "c")[:labels], nodes=nodes)
    asked = EmitOptions(comments=False)
    columns = column_names(tree, dialect, {})
    (lines,) = expressions(tree, dialect, columns, asked).values()
    text = "\n".join(lines[1:-3])  # without what rows with known values get
    return re.sub("CASE WHEN .*? END", "..", text)


def test_the_layout_of_one_expression() -> None:
    assert outline(inline(), 0) == """\
  WHEN `heat` IS NULL THEN
    (0.0
      + 0.5 * ..
      + 16.0 * ..
    ) / .."""
    assert outline(inline(), 2) == """\
  WHEN `heat` IS NULL THEN
    CASE
      WHEN (0.0
        + 0.25 * ..
        + 0.75 * ..
      ) / ..
      >= (0.0
        + 0.75 * ..
        + 0.25 * ..
      ) / ..
      THEN 'a'
      ELSE 'b'
    END"""
    three = outline(inline(), 3)
    assert three.startswith("""\
  WHEN `heat` IS NULL THEN
    CASE max(
      (0.0
        + 0.25 * ..
        + 0.5 * ..
      ) / ..,
      (0.0
""")
    assert three.endswith("""
      ) / ..
    )
      WHEN (0.0
        + 0.25 * ..
        + 0.5 * ..
      ) / ..
      THEN 'a'
      WHEN (0.0
        + 0.25 * ..
        + 0.25 * ..
      ) / ..
      THEN 'b'
      ELSE 'c'
    END""")


def test_the_layout_of_stages() -> None:
    assert outline(staged(), 0) == """\
  WHEN `heat` IS NULL THEN (
    WITH d0 AS (
      SELECT
        .. AS x0
      LIMIT 1 OFFSET 0
    ),
    d1 AS (
      SELECT
        ((0.0
          + .. * 0.5
          + .. * 16.0
        ) / ..) AS v0_0
      FROM d0 LIMIT 1 OFFSET 0
    )
    SELECT v0_0 FROM d1
  )"""
