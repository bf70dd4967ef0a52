"""Trees that divide missing values, as deep and as large as they come."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.engines.databases import DATABASES
from tests.random_models import large_rows, large_tree
from treecompile.compiler import emit
from treecompile.ir import (
    ClassCounts,
    Leaf,
    MissingPolicy,
    Node,
    Program,
    Row,
    Split,
    Tree,
)
from treecompile.lower import EmitOptions
from treecompile.semantics import distribution
from treecompile.verify.engines import run_python, run_sql


def dividing(leaves: int, *, chain: bool) -> Tree:
    """A large tree with weights and counts of its own in every node."""
    tree, dice = large_tree(leaves, chain=chain), Random(5)
    nodes: list[Node] = []
    for node in tree.nodes:
        if isinstance(node, Leaf):
            stats = ClassCounts((dice.randint(1, 9) / 7, dice.randint(1, 9) / 3))
            nodes.append(replace(node, stats=stats))
            continue
        branches = (replace(b, weight=dice.uniform(1, 50)) for b in node.branches)
        nodes.append(replace(node, branches=tuple(branches)))
    return replace(tree, nodes=tuple(nodes), missing=MissingPolicy.FRACTIONAL)


def rows() -> list[Row]:
    """Rows of which two or three values are missing, and one without any."""
    dice = Random(1)
    found: list[Row] = [
        tuple(None if dice.random() < 0.25 else value for value in row)
        for row in large_rows(40)
    ]
    return [*found, (None,) * len(found[0])]


SIZES = [
    pytest.param(1_000, True, id="chain of 1,000"),
    pytest.param(1_000, False, id="1,000 leaves"),
    pytest.param(100_000, False, id="100,000 leaves", marks=pytest.mark.large),
]


@pytest.mark.parametrize("style", ["standard", "numpy"])
@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_python_divides_it(leaves: int, chain: bool, style: str) -> None:
    tree = dividing(leaves, chain=chain)
    text = emit(Program("y", "random", tree), "python", EmitOptions(style=style)).text
    answers = run_python(text, tree.features, rows())
    expected = [distribution(tree, row) for row in rows()]
    assert [answer.probabilities for answer in answers] == expected
    assert isinstance(tree.nodes[0], Split)


SLOW = pytest.mark.large  # DuckDB plans these sums for seconds


@pytest.mark.parametrize(
    "engine",
    ["sqlite", "sqlite, newer", "postgres", pytest.param("duckdb", marks=SLOW)],
)
@pytest.mark.parametrize(("leaves", "chain"), SIZES[:2])
def test_databases_divide_it(leaves: int, chain: bool, engine: str) -> None:
    tree, database = dividing(leaves, chain=chain), DATABASES[engine]()
    options = EmitOptions(
        dialect=database.dialect.key, output="probability", label="yes"
    )
    text = emit(Program("y", "random", tree), "sql", options).text
    found = run_sql(text, tree.features, rows(), database)
    assert found == [distribution(tree, row)[1] for row in rows()]
