"""How good a learned model is, in a line."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from treecompile.measure.quality import accuracy
from treecompile.model import ir, words
from treecompile.model.evidence import MEASURED, label_rows, rows_of


def quality_line(program: ir.AnyProgram) -> str:
    """`accuracy: 94.0 % in 10-fold cross-validation, 97.1 % on the 333 training rows`.

    Behind a semicolon follows what the same answer for every row would achieve.
    """
    measured = list(_measured(program))
    if not measured:
        return ""
    figures = ", ".join(f"{_figure(quality)} {on}" for quality, on in measured)
    name = "accuracy" if program.body.labels else "RMSE"
    return f"{name}: {figures}{_baseline(program, measured[0][0])}"


def _measured(program: ir.AnyProgram) -> Iterator[tuple[ir.Quality, str]]:
    """The qualities that are known, the one that says most first; and on which rows."""
    training = program.training
    if training is None:
        return
    if training.estimate is not None:
        yield training.estimate.quality, _how(training.estimate)
    elif training.validation is not None:
        yield training.validation, _validated(program, training.validation)
    if training.quality is not None:
        is_measured = MEASURED in dict(program.options)
        rows = _rows(training.quality, "given" if is_measured else "training")
        yield training.quality, rows


def _validated(program: ir.AnyProgram, quality: ir.Quality) -> str:
    options = dict(program.options)
    has_pruned = options.get("prune") == "reduced-error" or (
        options.get("rules") == "validation"
    )
    pruned = ", which pruned the model" if has_pruned else ""
    return f"{_rows(quality, 'validation')}{pruned}"


def _figure(quality: ir.Quality) -> str:
    if isinstance(quality, ir.ClassQuality):
        return f"{100 * (accuracy(quality) or 0.0):.1f} %"
    return words.rounded(quality.root_mean_squared_error)


def _how(estimate: ir.Estimate) -> str:
    if estimate.folds > 1:
        return f"in {estimate.folds}-fold cross-validation"
    return _rows(estimate.quality, "held-out")


def _rows(quality: ir.Quality, kind: str) -> str:
    count = rows_of(quality)
    return f"on the {count:,} {kind} row{'s' * (count != 1)}"


def _baseline(program: ir.AnyProgram, quality: ir.Quality) -> str:
    """What the most frequent label, or the mean, would achieve on the same rows."""
    if isinstance(quality, ir.ClassQuality):
        counts = label_rows(quality)
        label = words.value(program.body.labels[counts.index(max(counts))])
        share = max(counts) / max(1, sum(counts))
        return f"; {100 * share:.1f} % by always answering {label}"
    if quality.r_squared is None or quality.r_squared >= 1:
        return ""
    mean = quality.root_mean_squared_error / sqrt(1 - quality.r_squared)
    return f"; {words.rounded(mean)} by always answering the mean"
