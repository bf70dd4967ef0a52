"""How good the model is: accuracy and confusion matrix, or errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile import words
from treecompile.ir import (
    ClassCounts,
    ClassQuality,
    Label,
    Quality,
    Stats,
    Training,
    ValueQuality,
)
from treecompile.lower.markdown.text import (
    cases,
    number_of,
    share,
    shown_value,
    table,
)
from treecompile.rounding import rounded
from treecompile.semantics import answer


def actual_counts(quality: ClassQuality) -> ClassCounts:
    return ClassCounts(tuple(float(sum(row)) for row in quality.confusion))


@dataclass(frozen=True, slots=True)
class QualityPart:
    title: str  # "Training data"
    summary: str
    table: str


def quality(
    labels: Sequence[Label],
    training: Training | None,
    base: Stats | None,
    pruned_by_validation: bool,
) -> list[QualityPart]:
    if training is None:
        return []
    # What was pruned to fit these cases fits them better than it will fit others.
    seen = ", which also pruned the tree" if pruned_by_validation else ""
    measured = [
        ("Training data", training.quality),
        (f"Validation data{seen}", training.validation),
    ]
    return [
        _quality_part(title, quality, labels, base)
        for title, quality in measured
        if quality is not None
    ]


def _quality_part(
    title: str, quality: Quality, labels: Sequence[Label], base: Stats | None
) -> QualityPart:
    if isinstance(quality, ValueQuality):
        return _value_quality(title, quality)
    actual = actual_counts(quality)
    total = actual.weight
    right = sum(row[i] for i, row in enumerate(quality.confusion))
    common = answer(base or actual, labels)  # the baseline is chosen in training
    baseline = actual.weights[labels.index(common)]
    names = [shown_value(label) for label in labels]
    summary = (
        f"The rules are right in {right} of {cases(total)}:"
        f" accuracy {share(right, total)}."
        f" Always answering {shown_value(common)}, the most common answer in training,"
        f" would be right in {words.amount(baseline)}: {share(baseline, total)}."
    )
    rows = [
        [name, *map(str, row), f"{row[i]} of {sum(row)} ({share(row[i], sum(row))})"]
        for i, (name, row) in enumerate(zip(names, quality.confusion, strict=True))
    ]
    head = ["Actual", *(f"Predicted {name}" for name in names), "Right"]
    return QualityPart(title, summary, table(head, rows))


def _value_quality(title: str, quality: ValueQuality) -> QualityPart:
    summary = (
        f"Measured on {number_of(quality.rows, 'row')}. The baseline is to answer the"
        " same mean for every case: R² is the share of its squared error that the rules"
        " take away (1: all of it, 0: none)."
    )
    r_squared = quality.r_squared
    rows = [
        ["Mean absolute error (MAE)", rounded(quality.mean_absolute_error)],
        ["Root mean squared error (RMSE)", rounded(quality.root_mean_squared_error)],
        ["R²", "undefined" if r_squared is None else f"{r_squared:.3f}"],
    ]
    return QualityPart(title, summary, table(["Measure", "Value"], rows))
