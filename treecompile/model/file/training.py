"""The part of a model file about the rows that its model was learned from."""

from __future__ import annotations

from typing import Any

from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.paths import leaf_count


def read_training(item: Any, body: ir.Body) -> ir.Training:
    """What a model file says of the rows that its model was learned from."""
    deciding = leaf_count(body) + isinstance(body, ir.RuleSet)  # with the default

    def columns(item: Any, where: str) -> tuple[ir.ColumnSummary, ...]:
        found = checks.listed(item, where, _column)
        if len(found) != len(body.features):
            raise ModelFileError(f"{where}: expected one for each feature")
        return found

    def quality(item: Any, where: str) -> ir.Quality:
        if body.labels:
            return _class_quality(item, len(body.labels), where)
        readers: dict[str, checks.PartReader] = {
            "rows": checks.integer,
            "mean_absolute_error": checks.number,
            "root_mean_squared_error": checks.number,
            "r_squared": checks.optional(checks.number),
        }
        return ir.ValueQuality(*checks.fields(item, where, readers))

    def tallies(item: Any, where: str) -> tuple[ir.RuleTally, ...]:
        read = _class_tally if body.labels else _value_tally
        found = checks.listed(item, where, read)
        if len(found) != deciding:
            raise ModelFileError(f"{where}: expected {deciding}, one for each rule")
        return found

    def estimate(item: Any, where: str) -> ir.Estimate:
        parts = {"folds": checks.integer, "quality": quality}
        found = ir.Estimate(*checks.fields(item, where, parts))
        if found.folds < 1:
            raise ModelFileError(f"{where}.folds: expected 1 or more")
        return found

    readers: dict[str, checks.PartReader] = {
        "source": checks.text,
        "rows": checks.integer,
        "columns": columns,
        "quality": checks.optional(quality),
        "validation": checks.optional(quality),
        "rules": tallies,
        "validation_rules": tallies,
        "estimate": estimate,
    }
    checks.as_object(item, "training")
    for key in ("rules", "validation_rules", "estimate"):  # these may be absent
        if key not in item:
            del readers[key]
    found = checks.fields(item, "training", readers)
    return ir.Training(**dict(zip(readers, found, strict=True)))


def _column(item: Any, where: str) -> ir.ColumnSummary:
    readers = {"missing": checks.integer, "low": _bound, "high": _bound}
    return ir.ColumnSummary(*checks.fields(item, where, readers))


def _bound(item: Any, where: str) -> float | None:
    if item in ("inf", "-inf"):
        return float(item)
    return None if item is None else checks.number(item, where)


def _class_tally(item: Any, where: str) -> ir.RuleTally:
    tally = _tally(item, where, checks.number)
    if not (
        0 <= tally.matched_errors <= tally.matched
        and 0 <= tally.errors <= tally.decided <= tally.matched
    ):
        raise ModelFileError(
            f"{where}: expected no more errors than rows, and no more rows that the"
            " rule decides than rows that meet its conditions"
        )
    return tally


def _value_tally(item: Any, where: str) -> ir.RuleTally:
    return _tally(item, where, checks.squares)


def _tally(item: Any, where: str, errors: checks.PartReader) -> ir.RuleTally:
    if len(checks.as_list(item, where)) != 4:
        raise ModelFileError(f"{where}: expected four numbers")
    readers = (checks.integer, errors, checks.integer, errors)
    found = (read(each, where) for read, each in zip(readers, item, strict=True))
    return ir.RuleTally(*found)


def _class_quality(item: Any, labels: int, where: str) -> ir.ClassQuality:
    checks.keys(item, ["confusion"], where)
    confusion = tuple(
        tuple(checks.integer(count, where) for count in checks.as_list(row, where))
        for row in checks.as_list(item["confusion"], where)
    )
    if len(confusion) != labels or any(len(row) != labels for row in confusion):
        raise ModelFileError(f"{where}: expected {labels} rows of {labels} counts")
    return ir.ClassQuality(confusion)
