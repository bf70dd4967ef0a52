"""Checks what a database refuses or reads slowly: types, values, size of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.outputs import answer_type
from treecompile.model.errors import TargetError
from treecompile.model.ir import AnyBody
from treecompile.model.semantics import required_features


def check_values(body: AnyBody, dialect: Dialect) -> None:
    """Refuse types and values that the database does not have, or confuses."""
    required = [body.features[index] for index in required_features(body)]
    typed = [(f"the column {feature.name!r}", feature.type) for feature in required]
    for what, value_type in (*typed, ("the prediction", answer_type(body, "label"))):
        if not dialect.types.of(value_type):
            raise TargetError(
                f"{dialect.name} has no type for {what}, of type {value_type}: learn it"
                " from data in which it is a number or a text"
            )
    empty = [f"category '' of {f.name!r}" for f in required if "" in f.categories]
    if "" in body.labels:
        empty.append("label ''")
    if empty and not dialect.values.empty_text:
        raise TargetError(
            f"{dialect.name} treats the {empty[0]} as NULL: replace it by another text"
            " in the data"
        )


def size_warnings(text: str, leaves: int, dialect: Dialect) -> Iterator[str]:
    """Yield warnings about a large text; raise if the database cannot run it."""
    limits = dialect.limits
    if 0 < limits.slow_leaves <= leaves:
        yield f"{dialect.name} is slow to read an expression of {leaves} leaves"
    size = len(text.encode())
    if 0 < limits.text < size:
        said = f"the SQL has {size:,} bytes, but {dialect.name} allows {limits.text:,}"
        if not limits.beyond:
            raise TargetError(f"{said}: learn a smaller tree, or prune it more")
        yield f"{said}: {limits.beyond}"


def console_warnings(columns: Iterable[str], dialect: Dialect) -> Iterator[str]:
    """Yield a warning about each name that a console would change."""
    replaced = dialect.names.replaced
    for column in columns:
        if replaced and replaced in column:
            yield (
                f"SQL*Plus and SQL Developer replace {replaced!r} in the name {column}:"
                " run SET DEFINE OFF first"
            )
