"""Writes how good the model is, and how often each rule applies and is right.

Each section has one part for the training rows and one for the validation rows, if they
were counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.markdown import md
from treecompile.measure.statistics import Figures, figures
from treecompile.model import ir, words
from treecompile.model.evidence import label_rows, right_rows
from treecompile.model.forests import is_forest
from treecompile.model.semantics import answer
from treecompile.model.words import rounded

# ---------------------------------------------------------------- the model


def training_counts(program: ir.AnyProgram) -> ir.Stats | None:
    """Return the statistics of all training cases; None if they are not known."""
    measured = program.training.quality if program.training else None
    if isinstance(measured, ir.ClassQuality):
        return ir.ClassCounts(tuple(map(float, label_rows(measured))))
    return program.body.nodes[0].stats if isinstance(program.body, ir.Tree) else None


@dataclass(frozen=True, slots=True)
class QualityPart:
    title: str  # Training data
    summary: str  # The rules are right in 12 of 14 cases: accuracy 85.7 %. ...
    table: str  # the confusion matrix, or the errors of a regression


def quality(program: ir.AnyProgram) -> list[QualityPart]:
    training, base = program.training, training_counts(program)
    if training is None:
        return []
    estimate = training.estimate
    measured = [
        *([] if estimate is None else [(_estimated(estimate), estimate.quality)]),
        ("Training data", training.quality),
        (f"Validation data{_seen(program)}", training.validation),
    ]
    return [
        _quality_part(title, quality, program, base)
        for title, quality in measured
        if quality is not None
    ]


def _estimated(estimate: ir.Estimate) -> str:
    if estimate.folds > 1:
        return f"New data, estimated by {estimate.folds}-fold cross-validation"
    return "New data, estimated on held-out rows"


def _seen(program: ir.AnyProgram) -> str:
    """Warn that a model pruned to fit the validation rows fits them better."""
    if pruned_by(program) == "validation":
        return ", which also pruned the rules: expect less on new rows"
    is_fitted = dict(program.options).get("prune") == "reduced-error"
    return ", which also pruned the tree: expect less on new rows" if is_fitted else ""


def _quality_part(
    title: str, quality: ir.Quality, program: ir.AnyProgram, base: ir.Stats | None
) -> QualityPart:
    if isinstance(quality, ir.ValueQuality):
        remover = "the model removes" if is_forest(program.body) else "the rules remove"
        return _value_quality(title, quality, remover)
    labels = program.body.labels
    actual = ir.ClassCounts(tuple(map(float, label_rows(quality))))
    right, total = right_rows(quality), actual.weight
    common = answer(base or actual, labels)  # the most common label in training
    baseline = actual.weights[labels.index(common)]
    names = [md.value(label) for label in labels]
    decider = "The model is" if is_forest(program.body) else "The rules are"
    summary = (
        f"{decider} right in {right} of {words.quantity(total)}:"
        f" accuracy {md.share(right, total)}."
        f" Always answering {md.value(common)}, the most common answer in training,"
        f" would be right in {words.amount(baseline)}: {md.share(baseline, total)}."
    )
    rows = [
        [name, *map(str, row), f"{row[i]} of {sum(row)} ({md.share(row[i], sum(row))})"]
        for i, (name, row) in enumerate(zip(names, quality.confusion, strict=True))
    ]
    head = ["Actual", *(f"Predicted {name}" for name in names), "Right"]
    return QualityPart(title, summary, md.table(head, rows))


def _value_quality(title: str, quality: ir.ValueQuality, remover: str) -> QualityPart:
    summary = (
        f"Measured on {words.quantity(quality.rows, 'row')}. The baseline answers the"
        " same mean for every case: R² is the share of its squared error that"
        f" {remover} (1: all of it, 0: none)."
    )
    r_squared = quality.r_squared
    rows = [
        ["Mean absolute error (MAE)", rounded(quality.mean_absolute_error)],
        ["Root mean squared error (RMSE)", rounded(quality.root_mean_squared_error)],
        ["R²", "undefined" if r_squared is None else f"{r_squared:.3f}"],
    ]
    return QualityPart(title, summary, md.table(["Measure", "Value"], rows))


# ---------------------------------------------------------------- the rules

CLASS_NOTE = (
    "Coverage is the share of all rows that meet the conditions of a rule. Support is"
    " the share of all rows that also have its answer. Confidence is support divided by"
    " coverage, with its 95 % Wilson interval in brackets. Lift is confidence divided"
    " by the share of that answer among all rows."
)
VALUE_NOTE = (
    "Coverage is the share of all rows that meet the conditions of a rule. RMSE, the"
    " root mean squared error, says how far the values of these rows are from the"
    " rule's answer."
)
ORDER_NOTE = (
    " “Left” counts the rows that no earlier rule decided. Of these, the rule decides"
    " the ones that meet its conditions; the last column describes them."
)
TREE_NOTE = " Each row is decided by the one rule whose conditions it meets."
SELECTED = (
    "The rules were pruned and sorted on these rows: expect them to do less well on new"
    " ones."
)
PRUNED_BY = {"validation": "Validation data", "c45rules": "Training data"}


@dataclass(frozen=True, slots=True)
class StatisticsPart:
    title: str  # Training data
    remark: str  # The rules were pruned and sorted on these rows: ...; or ""
    table: str  # one row for each rule


def pruned_by(program: ir.AnyProgram) -> str:
    """Return how the rules of a program were pruned; "" if they were not."""
    how = dict(program.options).get("rules", "")
    return str(how) if isinstance(program.body, ir.RuleSet) else ""


def statistics_note(body: ir.Body) -> str:
    """Explain what the columns of the statistics mean."""
    note = CLASS_NOTE if body.labels else VALUE_NOTE
    if isinstance(body, ir.RuleSet):
        return note + ORDER_NOTE
    return note + TREE_NOTE


def statistics(program: ir.Program) -> list[StatisticsPart]:
    """Return the tables of statistics; none if nothing was counted."""
    training = program.training
    if training is None:
        return []
    counted = (
        ("Training data", training.rules, training.quality),
        ("Validation data", training.validation_rules, training.validation),
    )
    own = PRUNED_BY.get(pruned_by(program), "")
    return [
        StatisticsPart(
            title,
            SELECTED if title == own else "",
            _table(program.body, tallies, quality),
        )
        for title, tallies, quality in counted
        if tallies
    ]


def _table(
    body: ir.Body, tallies: Sequence[ir.RuleTally], quality: ir.Quality | None
) -> str:
    actual = label_rows(quality) if isinstance(quality, ir.ClassQuality) else None
    total = sum(tally.decided for tally in tallies)
    rows = [_cells(entry, body, total) for entry in figures(body, tallies, actual)]
    return md.table_of(rows)


def _cells(entry: Figures, body: ir.Body, total: int) -> dict[str, str]:
    """Return the row of one rule."""
    is_ordered = isinstance(body, ir.RuleSet)
    coverage = "" if entry.coverage is None else f" ({_percent(entry.coverage)})"
    cells = {
        "Rule": entry.rule.id,
        "Answer": md.answer(entry.rule.value, body.labels),
        "Coverage": f"{entry.matched} of {total}{coverage}",
    }
    if body.labels:
        cells["Support"] = _percent(entry.support)
        cells["Confidence"] = _percent(entry.confidence)
        if entry.low is not None and entry.high is not None:
            ends = f"{100 * entry.low:.1f} to {100 * entry.high:.1f}"
            cells["Confidence"] += f" ({ends})"
        cells["Lift"] = "" if entry.lift is None else f"{entry.lift:.2f}"
    else:
        cells["RMSE"] = _number(entry.deviation)
    if is_ordered:
        cells |= {"Left": str(entry.left), "Decided": str(entry.decided)}
    if body.labels:
        cells["Errors"] = words.amount(entry.errors)
    elif is_ordered:
        cells["RMSE of these"] = _number(entry.own_deviation)
    return cells


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.1f} %"


def _number(value: float | None) -> str:
    return "" if value is None else rounded(value)
