"""How good a model is: the qualities that are known, and a line that sums them up."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

from treecompile.measure.quality import accuracy
from treecompile.model import ir, words
from treecompile.model.evidence import MEASURED, label_rows, rows_of
from treecompile.model.semantics import answer

TRAINING, VALIDATION, HELD_OUT = "training", "validation", "held-out"


class Measured(NamedTuple):
    """A quality that is known."""

    kind: str  # of its rows: training, validation, held-out, 10-fold cross-validation
    quality: ir.Quality
    has_pruned: bool  # whether its rows also pruned the model


def measured(program: ir.AnyProgram) -> list[Measured]:
    """The qualities that are known: of training first, and that of new rows last."""
    training, options = program.training, dict(program.options)
    if training is None:
        return []
    rules, is_reduced = options.get("rules"), options.get("prune") == "reduced-error"
    found = [
        (TRAINING, training.quality, rules == "c45rules"),
        (VALIDATION, training.validation, rules == "validation" or is_reduced),
    ]
    if estimate := training.estimate:
        folds = f"{estimate.folds}-fold cross-validation"
        kind = folds if estimate.folds > 1 else HELD_OUT
        found.append((kind, estimate.quality, False))
    return [
        Measured(kind, quality, pruned)
        for kind, quality, pruned in found
        if quality is not None
    ]


def usual_label(program: ir.AnyProgram) -> int:
    """The place of the label that is the most common one in training."""
    body, first = program.body, measured(program)[0]
    assert isinstance(first.quality, ir.ClassQuality)
    stats: ir.Stats = ir.ClassCounts(tuple(map(float, label_rows(first.quality))))
    if first.kind != TRAINING and isinstance(body, ir.Tree):
        stats = body.nodes[0].stats
    return body.labels.index(answer(stats, body.labels))


def quality_line(program: ir.AnyProgram) -> str:
    """`accuracy: 94.0 % in 10-fold cross-validation, 97.1 % on the 333 training rows`.

    Behind a semicolon follows what the same answer for every row would achieve.
    """
    known = measured(program)[::-1]
    if not known:
        return ""
    is_estimated = known[0].kind not in (TRAINING, VALIDATION)
    shown = [m for m in known if m.kind != VALIDATION or not is_estimated]
    name = "accuracy" if program.body.labels else "RMSE"
    figures = ", ".join(_figure(each, program) for each in shown)
    return f"{name}: {figures}{''.join(_baseline(program, shown[0].quality))}"


def _figure(each: Measured, program: ir.AnyProgram) -> str:
    kind, quality, has_pruned = each
    if isinstance(quality, ir.ClassQuality):
        figure = f"{100 * (accuracy(quality) or 0.0):.1f} %"
    else:
        figure = words.rounded(quality.root_mean_squared_error)
    if kind not in (TRAINING, VALIDATION, HELD_OUT):
        return f"{figure} in {kind}"
    if kind == TRAINING and MEASURED in dict(program.options):
        kind = "given"
    pruned = ", which pruned the model" * (kind == VALIDATION and has_pruned)
    count = rows_of(quality)
    return f"{figure} on the {count:,} {kind} row{'s' * (count != 1)}{pruned}"


def _baseline(program: ir.AnyProgram, quality: ir.Quality) -> Iterator[str]:
    """What the most common label, or the mean, would achieve on the same rows."""
    if isinstance(quality, ir.ClassQuality):
        usual, counts = usual_label(program), label_rows(quality)
        share = 100 * counts[usual] / max(1, sum(counts))
        label = words.value(program.body.labels[usual])
        yield f"; {share:.1f} % by always answering {label}"
    elif quality.r_squared is not None and quality.r_squared < 1:
        mean = quality.root_mean_squared_error / sqrt(1 - quality.r_squared)
        yield f"; {words.rounded(mean)} by always answering the mean"
