"""What a model file tells of the rows that its model was learned from."""

from __future__ import annotations

from typing import Any

from treecompile.errors import ModelFileError
from treecompile.ir import (
    Body,
    ClassQuality,
    ColumnSummary,
    Leaf,
    Quality,
    RuleSet,
    RuleTally,
    Training,
    ValueQuality,
)
from treecompile.model_file import checks


def read_training(item: Any, body: Body) -> Training | None:
    if item is None:
        return None
    needed = ["source", "rows", "columns", "quality", "validation"]
    counted = ["rules", "validation_rules"]  # which need not be there
    given = [key for key in counted if key in checks.as_object(item, "training")]
    checks.keys(item, [*needed, *given], "training")
    deciding = (
        len(body.rules) + 1
        if isinstance(body, RuleSet)
        else sum(isinstance(node, Leaf) for node in body.nodes)
    )
    columns = checks.as_list(item["columns"], "training.columns")
    if len(columns) != len(body.features):
        raise ModelFileError("training.columns: expected one for each feature")
    return Training(
        checks.text(item["source"], "training.source"),
        checks.integer(item["rows"], "training.rows"),
        tuple(_column(c, f"training.columns[{i}]") for i, c in enumerate(columns)),
        _quality(item["quality"], len(body.labels), "training.quality"),
        _quality(item["validation"], len(body.labels), "training.validation"),
        *(
            (_tallies(item[key], deciding, f"training.{key}") if key in given else ())
            for key in counted
        ),
    )


def _tallies(item: Any, deciding: int, where: str) -> tuple[RuleTally, ...]:
    items = checks.as_list(item, where)
    if len(items) != deciding:
        raise ModelFileError(f"{where}: expected {deciding}, one for each rule")
    return tuple(_tally(entry, f"{where}[{i}]") for i, entry in enumerate(items))


def _tally(item: Any, where: str) -> RuleTally:
    if len(checks.as_list(item, where)) != 4:
        raise ModelFileError(f"{where}: expected four numbers")
    return RuleTally(
        checks.integer(item[0], where),
        checks.weight(item[1], where),
        checks.integer(item[2], where),
        checks.weight(item[3], where),
    )


def _column(item: Any, where: str) -> ColumnSummary:
    checks.keys(item, ["missing", "low", "high"], where)
    bounds: list[float | None] = []
    for key in ("low", "high"):
        value = item[key]
        if value in ("inf", "-inf"):
            bounds.append(float(value))
        else:
            bounds.append(None if value is None else checks.number(value, where))
    return ColumnSummary(checks.integer(item["missing"], where), *bounds)


def _quality(item: Any, labels: int, where: str) -> Quality | None:
    if item is None:
        return None
    if labels:
        checks.keys(item, ["confusion"], where)
        rows = checks.as_list(item["confusion"], where)
        confusion = tuple(
            tuple(checks.integer(n, where) for n in checks.as_list(row, where))
            for row in rows
        )
        if len(confusion) != labels or any(len(row) != labels for row in confusion):
            raise ModelFileError(f"{where}: expected {labels} rows of {labels} counts")
        return ClassQuality(confusion)
    names = ["rows", "mean_absolute_error", "root_mean_squared_error", "r_squared"]
    checks.keys(item, names, where)
    r_squared = item["r_squared"]
    return ValueQuality(
        checks.integer(item["rows"], where),
        checks.number(item["mean_absolute_error"], where),
        checks.number(item["root_mean_squared_error"], where),
        None if r_squared is None else checks.number(r_squared, where),
    )
