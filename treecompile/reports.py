"""What the commands print about a verification and an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treecompile import words
from treecompile.ir import ClassQuality, Program, ValueQuality
from treecompile.quality import Evaluation, accuracy
from treecompile.verify import Report

MISMATCHES_SHOWN = 5


def verification(name: str, report: Report) -> Iterator[str]:
    """The result of `verify`, with the rows that show a difference."""
    if report.refused:
        yield f"NOT verified: {report.engine} would not run {name}: {report.refused}"
    elif report.mismatches:
        yield (
            f"NOT verified: {name} differs from the model on {report.engine} for"
            f" {len(report.mismatches)} of {report.rows} rows"
        )
        for mismatch in report.mismatches[:MISMATCHES_SHOWN]:
            yield (
                f"  {mismatch.row}: expected {mismatch.expected!r},"
                f" got {mismatch.actual!r}"
            )
        rest = len(report.mismatches) - MISMATCHES_SHOWN
        if rest > 0:
            yield f"  and {rest} more"
    else:
        extent = (
            f"{report.entered} of {report.cells} cells"
            f" and {report.told} of {report.edges} edges"
        )
        if report.divided:
            # A row may meet an edge where values are divided and not tell an error.
            extent += f" met, {report.divided} rows with divided values"
        if report.complete:
            extent = "every combination of values at the edges"
        yield f"verified {name} on {report.engine}: {report.rows} rows, {extent}"


def evaluation(program: Program, result: Evaluation) -> Iterator[str]:
    """The result of `evaluate`."""
    body = program.body
    quality = result.quality
    if isinstance(quality, ClassQuality):
        yield from _classes(program, quality)
    else:
        yield from _numbers(quality)
    if result.unknown:
        target = words.name(program.target)
        yield f"left out: {result.unknown} rows whose {target} is missing or new"
    yield ""
    heads = ["rule", words.name(program.target), "rows"]
    heads.append("right" if body.labels else "rmse")
    lines = [
        [
            entry.rule.id,
            words.value(entry.rule.value),
            str(entry.rows),
            str(entry.right) if body.labels else f"{entry.squared_error**0.5:.4g}",
        ]
        for entry in result.rules
    ]
    yield from columns([heads, *lines], left=2)


def _classes(program: Program, quality: ClassQuality) -> Iterator[str]:
    total = sum(map(sum, quality.confusion))
    right = sum(row[i] for i, row in enumerate(quality.confusion))
    share = accuracy(quality)
    shown = "" if share is None else f" = {100 * share:.2f} %"
    yield f"accuracy: {right} of {total}{shown}"
    yield ""
    labels = [words.value(label) for label in program.body.labels]
    yield "actual (rows) and predicted (columns):"
    table = [["", *labels]]
    for label, row in zip(labels, quality.confusion, strict=True):
        table.append([label, *map(str, row)])
    yield from columns(table, left=1)


def _numbers(quality: ValueQuality) -> Iterator[str]:
    yield f"rows: {quality.rows}"
    yield f"mean absolute error: {quality.mean_absolute_error:.6g}"
    yield f"root mean squared error: {quality.root_mean_squared_error:.6g}"
    if quality.r_squared is not None:
        yield f"R squared: {quality.r_squared:.4f}"


def columns(table: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Lines of aligned columns, the first `left` of them to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
