"""Sums over divided rows, run by SQLite in all the ways that databases need."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.fractional import (
    GRID,
    leaf,
    leaf_of,
    model,
    numbers,
)
from tests.support.sql_sums import (
    HEATS,
    MODELS,
    NAMED,
    ONE_LABEL,
    ROWS,
    SQLITE,
    body,
    check,
    deep,
    inline,
    run,
    staged,
)
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.lower import expressions
from treecompile.emit.sql.text import Quoting, column_names
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Tree,
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
    check(tree, inline(**NAMED), rows)
    places = ("answer", "shares", "names")
    naming = Phrase(
        "(WITH s({names}) AS (SELECT {shares}) SELECT {answer} FROM s)", places
    )
    check(tree, inline(naming=naming, named=Phrase("s{place}", ("place",))), rows)


@pytest.mark.parametrize("dialect", [staged(), inline()], ids=["staged", "inline"])
def test_one_label_is_certain(dialect: Dialect) -> None:
    check(ONE_LABEL, dialect, HEATS)


# ---------------------------------------------------------------- deep trees


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
        TargetError,
        match=r"^the sums of this tree need 6 nested queries, but SQLite allows 5",
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
    run(tree, inline(terms=9, **NAMED), GRID)
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
    columns = column_names(tree, Quoting(dialect), {})
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
