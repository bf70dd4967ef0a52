"""Writes what is known about a model for the review page: facts, quality, columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treecompile.model import ir, words
from treecompile.model.evidence import Evidence, label_rows, right_rows, rows_of
from treecompile.model.paths import size
from treecompile.model.semantics import required_features
from treecompile.model.words import rounded

Json = dict[str, Any]
MOST_LISTED = 20  # categories of a column
MOST_LABELS = 12  # in the summary

ORDERED = "The first rule whose conditions all hold decides, else the default."
EXACT = "Exactly one rule applies to every row."


def summary(program: ir.Program) -> str:
    """Say in one sentence what is predicted."""
    labels = [words.value(label) for label in program.body.labels]
    kind = f"one of {words.enumerated(labels, MOST_LABELS)}" if labels else "a number"
    return f"The model predicts {words.name(program.target)}, {kind}."


def facts(program: ir.Program, total: Evidence) -> list[tuple[str, str]]:
    """Return the figures below the title."""
    training = program.training
    found = [("Form", size(program.body)), ("Learned by", program.algorithm)]
    if training is not None:
        source = training.source or "a table in memory"
        found.append(("Data", f"{source}, {words.quantity(training.rows, 'row')}"))
    if total.rows and program.body.labels:
        found.append(("Right on these", _share(total.right, total.rows)))
    return found


def rules_note(body: ir.Body) -> str:
    if isinstance(body, ir.RuleSet):
        return ORDERED
    return EXACT


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


# ---------------------------------------------------------------- quality


def quality(program: ir.Program) -> list[Json]:
    """Return what was measured: the estimate for new rows, training, validation."""
    training = program.training
    if training is None:
        return []
    estimate = training.estimate
    parts: list[tuple[str, ir.Quality | None]] = [
        ("Training data", training.quality),
        ("Validation data", training.validation),
    ]
    if estimate is not None:
        how = f"{estimate.folds}-fold cross-validation" if estimate.folds > 1 else ""
        title = f"New data, estimated by {how or 'held-out rows'}"
        parts.insert(0, (title, estimate.quality))
    return [
        _quality(title, found, program.body.labels)
        for title, found in parts
        if found is not None
    ]


def _quality(title: str, found: ir.Quality, labels: Sequence[ir.Label]) -> Json:
    if isinstance(found, ir.ValueQuality):
        return _value_quality(title, found)
    right, total, actual = right_rows(found), rows_of(found), label_rows(found)
    common = actual.index(max(actual))
    told = (
        f"{right} of {words.quantity(total, 'row')} right. Always answering"
        f" {words.value(labels[common])} would be right in"
        f" {_share(actual[common], total)}."
    )
    return {
        "title": title,
        "figure": f"{_share(right, total)} accuracy",
        "summary": told,
        "confusion": found.confusion,
        "measures": [],
    }


def _value_quality(title: str, found: ir.ValueQuality) -> Json:
    r_squared = found.r_squared
    measures = [
        ("Mean absolute error", rounded(found.mean_absolute_error)),
        ("Root mean squared error", rounded(found.root_mean_squared_error)),
        ("R²", "undefined" if r_squared is None else f"{r_squared:.3f}"),
    ]
    return {
        "title": title,
        "figure": f"± {rounded(found.mean_absolute_error)} on average",
        "summary": f"Measured on {words.quantity(found.rows, 'row')}.",
        "confusion": [],
        "measures": measures,
    }


# ---------------------------------------------------------------- columns


def columns(program: ir.Program) -> Json:
    """Return the table of the features."""
    body, training = program.body, program.training
    tested = set(required_features(body))
    heads = ["Feature", "Kind", "Values in training", "Missing in training", "Used"]
    rows = []
    for index, feature in enumerate(body.features):
        column = training.columns[index] if training else None
        rows.append(
            [
                words.name(feature.name),
                feature.kind.value,
                _values(feature, column),
                str(column.missing) if column else "not recorded",
                "yes" if index in tested else "no",
            ]
        )
    return {"heads": heads, "rows": rows}


def _values(feature: ir.Feature, column: ir.ColumnSummary | None) -> str:
    if feature.kind is not ir.Kind.NUMERIC:
        return words.enumerated(list(map(words.value, feature.categories)), MOST_LISTED)
    if column is None or column.low is None or column.high is None:
        return "not recorded"
    return f"{rounded(column.low, 6)} to {rounded(column.high, 6)}"
