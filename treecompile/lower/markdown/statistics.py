"""The section of the rule document on how often each rule applies and is right.

One table for the training rows and one for the validation rows, as far as they were
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile import words
from treecompile.ir import (
    Body,
    ClassQuality,
    Program,
    Quality,
    RuleSet,
    RuleTally,
)
from treecompile.lower.markdown.text import shown_value, table
from treecompile.rounding import rounded
from treecompile.rule_statistics import Figures, figures
from treecompile.semantics import is_fractional

CLASS_NOTE = (
    "Coverage is the share of all rows that meet the conditions of a rule, support the"
    " share that meets them and has its answer, confidence the one over the other, with"
    " the 95 % interval after Wilson in brackets. Lift is how many times as common the"
    " answer is among the rows of the rule as among all."
)
VALUE_NOTE = (
    "Coverage is the share of all rows that meet the conditions of a rule. RMSE, the"
    " root mean squared error, says how far the answers of these rows lie from the"
    " rule's."
)
ORDER_NOTE = (
    " Left are the rows that no rule before has taken. Of these the rule decides those"
    " that meet its conditions; the last column is about them."
)
TREE_NOTE = " Every row is decided by the one rule whose conditions it meets."
DIVIDED_NOTE = (
    " A row with a missing or unseen value is counted with the rule that the marks lead"
    " to, and its errors are those of the divided answer."
)
SELECTED = (
    "The rules were pruned and sorted by these very rows: on new ones, expect them to"
    " do less well."
)
PRUNED_BY = {"validation": "Validation data", "c45rules": "Training data"}


@dataclass(frozen=True, slots=True)
class StatisticsPart:
    title: str  # "Training data"
    remark: str  # may be empty
    table: str


def pruned_by(program: Program) -> str:
    """How the rules of a program were pruned; "" if they were not."""
    how = dict(program.options).get("rules", "")
    return str(how) if isinstance(program.body, RuleSet) else ""


def statistics_note(body: Body) -> str:
    """What the columns of the tables mean."""
    note = CLASS_NOTE if body.labels else VALUE_NOTE
    if isinstance(body, RuleSet):
        return note + ORDER_NOTE
    return note + (DIVIDED_NOTE if is_fractional(body) else TREE_NOTE)


def statistics(program: Program) -> list[StatisticsPart]:
    """The tables; none where nothing was counted."""
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
    body: Body,
    tallies: Sequence[RuleTally],
    quality: Quality | None,
) -> str:
    actual = None
    if isinstance(quality, ClassQuality):
        actual = [float(sum(row)) for row in quality.confusion]
    total = sum(tally.decided for tally in tallies)
    head = ["Rule", "Answer", "Coverage"]
    head += ["Support", "Confidence", "Lift"] if body.labels else ["RMSE"]
    if isinstance(body, RuleSet):
        head += ["Left", "Decided"]
    head += ["Errors"] if body.labels else []
    if isinstance(body, RuleSet) and not body.labels:
        head += ["RMSE of these"]
    rows = [
        [
            entry.rule.id,
            shown_value(entry.rule.value),
            f"{entry.matched} of {total}{_share(entry.coverage)}",
            *_figures(entry, body),
        ]
        for entry in figures(body, tallies, actual)
    ]
    return table(head, rows)


def _figures(entry: Figures, body: Body) -> list[str]:
    order = isinstance(body, RuleSet)
    place = [str(entry.left), str(entry.decided)] if order else []
    if not body.labels:
        own = [_number(entry.own_deviation)] if order else []
        return [_number(entry.deviation), *place, *own]
    confidence, lift = "", ""
    if entry.confidence is not None and entry.low is not None:
        assert entry.high is not None
        ends = f"{100 * entry.low:.1f} to {100 * entry.high:.1f}"
        confidence = f"{100 * entry.confidence:.1f} % ({ends})"
    if entry.lift is not None:
        lift = f"{entry.lift:.2f}"
    support = "" if entry.support is None else f"{100 * entry.support:.1f} %"
    return [support, confidence, lift, *place, words.amount(entry.errors)]


def _share(part: float | None) -> str:
    return "" if part is None else f" ({100 * part:.1f} %)"


def _number(value: float | None) -> str:
    return "" if value is None else rounded(value)
