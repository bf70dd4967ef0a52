"""Conditions and rules in words, as people read them.

The same sentences stand in the terminal, in the rule document and in what the generated
`explain` says. They are exact (thresholds in full, unseen and missing values named) but
not meant to be parsed. Text from the data comes out as one line without control
characters; each target escapes it further for its own syntax.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from treecompile.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Rule,
    RuleSet,
    Stats,
    Value,
)
from treecompile.semantics import asks_presence, members, threshold

PLAIN = re.compile(r"[^\W_][\w.%+/-]*(?: [\w.%+/-]+)*")

Escape = Callable[[str], str]


def number(value: float) -> str:
    """The shortest text of a double, without a trailing `.0`."""
    text = repr(value)
    return text.removesuffix(".0")


def name(text: str) -> str:
    """Text from the data: as it is where that cannot be misread, else in quotes."""
    if PLAIN.fullmatch(text) and text.isprintable():
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """Text as a JSON string on one line, all of it visible."""
    marked = json.dumps(text, ensure_ascii=False)
    if marked.isprintable():
        return marked
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in marked)


def value(item: Value | Label) -> str:
    """A category, a label or a number."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return number(item)
    return name(item) if isinstance(item, str) else str(item)


def amount(weight: float) -> str:
    """A number of cases, which fractional weights make uneven."""
    return number(round(weight, 1))


def phrase(
    conditions: Sequence[Condition],
    feature: Feature,
    escape: Escape = str,
    figure: Callable[[float], str] = number,
) -> str:
    """Merged conditions on one feature (one, or both bounds of an interval).

    `figure` writes a threshold, in full unless it is shown elsewhere as well.
    """
    shown = escape(name(feature.name))
    first = conditions[0]
    if asks_presence(first) and feature.kind is not Kind.ORDINAL:
        return f"{shown} is {'missing' if first.missing else 'known'}"
    if feature.kind is Kind.CATEGORICAL:
        return _membership(first, feature, shown, escape)

    def edge(condition: Condition) -> str:
        if feature.kind is Kind.ORDINAL:
            return escape(value(condition.value))  # type: ignore[arg-type]
        return escape(figure(threshold(condition)))

    low = next((c for c in conditions if c.op is Op.GT), None)
    high = next((c for c in conditions if c.op is Op.LE), None)
    at_most, above = escape("<="), escape(">")
    if low is not None and high is not None:
        text = f"{edge(low)} {escape('<')} {shown} {at_most} {edge(high)}"
    elif high is not None:
        text = f"{shown} {at_most} {edge(high)}"
    else:
        assert low is not None
        text = f"{shown} {above} {edge(low)}"
    if not first.missing:
        return text
    if feature.kind is Kind.ORDINAL:
        return f"{text} (or any other, or missing)"
    return f"{text} (or missing)"


def _membership(
    condition: Condition, feature: Feature, shown: str, escape: Escape
) -> str:
    named = members(condition)
    chosen = set(named)
    others = [c for c in feature.categories if c not in chosen]
    extra = ["or missing"] if condition.missing else []
    # "not in" already lets unseen values in; turned around, they must be named.
    if condition.op is Op.NOT_IN and (len(others) <= len(named) or len(others) == 1):
        extra.insert(0, "or any other")
        named, negated = tuple(others), False
    else:
        negated = condition.op is Op.NOT_IN
    texts = [escape(value(category)) for category in named]
    if not texts and condition.op is Op.NOT_IN and not members(condition):
        return f"{shown} is anything"
    if not texts and condition.op is Op.IN:
        return f"{shown} is nothing at all"
    if not texts:
        text = f"{shown} is none of the known values"
        extra = extra[1:]
    elif len(texts) == 1:
        text = f"{shown} {'!=' if negated else '='} {texts[0]}"
    else:
        text = f"{shown} {'not in' if negated else 'in'} {{{', '.join(texts)}}}"
    return f"{text} ({', '.join(extra)})" if extra else text


def by_feature(conditions: Sequence[Condition]) -> list[tuple[Condition, ...]]:
    """The conditions of each feature, in the order in which features come up."""
    found: dict[int, tuple[Condition, ...]] = {}
    for condition in conditions:
        before = found.get(condition.feature)
        found[condition.feature] = (
            (condition,) if before is None else (*before, condition)
        )
    return list(found.values())


def conjunction(
    conditions: Sequence[Condition], features: Sequence[Feature], escape: Escape = str
) -> list[str]:
    """The merged conditions of a rule, one phrase for each feature."""
    return [
        phrase(group, features[group[0].feature], escape)
        for group in by_feature(conditions)
    ]


def evidence(
    stats: Stats, weight: float, answer: Label, labels: Sequence[Label]
) -> str:
    """What a leaf or a rule rests on: "4 of 5 cases", "12 cases, sd 0.3"."""
    if weight == 0:
        return "no case"
    if isinstance(stats, ClassCounts):
        right = stats.weights[labels.index(answer)]
        return f"{amount(right)} of {amount(stats.weight)} {plural(stats.weight)}"
    spread = "" if stats.deviation is None else f", sd {stats.deviation:.3g}"
    return f"{amount(stats.weight)} {plural(stats.weight)}{spread}"


def plural(weight: float) -> str:
    return "case" if weight == 1 else "cases"


def sentence(rule: Rule, rules: RuleSet, target: str) -> str:
    """A whole rule: "R3: if wind = strong then play = no (2 of 2 cases)"."""
    tests = conjunction(rule.conditions, rules.features)
    when = f"if {' and '.join(tests)} then " if tests else ""
    return f"{rule.id}: {when}{conclusion(rule, rules.labels, target)}"


def conclusion(rule: Rule, labels: Sequence[Label], target: str) -> str:
    """What a rule says, and what it rests on: "play = no (2 of 2 cases)"."""
    rests_on = evidence(rule.stats, rule.weight, rule.value, labels)
    return f"{name(target)} = {value(rule.value)} ({rests_on})"
