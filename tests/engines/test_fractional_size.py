"""Very deep and very large trees that divide missing values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.support.databases import DATABASES
from tests.support.random_models import large_rows, large_tree
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.engines.addresses import ENGINES
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
    Program,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import distribution
from treecompile.verify.execution import run_sql
from treecompile.verify.python_process import run_python


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


@pytest.mark.parametrize(("leaves", "chain"), SIZES)
def test_python_divides_it(leaves: int, chain: bool) -> None:
    tree = dividing(leaves, chain=chain)
    text = emit(Program("y", "random", tree), "python").text
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


# The longest chain with the longest branch behind, and in front; and many leaves.
IN_ONE = [
    ("mariadb", 133, 100, 1_000),
    pytest.param("clickhouse", 149, 112, 1_000, marks=LARGE),
    pytest.param("spark", 133, 100, 200, marks=LARGE),
    ("datafusion", 30, 31, 300),
]


def turned(tree: Tree) -> Tree:
    """The branches in the other order: the longest comes first."""
    nodes: list[Node] = []
    for node in tree.nodes:
        if isinstance(node, Split):
            node = replace(node, branches=tuple(reversed(node.branches)))
        nodes.append(node)
    return replace(tree, nodes=tuple(nodes))


@pytest.mark.parametrize(("engine", "behind", "before", "leaves"), IN_ONE)
def test_databases_divide_it_in_one_expression(
    engine: str, behind: int, before: int, leaves: int
) -> None:
    check(dividing(behind + 1, chain=True), engine)
    check(turned(dividing(before + 1, chain=True)), engine)
    check(dividing(leaves, chain=False), engine)


def four_ways(depth: int, place: int) -> Tree:
    """Splits of four branches, of which the one at a place has the next split."""
    names, dice = ("a", "b", "c", "d"), Random(place)
    features = tuple(
        Feature(f"f{n}", Kind.CATEGORICAL, ValueType.STR, names) for n in range(3)
    )
    nodes: list[Node] = []
    for level in range(depth + 1):
        stats = [
            ClassCounts((dice.uniform(0, 9), dice.uniform(0, 9))) for _ in names[1:]
        ]
        leaves: list[Node] = [Leaf("no", some, 1.0) for some in stats]
        if level == depth:
            nodes.append(leaves[0])
            break
        start = len(nodes)
        children = [start + 1, start + 2, start + 3]
        children.insert(place, start + 4)
        tests = [Condition(level % 3, Op.IN, (name,), False) for name in names[:-1]]
        tests.append(Condition(level % 3, Op.NOT_IN, names[:-1], True))
        branches = (
            Branch(test, child, dice.uniform(1, 50))
            for test, child in zip(tests, children, strict=True)
        )
        nodes += [Split(tuple(branches), stats[0], 0.0), *leaves]
    policy = MissingPolicy.FRACTIONAL
    return Tree(features, ("no", "yes"), tuple(nodes), policy)


@pytest.mark.parametrize("place", range(4))
def test_what_is_turned_is_added_in_order(place: int) -> None:
    """Deeper than DataFusion takes as it stands."""
    tree, database = four_ways(20, place), DATABASES["datafusion"]()
    values: list[Row] = list(product(("a", "c", "d", None), repeat=3))
    options = EmitOptions(dialect="datafusion", output="probability", label="yes")
    text = emit(Program("y", "random", tree), "sql", options).text
    found = run_sql(text, tree.features, values, database)
    assert found == [distribution(tree, row)[1] for row in values]


@pytest.mark.parametrize(
    ("engine", "behind", "before", "said"),
    [
        ("mariadb", 133, 100, r"nests 40\d operators, but MariaDB allows 400: "),
        ("mysql", 133, 100, r"nests 40\d operators, but MySQL allows 400: "),
        ("clickhouse", 149, 112, r"nests 45\d operators, but ClickHouse allows 450: "),
        ("spark", 133, 100, r"nests 40\d operators, but Spark allows 400: "),
        ("datafusion", 30, 31, "nested 17 deep, but DataFusion allows 16: "),
    ],
)
def test_a_longer_chain_is_refused(
    engine: str, behind: int, before: int, said: str
) -> None:
    options = EmitOptions(dialect=engine, output="probability", label="yes")
    for tree in (
        dividing(behind + 2, chain=True),
        turned(dividing(before + 2, chain=True)),
    ):
        program = Program("y", "random", tree)
        with pytest.raises(TargetError, match=said):
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


@pytest.mark.parametrize("engine", ENGINES)
def test_a_split_of_too_many_branches_is_refused(engine: str) -> None:
    most = read_dialect(engine).sums.operators
    with pytest.raises(TargetError, match=f"nests {most + 1} operators, .* {most}: "):
        emit(Program("y", "r", wide(most - 1)), "sql", EmitOptions(dialect=engine))
