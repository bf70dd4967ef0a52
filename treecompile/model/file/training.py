"""The part of a model file about the rows that its model was learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.paths import leaf_count


def read_training(item: Any, body: ir.AnyBody) -> ir.Training:
    """What a model file says of the rows that its model was learned from."""
    deciding = 0  # of a forest, only the whole is measured
    if not isinstance(body, ir.Forest):  # with the default
        deciding = leaf_count(body) + isinstance(body, ir.RuleSet)

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
        def read(item: Any, where: str) -> ir.RuleTally:
            if body.labels:
                return _class_tally(item, where, len(body.labels))
            return _value_tally(item, where)

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


def _class_tally(item: Any, where: str, labels: int) -> ir.RuleTally:
    def actual(item: Any, decided: int) -> ir.Stats:
        counts = checks.listed(item, where, checks.integer)
        if len(counts) != labels or sum(counts) != decided:
            raise ModelFileError(
                f"{where}: expected a count for each label, {decided} in total"
            )
        return ir.ClassCounts(tuple(map(float, counts)))

    tally = _tally(item, where, checks.number, actual)
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
    def actual(item: Any, decided: int) -> ir.Stats:
        if len(checks.as_list(item, where)) != 2:
            raise ModelFileError(f"{where}: expected a mean and a sum of squares")
        mean, squares = checks.number(item[0], where), checks.squares(item[1], where)
        return ir.Moments(float(decided), mean, squares)

    return _tally(item, where, checks.squares, actual)


def _tally(
    item: Any,
    where: str,
    errors: checks.PartReader,
    actual: Callable[[Any, int], ir.Stats],
) -> ir.RuleTally:
    if len(checks.as_list(item, where)) not in (4, 5):
        raise ModelFileError(f"{where}: expected four numbers, and the answers or not")
    readers = (checks.integer, errors, checks.integer, errors)
    found = (read(each, where) for read, each in zip(readers, item, strict=False))
    tally = ir.RuleTally(*found)
    if len(item) == 4:
        return tally
    if not tally.decided:
        raise ModelFileError(f"{where}: expected no answers of no rows")
    return replace(tally, actual=actual(item[4], tally.decided))


def _class_quality(item: Any, labels: int, where: str) -> ir.ClassQuality:
    checks.keys(item, ["confusion"], where)
    confusion = tuple(
        tuple(checks.integer(count, where) for count in checks.as_list(row, where))
        for row in checks.as_list(item["confusion"], where)
    )
    if len(confusion) != labels or any(len(row) != labels for row in confusion):
        raise ModelFileError(f"{where}: expected {labels} rows of {labels} counts")
    return ir.ClassQuality(confusion)
