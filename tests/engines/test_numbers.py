"""Numbers of every type, at thresholds from the whole range of doubles."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, isfinite, nextafter
from random import Random
from typing import Any

import pytest

from tests.support.databases import DATABASES, SLOW
from tests.support.random_models import random_double
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import (
    Branch,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider, negate
from treecompile.verify.execution import can_hold, run_sql

SPECIAL = (
    *(0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    *(0.1, 0.3, 1 / 3, 2.0**53, 2.0**53 + 2, 2.0**62, 1e22, 1e23, 9007199254740993.0),
    *(0.03503766454344431, 0.0019247, 5e-5, 123456789.123456789, 1e-300, 1e300),
)


def chain(thresholds: list[float]) -> Program:
    """A regression that cuts one feature at each threshold, with awkward answers."""
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    cuts = sorted({cut + 0.0 for cut in thresholds})
    nodes: list[Node] = []
    for place, cut in enumerate(cuts):
        test = Condition(0, Op.LE, cut, missing=place % 3 == 1)
        split = (
            Branch(test, 2 * place + 1, 1.0),
            Branch(negate(test), 2 * place + 2, 1.0),
        )
        stats = Moments(1.0, 0.0, 0.0)
        nodes += [Split(split, stats, 0.0), Leaf(cut, Moments(1.0, cut, 0.0), 1.0)]
    nodes.append(Leaf(-0.1, Moments(1.0, -0.1, 0.0), 1.0))
    return Program("y", "random", Tree((feature,), (), tuple(nodes)))


def program(seed: int) -> Program:
    random = Random(seed)
    return chain([*SPECIAL, *(random_double(random) for _ in range(150))])


def edges(model: Program) -> list[Row]:
    cuts = [leaf.value for leaf in model.body.nodes if isinstance(leaf, Leaf)]  # type: ignore[union-attr]
    values = [v for cut in map(float, cuts) for v in (cut, *_beside(cut))]
    return [(value,) for value in (*values, inf, -inf, None)]


def _beside(value: float) -> tuple[float, float]:
    return nextafter(value, -inf), nextafter(value, inf)


def check(
    engine: str,
    model: Program,
    rows: list[Row],
    number_type: str = "",
) -> None:
    database = DATABASES[engine]()
    rows = [row for row in rows if can_hold(database.dialect, row)]
    decided = outcomes(model.body)
    expected = [decided[decider(model.body, row)].value for row in rows]
    options = EmitOptions(dialect=database.dialect.key)
    text = emit(model, "sql", options).text
    found = run_sql(text, model.body.features, rows, database, number_type=number_type)
    assert found == expected


def wholes(values: list[float]) -> Iterator[Any]:
    for value in values:
        if abs(value) < 2**62:
            yield from (int(value) + step for step in (-1, 0, 1))


def decimals(values: list[float]) -> Iterator[Any]:
    for value in values:
        if abs(value) < 1e25:
            for rounding in (ROUND_FLOOR, ROUND_CEILING):
                exact = Context(prec=60, rounding=rounding)
                yield exact.quantize(Decimal(value), Decimal("1e-10"))


def singles(values: list[float]) -> Iterator[Any]:
    for value in values:
        if abs(value) < 3e38:
            yield from struct.unpack("<f", struct.pack("<f", value))


def seeds(engine: str) -> range:
    return range(1 if engine in SLOW else 5)


CONVERTERS = {"whole": wholes, "decimal": decimals, "single": singles}
# SQLite has integers only; ClickHouse and DataFusion cast decimals inexactly.
WITH_DECIMALS = ("duckdb", "postgres", "mariadb", "spark")
WITH_SINGLES = (*WITH_DECIMALS, "clickhouse", "datafusion")
OTHERS = [
    *((engine, "whole") for engine in DATABASES),
    *((engine, "decimal") for engine in WITH_DECIMALS),
    *((engine, "single") for engine in WITH_SINGLES),
]


@pytest.mark.parametrize(
    ("engine", "seed"), [(e, s) for e in DATABASES for s in seeds(e)]
)
def test_doubles(engine: str, seed: int) -> None:
    model = program(seed)
    check(engine, model, edges(model))


@pytest.mark.parametrize("engine", DATABASES)
def test_decimals_as_people_write_them(engine: str) -> None:
    """Databases may take the text for an exact decimal, and convert it."""
    random = Random(7)
    cuts = [
        round(
            random.uniform(-1, 1) * 10.0 ** random.randint(0, 6), random.randint(0, 12)
        )
        for _ in range(100 if engine in SLOW else 300)
    ]
    model = chain([*cuts, 40.0, 40.5, 0.1, 0.3, 2.675, 1e8, 999999999.0, 1e9])
    check(engine, model, edges(model))


@pytest.mark.parametrize(
    ("engine", "kind", "seed"), [(e, k, s) for e, k in OTHERS for s in seeds(e)]
)
def test_other_types_of_number(engine: str, kind: str, seed: int) -> None:
    model = program(seed)
    name = getattr(DATABASES[engine]().dialect.number_types, kind)
    near = [v for (v,) in edges(model) if isinstance(v, float) and isfinite(v)]
    values = list(CONVERTERS[kind](near))
    assert len(values) > 100
    check(engine, model, [(None,), *((value,) for value in values)], name)


@pytest.mark.parametrize("engine", DATABASES)
def test_integers_beyond_2_to_the_53(engine: str) -> None:
    model = chain([2.0**53, 2.0**53 + 2, 2.0**60, -(2.0**57)])
    near = (-3, -2, -1, 0, 1, 2, 3, 63, 64, 65, 127, 128, 129)
    whole = [base + n for base in (2**53, 2**60, -(2**57)) for n in near]
    name = DATABASES[engine]().dialect.number_types.whole
    check(engine, model, [(n,) for n in whole], name)


@pytest.mark.parametrize("engine", WITH_DECIMALS)
def test_decimals_beside_a_threshold(engine: str) -> None:
    model = chain([0.1, 0.3, 1e15 + 0.3])
    texts = ("0.1", "0.1000000001", "0.0999999999", "0.3", "1000000000000000.3")
    rows: list[Row] = [(Decimal(text),) for text in texts]  # type: ignore[misc]
    name = DATABASES[engine]().dialect.number_types.decimal
    check(engine, model, rows, name)
