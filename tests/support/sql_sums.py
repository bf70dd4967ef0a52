"""Sums over divided rows, written for SQLite as other databases need them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product

from tests.support.fractional import (
    GRID,
    counts,
    leaf,
    model,
    numbers,
    shares,
)
from tests.support.fractional import tree as small_tree
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.lower import expressions
from treecompile.emit.sql.text import Quoting, column_names
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


NAMING = Phrase("(SELECT {answer} FROM (VALUES ({shares})))", ("answer", "shares"))
NAMED = {"naming": NAMING, "named": Phrase("column{number}", ("place", "number"))}


def staged(**sums: int | str | Phrase) -> Dialect:
    """Sums as the columns of nested queries."""
    return replace(SQLITE, sums=replace(SQLITE.sums, **sums))  # type: ignore[arg-type]


def inline(**sums: int | str | Phrase) -> Dialect:
    """All in one expression; SQLite's parser allows so much only outside of views."""
    whole: dict[str, int | str | Phrase] = {"stages": 0, "greatest": "max", "depth": 20}
    return staged(**(whole | sums))


def run(
    tree: Tree, dialect: Dialect, rows: Sequence[Row], **options: str
) -> list[object]:
    columns = column_names(tree, Quoting(dialect), {})
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


def written(tree: Tree, dialect: Dialect, **options: str) -> str:
    columns = column_names(tree, Quoting(dialect), {})
    asked = EmitOptions(comments=False, **options)  # type: ignore[arg-type]
    (lines,) = expressions(tree, dialect, columns, asked).values()
    return "\n".join(lines)
