"""The results of commands as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from treecompile.measure.quality import Evaluation
from treecompile.measure.statistics import Figures, figures
from treecompile.model import ir, words
from treecompile.model.evidence import label_rows, right_rows, rows_of
from treecompile.model.paths import size

if TYPE_CHECKING:
    from treecompile.learning.alpha import Validated
    from treecompile.learning.cross_validation import CrossValidation
    from treecompile.learning.pruning import PruningStep
    from treecompile.verify.verification import Report

MISMATCHES_SHOWN = 5
STEPS_SHOWN = 20


def verification(name: str, report: Report) -> Iterator[str]:
    """The result of `verify`, with rows that show a difference."""
    yield report.line(name)
    if report.mismatches:
        for mismatch in report.mismatches[:MISMATCHES_SHOWN]:
            expected = f"expected {mismatch.expected!r}"
            yield f"  {mismatch.row}: {expected}, got {mismatch.actual!r}"
        yield from more(len(report.mismatches) - MISMATCHES_SHOWN)


def finished(program: ir.Program, seconds: float) -> Iterator[str]:
    """The end of a command that learns: how good the model is, and how large."""
    from treecompile.measure.summary import quality_line

    if line := quality_line(program):
        yield line
    yield f"{size(program.body)}, learned in {seconds:.1f} s"


def evaluation(program: ir.AnyProgram, result: Evaluation) -> Iterator[str]:
    """The result of `evaluate`."""
    yield from _quality(program.body.labels, result.quality)
    if result.unknown:
        target = words.name(program.target)
        yield f"left out: {result.unknown} rows whose {target} is missing or new"
    if not isinstance(program, ir.ForestProgram):
        yield ""
        yield from columns(_rules(program, result), left=2)


def _rules(program: ir.Program, result: Evaluation) -> list[list[str]]:
    """A line of heads, and a line of figures for each rule."""
    body, quality = program.body, result.quality
    actual = label_rows(quality) if isinstance(quality, ir.ClassQuality) else None
    heads = ["rule", words.name(program.target), "rows", "coverage"]
    order = ["left", "decided"] if isinstance(body, ir.RuleSet) else []
    if body.labels:
        heads += ["support", "confidence", "95 % interval", "lift", *order, "errors"]
    else:  # a rule of a tree decides every row that it matches
        heads += ["rmse", *order, *["rmse of these"] * bool(order)]
    lines = [heads]
    for entry in figures(body, result.tallies, actual):
        line = [entry.rule.id, words.value(entry.rule.value), str(entry.matched)]
        line.append(_percent(entry.coverage))
        places = [str(entry.left), str(entry.decided)] if order else []
        if body.labels:
            line += [*_confidence(entry), *places, words.amount(entry.errors)]
        else:
            line += [_number(entry.deviation), *places, _number(entry.own_deviation)]
        lines.append(line[: len(heads)])
    return lines


def _confidence(entry: Figures) -> list[str]:
    interval = "-"
    if entry.low is not None and entry.high is not None:
        interval = f"{100 * entry.low:.1f} to {100 * entry.high:.1f}"
    lift = "-" if entry.lift is None else f"{entry.lift:.2f}"
    return [_percent(entry.support), _percent(entry.confidence), interval, lift]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def cross_validation(result: CrossValidation) -> Iterator[str]:
    """The result of `evaluate --cv`."""
    k, labels = len(result.folds), result.labels
    kind = f"stratified, seed {result.seed}" if labels else f"seed {result.seed}"
    yield f"{k}-fold cross-validation of {result.algorithm} ({kind})"
    measure = f"root mean squared error of a fold: {result.mean:.6g}"
    deviation = f"{result.deviation:.6g}"
    if labels:
        measure = f"accuracy of a fold: {100 * result.mean:.2f} %"
        deviation = f"{100 * result.deviation:.2f}"
    yield f"{measure}, standard deviation {deviation}"
    nodes, leaves = f"{result.mean_nodes:.1f} nodes", f"{result.mean_leaves:.1f} leaves"
    yield f"size of a tree: {nodes}, {leaves}"
    yield ""
    yield "all folds together:"
    yield from _quality(labels, result.quality)


def pruning_sequence(
    steps: Sequence[PruningStep], validated: Sequence[Validated] = (), chosen: int = -1
) -> Iterator[str]:
    """The nested sequence of pruned trees, the smallest last, the chosen one marked.

    If there are many, only the smallest, or those around the chosen one.
    """
    heads = ["", "leaves", "alpha", "error"]
    if validated:
        heads += ["validated", "+/-"]
    first = max(0, len(steps) - STEPS_SHOWN)
    if chosen >= 0:
        first = max(0, min(first, chosen - STEPS_SHOWN // 2))
    last = first + STEPS_SHOWN
    lines = []
    for place, step in enumerate(steps[first:last], start=first):
        line = ["*" if place == chosen else "", str(step.leaves)]
        line += [f"{step.alpha:.6g}", f"{step.risk:.6g}"]
        if validated:
            entry = validated[place]
            line += [f"{entry.error:.6g}", f"{entry.deviation:.3g}"]
        lines.append(line)
    yield from columns([heads, *lines], left=1)
    if len(steps) > STEPS_SHOWN:
        yield f"({min(last, len(steps)) - first} of {len(steps)} trees)"


def _quality(labels: Sequence[ir.Label], quality: ir.Quality) -> Iterator[str]:
    if isinstance(quality, ir.ValueQuality):
        yield f"rows: {quality.rows}"
        yield f"mean absolute error: {quality.mean_absolute_error:.6g}"
        yield f"root mean squared error: {quality.root_mean_squared_error:.6g}"
        if quality.r_squared is not None:
            yield f"R squared: {quality.r_squared:.4f}"
        return
    right, total = right_rows(quality), rows_of(quality)
    share = f" = {100 * (right / total):.2f} %" if total else ""
    yield f"accuracy: {right} of {total}{share}"
    yield ""
    shown_labels = [words.value(label) for label in labels]
    yield "actual (rows) and predicted (columns):"
    table = [["", *shown_labels]]
    for label, row in zip(labels, quality.confusion, strict=True):
        table.append([words.value(label), *map(str, row)])
    yield from columns(table, left=1)


def more(number: int) -> Iterator[str]:
    """A line behind a list that was cut off."""
    if number > 0:
        yield f"  and {number} more"


def columns(table: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Lines of aligned columns, the first `left` of them left-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
