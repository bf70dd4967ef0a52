"""Trees that divide missing values, as deep and as large as they come."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.engines.databases import DATABASES
from tests.random_models import large_rows, large_tree
from treecompile.compiler import emit
from treecompile.errors import TargetError
from treecompile.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Program,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.lower import EmitOptions
from treecompile.semantics import distribution
from treecompile.targets import read_dialect
from treecompile.verify.drivers import DRIVERS
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


LARGE = pytest.mark.large  # planned for seconds
IN_STAGES = ["sqlite", "sqlite, newer", "postgres"]


def check(tree: Tree, engine: str) -> None:
    database = DATABASES[engine]()
    options = EmitOptions(
        dialect=database.dialect.key, output="probability", label="yes"
    )
    text = emit(Program("y", "random", tree), "sql", options).text
    found = run_sql(text, tree.features, rows(), database)
    assert found == [distribution(tree, row)[1] for row in rows()]


@pytest.mark.parametrize("engine", [*IN_STAGES, pytest.param("duckdb", marks=LARGE)])
@pytest.mark.parametrize(("leaves", "chain"), SIZES[:2])
def test_databases_divide_it(leaves: int, chain: bool, engine: str) -> None:
    check(dividing(leaves, chain=chain), engine)


# The most sums within one another, and leaves of a tree that is as large as they take.
IN_ONE = [
    ("mariadb", 100, 1_000),
    pytest.param("clickhouse", 100, 1_000, marks=LARGE),
    pytest.param("spark", 100, 200, marks=LARGE),
    ("datafusion", 15, 300),
]


def turned(tree: Tree) -> Tree:
    """The branches in the other order: the longest comes first."""
    nodes: list[Node] = []
    for node in tree.nodes:
        if isinstance(node, Split):
            node = replace(node, branches=tuple(reversed(node.branches)))
        nodes.append(node)
    return replace(tree, nodes=tuple(nodes))


@pytest.mark.parametrize(("engine", "depth", "leaves"), IN_ONE)
def test_databases_divide_it_in_one_expression(
    engine: str, depth: int, leaves: int
) -> None:
    chain = dividing(depth + 1, chain=True)
    for tree in (chain, turned(chain), dividing(leaves, chain=False)):
        check(tree, engine)


@pytest.mark.parametrize("engine", ["mariadb", "clickhouse", "spark", "datafusion"])
def test_a_deeper_chain_is_refused(engine: str) -> None:
    most = read_dialect(engine).sums.depth
    options = EmitOptions(dialect=engine, output="probability", label="yes")
    program = Program("y", "random", dividing(most + 2, chain=True))
    with pytest.raises(TargetError, match=f" lie {most + 1} deep .* takes {most}: "):
        emit(program, "sql", options)
    assert emit(program, "sql", replace(options, output="rule", label="")).text


def wide(branches: int) -> Tree:
    """One split, a branch for each category."""
    names, dice = tuple(f"c{n}" for n in range(branches)), Random(3)
    feature = Feature("kind", Kind.CATEGORICAL, ValueType.STR, names)
    *first, last = (
        Branch(Condition(0, Op.IN, (name,), False), n, dice.uniform(1, 9))
        for n, name in enumerate(names, start=1)
    )
    last = replace(last, when=Condition(0, Op.NOT_IN, names[:-1], True))
    stats = [
        ClassCounts((dice.randint(1, 9) / 7, dice.randint(1, 9) / 3)) for _ in names
    ]
    nodes: list[Node] = [Split((*first, last), stats[0], 0.0)]
    nodes += [Leaf("yes", some, 1.0) for some in stats]
    return Tree((feature,), ("no", "yes"), tuple(nodes), MissingPolicy.FRACTIONAL)


@pytest.mark.parametrize(
    ("engine", "branches"),
    [
        *(("sqlite", 948), ("postgres", 1_998), ("mariadb", 150), ("datafusion", 100)),
        pytest.param("duckdb", 948, marks=LARGE),
        pytest.param("mariadb", 398, marks=LARGE),
        pytest.param("clickhouse", 448, marks=LARGE),
        pytest.param("spark", 100, marks=LARGE),
        pytest.param("datafusion", 398, marks=LARGE),
    ],
)
def test_splits_of_many_branches(engine: str, branches: int) -> None:
    tree, database = wide(branches), DATABASES[engine]()
    values: list[Row] = [("c0",), (f"c{branches - 1}",), (None,), ("another",)]
    options = EmitOptions(dialect=engine, output="probability", label="yes")
    text = emit(Program("y", "random", tree), "sql", options).text
    found = run_sql(text, tree.features, values, database)
    assert found == [distribution(tree, row)[1] for row in values]


@pytest.mark.parametrize("engine", DRIVERS)
def test_a_split_of_too_many_branches_is_refused(engine: str) -> None:
    most = read_dialect(engine).sums.operators
    with pytest.raises(TargetError, match=f"nests {most + 1} operators, .* {most}: "):
        emit(Program("y", "r", wide(most - 1)), "sql", EmitOptions(dialect=engine))
