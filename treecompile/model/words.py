"""Conditions, rules and numbers in words, as people read them.

The terminal, the rule document and the generated `explain` use the same sentences. They
are exact (thresholds in full, unseen and missing values named) but not meant to be
parsed. Text from the data becomes one line without control characters; each target
escapes it further for its own syntax.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from treecompile.model import ir
from treecompile.model.evidence import Evidence, by_id
from treecompile.model.paths import DEFAULT_ID
from treecompile.model.semantics import asks_presence, members, threshold
from treecompile.model.sharing import Group, SharedPath

PLAIN = re.compile(r"[^\W_][\w.%+/-]*(?: [\w.%+/-]+)*")

Escape = Callable[[str], str]
Figure = Callable[[float], str]  # writes a threshold


def number(value: float) -> str:
    """The shortest text of a double, without a trailing `.0`."""
    text = repr(value)
    return text.removesuffix(".0")


def name(text: str) -> str:
    """Text from the data: as it is if it cannot be misread, else in quotes."""
    if PLAIN.fullmatch(text) and text.isprintable():
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """Text as a JSON string on one line, with every character visible."""
    marked = json.dumps(text, ensure_ascii=False)
    if marked.isprintable():
        return marked
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in marked)


def value(item: ir.Value | ir.Label) -> str:
    """A category, a label or a number."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return number(item)
    return name(item) if isinstance(item, str) else str(item)


def amount(weight: float) -> str:
    """A number of cases; fractional weights give it a decimal."""
    return number(round(weight, 1))


def quantity(count: float, noun: str = "case") -> str:
    """How many there are of something: "1 case", "2.5 cases", "3 rules"."""
    shown = amount(count)
    return f"{shown} {noun}{'' if shown == '1' else 's'}"


def enumerated(texts: Sequence[str], most: int) -> str:
    """The first of them: "R1, R2 and 3 more"."""
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")


def phrase(
    conditions: Sequence[ir.Condition],
    feature: ir.Feature,
    escape: Escape = str,
    figure: Figure = number,
    *,
    marks: bool = True,
) -> str:
    """The conditions on one feature: "1 < x <= 9" for both bounds of an interval.

    `figure` may round thresholds only if they are shown in full elsewhere. Without
    `marks`, something else must say what missing and unseen values do.
    """
    if not _is_one_test(conditions):  # as in rules that no pass has merged
        parts = (
            phrase([one], feature, escape, figure, marks=marks) for one in conditions
        )
        return " and ".join(parts)
    shown = escape(name(feature.name))
    first = conditions[0]
    if asks_presence(first) and feature.kind is not ir.Kind.ORDINAL:
        return f"{shown} is {'missing' if first.missing else 'known'}"
    if feature.kind is ir.Kind.CATEGORICAL:
        return _membership(first, feature, shown, escape, marks=marks)

    def edge(condition: ir.Condition) -> str:
        if feature.kind is ir.Kind.ORDINAL:
            return escape(value(condition.value))  # type: ignore[arg-type]
        return escape(figure(threshold(condition)))

    if len(conditions) == 2:
        low, high = sorted(conditions, key=lambda c: c.op is ir.Op.LE)
        text = f"{edge(low)} {escape('<')} {shown} {escape('<=')} {edge(high)}"
    else:
        text = f"{shown} {escape(first.op.value)} {edge(first)}"
    if not (first.missing and marks):
        return text
    other = "or any other, " if feature.kind is ir.Kind.ORDINAL else ""
    return f"{text} ({other}or missing)"


def _is_one_test(conditions: Sequence[ir.Condition]) -> bool:
    """Whether there is only one condition, or the two bounds of an interval."""
    if len(conditions) != 2 or any(map(asks_presence, conditions)):
        return len(conditions) == 1
    one, other = conditions
    return {one.op, other.op} == {ir.Op.GT, ir.Op.LE} and one.missing == other.missing


def _membership(
    condition: ir.Condition,
    feature: ir.Feature,
    shown: str,
    escape: Escape,
    *,
    marks: bool,
) -> str:
    named, negated, also = named_categories(condition, feature)
    if not named:
        return f"{shown} is {'anything' if negated else 'nothing at all'}"
    texts = [escape(value(category)) for category in named]
    if negated and len(named) == len(feature.categories):
        text = f"{shown} is none of the known values"
    elif len(texts) == 1:
        text = f"{shown} {'!=' if negated else '='} {texts[0]}"
    else:
        text = f"{shown} {'not in' if negated else 'in'} {{{', '.join(texts)}}}"
    return f"{text} ({', '.join(also)})" if also and marks else text


def named_categories(
    condition: ir.Condition, feature: ir.Feature
) -> tuple[Sequence[ir.Category], bool, list[str]]:
    """The shorter way to write a set: what it names, if negated, what else is meant.

    Of red, green and blue, `not in {red, green}` is `= blue (or any other)`.
    """
    named = members(condition)
    also = ["or missing"] if condition.missing else []
    if condition.op is ir.Op.IN:  # a split may have thousands of these
        return named, False, also
    chosen = set(named)
    others = [c for c in feature.categories if c not in chosen]
    if others and (len(others) <= len(named) or len(others) == 1):
        return others, False, ["or any other", *also]
    return named, True, also


def with_symbols(text: str) -> str:
    """An Escape for pictures: the operator `<=` as a symbol, other text unchanged."""
    return "≤" if text == "<=" else text


def branch_test(
    test: ir.Condition, feature: ir.Feature, figure: Figure = number
) -> str:
    """The test of a branch in a picture, without the feature: "≤ 2.5 (or missing)"."""
    text = phrase([test], feature, with_symbols, figure)
    return text.removeprefix(f"{name(feature.name)} ")


def tests_above(tree: ir.Body) -> list[tuple[int, str]]:
    """For each node of a tree, the node above it and the test between them."""
    assert isinstance(tree, ir.Tree)
    found = [(0, "")] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Split):
            feature = tree.features[node.branches[0].when.feature]
            for branch in node.branches:
                found[branch.then] = position, phrase([branch.when], feature)
    return found


def by_feature(conditions: Iterable[ir.Condition]) -> Sequence[Group]:
    """The conditions on each feature; features in the order of their first test."""
    if isinstance(conditions, SharedPath):
        return conditions.groups
    found: dict[int, list[ir.Condition]] = {}
    for condition in conditions:
        found.setdefault(condition.feature, []).append(condition)
    return [tuple(group) for group in found.values()]


def conjunction(
    conditions: Sequence[ir.Condition],
    features: Sequence[ir.Feature],
    escape: Escape = str,
) -> list[str]:
    """The merged conditions of a rule as one phrase for each feature."""
    return [
        phrase(group, features[group[0].feature], escape)
        for group in by_feature(conditions)
    ]


NO_CASE = "no case"


def evidence(found: Evidence, labels: Sequence[ir.Label]) -> str:
    """The cases that a rule decides: "4 of 5 cases", "12 cases, sd 0.3"."""
    if not found.rows:
        return NO_CASE
    if labels:
        return f"{amount(found.right)} of {quantity(found.rows)}"
    spread = "" if found.deviation is None else f", sd {found.deviation:.3g}"
    return f"{quantity(found.rows)}{spread}"


def evidence_by_id(program: ir.Program) -> dict[str, str]:
    """The same for every rule of a program, and for the default that never decides."""
    labels = program.body.labels
    said = {key: evidence(found, labels) for key, found in by_id(program).items()}
    return {DEFAULT_ID: NO_CASE, **said}


def sentence(rule: ir.Rule, rules: ir.RuleSet, target: str, said: str) -> str:
    """A whole rule: "R3: if wind = strong then play = no (2 of 2 cases)"."""
    tests = conjunction(rule.conditions, rules.features)
    when = f"if {' and '.join(tests)} then " if tests else ""
    return f"{rule.id}: {when}{conclusion(rule, target, said)}"


def conclusion(rule: ir.Rule, target: str, said: str) -> str:
    """The answer of a rule and the cases behind it: "play = no (2 of 2 cases)"."""
    return f"{name(target)} = {value(rule.value)} ({said})"


# ---------------------------------------------------------------- rounded thresholds

LONG = 8  # digits up to which a number is easy to read as it is
FEWEST, MOST = 4, 7  # digits of a rounded number
ANSWER = 6  # digits of a rounded answer


def rounded(value: float, digits: int = FEWEST) -> str:
    """A number with that many significant digits."""
    return number(float(f"{value:.{digits}g}"))


def answer(item: ir.Label, labels: Sequence[ir.Label]) -> str:
    """The answer of a rule, for reading: a number is rounded, a label never."""
    return value(item) if labels else rounded(float(item), ANSWER)


class Rounding:
    """Rounds the thresholds of each feature for reading.

    A rounded threshold treats some doubles differently, so it never decides, and is
    only shown where the exact one is given too. Rounding keeps the thresholds of a
    feature apart and in order; where it cannot, they are written in full.
    """

    def __init__(self, conditions: Iterable[ir.Condition]) -> None:
        thresholds: dict[int, set[float]] = {}
        for test in {id(test): test for test in conditions}.values():
            if isinstance(test.value, float):
                thresholds.setdefault(test.feature, set()).add(test.value)
        self.digits = {index: _digits(found) for index, found in thresholds.items()}
        self.shortens = any(  # whether some threshold is rounded
            _shown(value, self.digits[index]) != number(value)
            for index, found in thresholds.items()
            for value in found
        )

    def figure(self, index: int) -> Figure:
        """The function that writes the thresholds of a feature."""
        digits = self.digits.get(index, 0)
        return lambda value: _shown(value, digits)


def _shown(value: float, digits: int) -> str:
    if not digits or _significant(value) <= LONG:
        return number(value)
    return rounded(value, digits)


def _digits(thresholds: set[float]) -> int:
    """The fewest digits that keep all apart and in order; 0 if it takes too many."""
    ordered = sorted(thresholds)
    for digits in range(FEWEST, MOST + 1):
        shown = (float(_shown(value, digits)) for value in ordered)
        if all(low < high for low, high in pairwise(shown)):
            return digits
    return 0


def _significant(value: float) -> int:
    digits = repr(value).partition("e")[0].lstrip("-").replace(".", "")
    return len(digits.strip("0"))
