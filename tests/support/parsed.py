"""What sqlglot reads in the SQL of dialects without a driver."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp

from treecompile.emit.literals import MIN_NORMAL
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting
from treecompile.model.errors import TargetError
from treecompile.model.ir import Body, Kind, Program, Tree, ValueType
from treecompile.model.semantics import conditions, membership

SUFFIX = re.compile(r"(?<=\d)d\b(?=[\s),])")


def parse(text: str, dialect: str) -> Any:
    if dialect == "oracle":
        text = SUFFIX.sub("", text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return sqlglot.parse_one(f"SELECT {text}", dialect=dialect)
    finally:
        sys.setrecursionlimit(limit)


def columns(program: Program, dialect: Dialect) -> dict[str, str]:
    """Other names for columns whose names the dialect does not allow."""
    quoting, others = Quoting(dialect), {}
    for place, feature in enumerate(program.body.features):
        try:
            quoting.name(feature.name)
        except TargetError:
            others[feature.name] = f"column{place}"
    return others


def texts(body: Body, dialect: Dialect) -> Iterator[str]:
    """The texts that the model compares with, and those that it answers."""
    for test in conditions(body):
        feature = body.features[test.feature]
        if feature.kind is not Kind.NUMERIC and feature.type is ValueType.STR:
            _, chosen, _ = membership(test, feature)
            yield from (f"{category}{dialect.literals.stop}" for category in chosen)
    yield from (value for value in answers(body) if isinstance(value, str))


def answers(body: Body) -> Iterator[object]:
    nodes = body.nodes if isinstance(body, Tree) else (*body.rules, body.default)
    yield from (getattr(node, "value", None) for node in nodes)


def thresholds(body: Body) -> Iterator[object]:
    yield from (test.value for test in conditions(body))


def subnormal(value: object) -> bool:
    """Whether SQL Server cannot hold this number."""
    return isinstance(value, float) and 0.0 < abs(value) < MIN_NORMAL


def read_texts(tree: Any) -> set[str]:
    """The texts that sqlglot has read; concatenated parts count as one text."""
    found = set()
    for node in tree.find_all(exp.Literal, exp.National, exp.Introducer, exp.Paren):
        if (text := text_of(node)) is not None:
            found.add(text)
    return found


def text_of(node: Any) -> str | None:
    match node:
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.National():
            return str(node.this)
        case exp.Introducer():
            inner = node.args["expression"]
            if isinstance(inner, exp.HexString):
                return bytes.fromhex(inner.this).decode()
            return text_of(inner)
        case exp.Chr():
            return chr(int(node.expressions[0].this))
        case exp.Paren():
            return text_of(node.this)
        case exp.Add() | exp.DPipe():
            left, right = text_of(node.left), text_of(node.right)
            return None if left is None or right is None else left + right
    return None
