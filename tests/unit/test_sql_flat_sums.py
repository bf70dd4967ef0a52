"""Sums over divided rows: how deep they nest, and how they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from math import ceil
from random import Random

import pytest

from tests.support.fractional import (
    GRID,
    counts,
    leaf,
    model,
    numbers,
)
from tests.support.sql_sums import (
    MODELS,
    ONE_LABEL,
    ROWS,
    SQLITE,
    X,
    body,
    check,
    deep,
    inline,
    staged,
    written,
)
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.fractional import bounds
from treecompile.emit.sql.fractional_inline import InlineSums, measured
from treecompile.emit.sql.fractional_stages import free_prefix
from treecompile.emit.sql.text import ConditionWriter, Quoting, column_names
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Branch,
    Condition,
    Feature,
    Kind,
    Leaf,
    MissingPolicy,
    Moments,
    Node,
    Op,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate

# ---------------------------------------------------------------- flat sums


def bushy(dice: Random, splits: int) -> Tree:
    """A tree whose splits have two or three branches and any shape."""
    colour = Feature("c", Kind.CATEGORICAL, ValueType.STR, ("a", "b"))
    rest = Condition(1, Op.NOT_IN, ("a", "b"), missing=True)
    nodes: list[Node] = [leaf(1, 2)]
    for _ in range(splits):
        at = dice.choice([p for p, n in enumerate(nodes) if isinstance(n, Leaf)])
        cut = Condition(0, Op.LE, float(dice.randrange(3)), missing=True)
        tests = [cut, negate(cut)]
        if dice.random() < 0.5:
            tests = [Condition(1, Op.IN, (c,), False) for c in "ab"] + [rest]
        made = [Branch(test, len(nodes) + n, 1.0 + n) for n, test in enumerate(tests)]
        nodes[at] = Split(tuple(made), counts(1, 1), 0.0)
        nodes += [leaf(1 + n, 2) for n in range(len(tests))]
    return Tree((X, colour), ("no", "yes"), tuple(nodes), MissingPolicy.FRACTIONAL)


def levels_of(text: str) -> int:
    """How deep a parser descends: one level for a bracket, one after a plus."""
    open_brackets, most = [0], 0  # for each, whether a plus came in it
    for sign in re.findall(r"[(+)]", re.sub("CASE WHEN .*? END", "", text)):
        if sign == "(":
            open_brackets.append(0)
        elif sign == "+":
            open_brackets[-1] = 1
        else:
            open_brackets.pop()
        most = max(most, len(open_brackets) - 1 + sum(open_brackets))
    return most


def flattest(tree: Tree, position: int) -> int:
    """The fewest levels of a sum, whatever branch of each split is written first."""
    node = tree.nodes[position]
    if not isinstance(node, Split):
        return 0
    inner = [flattest(tree, branch.then) for branch in node.branches]
    found = [2 + max(inner)]
    for first, levels in enumerate(inner):
        before = [4 + each for each in inner[:first]]
        behind = [2 + each for each in inner[first + 1 :]]
        found.append(max([1 + levels, 2, *before, *behind]))
    return min(found)


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_as_flat_as_can_be_where_they_must(seed: int) -> None:
    dice = Random(seed)
    tree = bushy(dice, dice.randint(1, 9))
    columns = column_names(tree, Quoting(SQLITE), {})
    sums = InlineSums(tree, ConditionWriter(inline(), tree, columns))
    for swapping in (False, True):
        levels, _, sums.first = measured(tree, swapping=swapping)
        text = "\n".join(line for _, line in sums.share(0))
        assert levels_of(text) == levels
        assert swapping or not sums.first
    assert levels == flattest(tree, 0)
    check(tree, inline(depth=-(-levels // 2)), ROWS)


def test_branches_keep_their_order_where_the_depth_allows_it() -> None:
    tree = deep(6, 1)
    ordered = written(tree, inline(depth=6))
    assert ordered == written(tree, inline(depth=20))
    assert ordered != written(tree, inline(depth=5))
    # Two sums of the same depth: no order is flatter than the other.
    cut = Condition(0, Op.LE, 1.0, missing=True)
    nodes: list[Node] = [
        Split((Branch(cut, n, 1.0), Branch(negate(cut), n + 1, 1.0)), counts(1, 1), 0.0)
        for n in (1, 3, 5)
    ]
    nodes += [leaf(1, n) for n in range(4)]
    twins = Tree((X,), ("no", "yes"), tuple(nodes), MissingPolicy.FRACTIONAL)
    assert measured(twins, swapping=True) == (4, measured(twins, swapping=False)[1], {})


def test_the_layout_of_a_branch_written_first() -> None:
    said = r"\bthe sums of this tree are nested 2 deep, but SQLite allows 1:"
    for side in (0, 1):
        with pytest.raises(TargetError, match=said):
            written(deep(2, side), inline(depth=1))

    def layout(side: int) -> str:
        text = written(deep(4, side), inline(depth=3), output="probability", label="no")
        lines = re.sub("CASE WHEN .*? END", "..", text).split("\n")
        return "\n".join(line[4:] for line in lines[2 : lines.index("    ) / ..") + 1])

    assert layout(0) == """\
((((0.0
  + 0.625 * ..
  + 0.6666666666666666 * ..
) / .. * ..
  + 0.0
  + 0.6 * ..
) / .. * ..
  + 0.0
  + 0.5 * ..
) / .. * ..
  + 0.0
  + 0.3333333333333333 * ..
) / .."""
    assert layout(1) == """\
(((0.0
  + 0.6 * ..
  + (0.0
    + 0.6666666666666666 * ..
    + 0.625 * ..
  ) / .. * ..
) / .. * ..
  + (0.0
    + 0.5 * ..
  )
) / .. * ..
  + (0.0
    + 0.3333333333333333 * ..
  )
) / .."""


# ---------------------------------------------------------------- more of the text


def test_a_number_needs_one_sum_for_each_split() -> None:
    tree, rows = MODELS["numbers"]
    check(tree, inline(terms=1), rows)
    check(tree, staged(terms=1), rows)


def test_the_layout_of_one_label() -> None:
    text = written(ONE_LABEL, inline())
    assert "\n    'only'\n" in text


@pytest.mark.parametrize("dialect", [staged(), inline()], ids=["staged", "inline"])
def test_no_zero_has_a_sign(dialect: Dialect) -> None:
    tree = body(numbers(-0.0, 16.0))
    root = tree.nodes[0]
    assert isinstance(root, Split)
    low, high = root.branches
    cut = replace(low.when, value=-0.0)
    branches = (
        replace(low, when=cut, weight=-0.0),
        replace(high, when=negate(cut), weight=1.0),
    )
    tree = replace(tree, nodes=(replace(root, branches=branches), *tree.nodes[1:]))
    text = written(tree, dialect)
    assert not re.search(r"-0\.0\b", text)
    check(tree, dialect, [(-0.0,), (0.0,), (1.0,), (None,)])


def stages(tree: Tree, dialect: Dialect) -> int:
    return written(tree, dialect).count(" AS (") - 1  # without that which reads


@pytest.mark.parametrize("most", range(4, 27))
def test_each_stage_nests_as_many_operators_as_it_may(most: int) -> None:
    """The product, two additions and a division; one addition less in the last branch.

    Whether another sum fits is decided as if it stood in the first branch.
    """
    dialect = staged(depth=20, operators=most)
    assert stages(deep(6, 0), dialect) == ceil(6 / (most // 4))
    assert stages(deep(6, 1), dialect) == ceil(6 / max(1, (most - 2) // 3))


def test_a_category_is_compared_and_several_are_a_set() -> None:
    tree = body(model())
    text = written(tree, staged())
    assert " WHEN x0 = 0 THEN 1.0 ELSE" in text
    assert " WHEN x0 NOT IN (0, 2) THEN 1.0 ELSE" in text
    single = replace(staged(), limits=replace(SQLITE.limits, many_sets=1))
    text = written(tree, single)
    assert " WHEN x0 = 0 THEN 1.0 ELSE" in text
    assert " WHEN (x0 <> 0 AND x0 <> 2) THEN 1.0 ELSE" in text


def test_a_category_may_be_compared_with_the_bare_column() -> None:
    equal = Phrase("{column} COLLATE BINARY = {value}", ("x", "column", "value"))
    dialect = replace(staged(), conditions=replace(SQLITE.conditions, equal=equal))
    check(body(model()), dialect, GRID)


def test_names_of_sums_that_no_column_has() -> None:
    assert free_prefix(["`a`", "`x`", "`vv1`"], SQLITE) == ""
    assert free_prefix(["`a`", "`X1`"], SQLITE) == "tc_"
    assert free_prefix(["`v0`", "`b`", "`tc_x2`"], SQLITE) == "tc_tc_"


# ---------------------------------------------------------------- bounds


def paired(*splits: tuple[float, float], leaves: tuple[float, ...]) -> Tree:
    """One or three splits with these weights of their branches, over these numbers."""
    cut = Condition(0, Op.LE, 1.0, missing=True)
    nodes: list[Node] = [
        Split(
            (Branch(cut, n, low), Branch(negate(cut), n + 1, high)),
            Moments(2.0, 0.0, 0.0),
            0.0,
        )
        for n, (low, high) in zip((1, 3, 5), splits, strict=False)
    ]
    nodes += [Leaf(value, Moments(1.0, value, 0.0), 1.0) for value in leaves]
    return Tree((X,), (), tuple(nodes), MissingPolicy.FRACTIONAL)


def test_the_least_and_the_greatest_number_of_a_sum() -> None:
    assert bounds(paired((0.25, 0.25), leaves=(8.0, -16.0))) == (1.0, 8.0)
    assert bounds(paired((1.0, 3.0), leaves=(0.0, 0.0))) == (1.0, 0.0)
    assert bounds(paired((1.0, 3.0), leaves=(0.0, 1.0)))[0] == 0.75
    assert bounds(paired((0.5, 3.0), leaves=(0.25, 1.0)))[0] == 0.125
    zeros = (0.0, 0.0, 0.0, 0.0)
    nothing = paired((0.25, 0.25), (1.0, 1.0), (1.0, 1.0), leaves=zeros)
    assert bounds(nothing) == (1.0, 0.0)
    # Below the root 6 and 1, or zero if the value is known: 3 of 5 is the least.
    either = paired((2.0, 3.0), (1.0, 3.0), (1.0, 1.0), leaves=(0.0, 8.0, 0.0, 2.0))
    assert bounds(either) == (0.6, 40.0)


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_one_expression_nests_the_operators_of_all_its_sums(levels: int) -> None:
    for side, most in ((0, 4 * levels), (1, 3 * levels + 1)):
        tree = deep(levels, side)
        check(tree, inline(operators=most), ROWS)
        said = f"nests {most} operators, but SQLite allows {most - 1}:"
        with pytest.raises(TargetError, match=said):
            written(tree, inline(operators=most - 1))
