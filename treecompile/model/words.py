"""Conditions, rules and numbers in words, as people read them.

A test reads the same everywhere: in the rule language, the terminal, comments and
pictures. `phrase` writes it, and the parser of the rule language reads it back, with
every double exact. Prose, such as a heading, shows names and values by `name` and
`value`, which quote less. Text from the data becomes one line without control
characters; each target escapes it further for its own syntax.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import fsum, inf, nextafter

from treecompile.model import ir
from treecompile.model.evidence import Evidence, by_id
from treecompile.model.paths import DEFAULT_ID, outcomes
from treecompile.model.semantics import asks_presence, members, rank, threshold
from treecompile.model.sharing import Group, SharedPath

PLAIN = re.compile(r"[^\W_][\w.%+/-]*(?: [\w.%+/-]+)*")  # needs no quotes in prose
BARE = re.compile(r"[^\W0-9][\w.%/-]*")  # needs none in the rule language either,
RESERVED = (  # unless it is one of these
    "predict from ordered if and then always otherwise in is are not or any other"
    " missing known true false of"
)
KEYWORDS = frozenset(RESERVED.split())
LISTED = 12  # texts of a list in a sentence
SYMBOLS = {"<=": "≤", ">=": "≥"}  # for pictures

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


def word(text: str) -> str:
    """A name or a category in the rule language, in quotes only if it needs them."""
    if BARE.fullmatch(text) and text.isprintable() and text not in KEYWORDS:
        return text
    return quoted(text)


def literal(item: ir.Label) -> str:
    """A category or a label, written so that its type can be read from it."""
    if isinstance(item, bool):
        return "true" if item else "false"
    return word(item) if isinstance(item, str) else repr(item)


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


def enumerated(texts: Sequence[str], most: int = LISTED, last: str = ", ") -> str:
    """A list in a sentence: "R1, R2 and 3 more"; never "and 1 more"."""
    if len(texts) > most + 1:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return last.join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])


def phrase(
    conditions: Sequence[ir.Condition],
    feature: ir.Feature,
    figure: Figure = number,
    symbols: Mapping[str, str] = {},
) -> str:
    """The conditions on one feature: "1 < x <= 9" for both bounds of an interval.

    `figure` may round thresholds only if they are shown in full elsewhere.
    """
    if not _is_one_test(conditions):  # as in rules that no pass has merged
        parts = (phrase([one], feature, figure, symbols) for one in conditions)
        return " and ".join(parts)
    shown, first = word(feature.name), conditions[0]
    if asks_presence(first) and feature.kind is not ir.Kind.ORDINAL:
        return f"{shown} is {'missing' if first.missing else 'known'}"
    if feature.kind is ir.Kind.CATEGORICAL:
        return _membership(first, feature, shown)
    edges = [_edge(one, feature, figure) for one in conditions]
    if len(conditions) == 2:
        (over, low), (under, high) = sorted(edges, key=lambda edge: edge[0][0] == "<")
        signs = (over.replace(">", "<"), under)
        over, under = (symbols.get(sign, sign) for sign in signs)
        text = f"{low} {over} {shown} {under} {high}"
    else:
        sign, edge = edges[0]
        text = f"{shown} {symbols.get(sign, sign)} {edge}"
    if not first.missing:
        return text
    other = "or any other, " if feature.kind is ir.Kind.ORDINAL else ""
    return f"{text} ({other}or missing)"


def _edge(
    condition: ir.Condition, feature: ir.Feature, figure: Figure
) -> tuple[str, str]:
    """The comparison sign and the threshold, in the shorter of two equivalent forms.

    `x <= 4.999999999999999` and `x < 5` agree on every double.
    """
    sign = condition.op.value
    if feature.kind is ir.Kind.ORDINAL:
        return sign, literal(feature.categories[rank(feature, condition.value)])
    value = threshold(condition)
    text, after = figure(value), nextafter(value, inf)
    if figure is number and after != inf:
        other = number(after + 0.0)
        if len(other) + 4 < len(text):
            return ("<" if condition.op is ir.Op.LE else ">="), other
    return sign, text


def _is_one_test(conditions: Sequence[ir.Condition]) -> bool:
    """Whether there is only one condition, or the two bounds of an interval."""
    if len(conditions) != 2 or any(map(asks_presence, conditions)):
        return len(conditions) == 1
    one, other = conditions
    return {one.op, other.op} == {ir.Op.GT, ir.Op.LE} and one.missing == other.missing


def _membership(condition: ir.Condition, feature: ir.Feature, shown: str) -> str:
    named, negated, also = named_categories(condition, feature)
    flags = f" ({', '.join(also)})" if also else ""
    if len(named) == 1:
        return f"{shown} {'!=' if negated else '='} {literal(named[0])}{flags}"
    listed = ", ".join(map(literal, named))
    return f"{shown} {'not in' if negated else 'in'} {{{listed}}}{flags}"


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


def branch_test(
    test: ir.Condition, feature: ir.Feature, figure: Figure = number
) -> str:
    """The test of a branch in a picture, without the feature: "≤ 2.5 (or missing)"."""
    text = phrase([test], feature, figure, SYMBOLS)
    return text.removeprefix(f"{word(feature.name)} ")


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
    conditions: Sequence[ir.Condition], features: Sequence[ir.Feature]
) -> list[str]:
    """The merged conditions of a rule as one phrase for each feature."""
    return [
        phrase(group, features[group[0].feature]) for group in by_feature(conditions)
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


def evidence_by_id(
    program: ir.Program, found: Mapping[str, Evidence] | None = None
) -> dict[str, str]:
    """The same for every rule of a program, and for the default that never decides.

    `found` is the result of `evidence.by_id`, if it is known already.
    """
    labels, found = program.body.labels, found or by_id(program)
    said = {key: evidence(each, labels) for key, each in found.items()}
    return {DEFAULT_ID: NO_CASE, **said}


def counts(item: ir.Label, labels: Sequence[ir.Label], weights: Sequence[float]) -> str:
    """The cases behind an answer: "146 of 151: 4 Chinstrap, 1 Gentoo".

    Fractions are not added up, so that each can be read back: "2.5 no, 1.25 yes".
    """
    place, every = labels.index(item), fsum(weights)
    rest = [pair for pair in zip(labels, weights, strict=True) if pair[1]]
    rest = [(label, weight) for label, weight in rest if label != item]
    is_whole = every < 2**53 and all(weight.is_integer() for weight in weights)
    if not is_whole and weights[place]:
        rest.insert(0, (item, weights[place]))
    listed = ", ".join(_count(label, weight) for label, weight in rest)
    if not is_whole:
        return listed
    head = f"{number(weights[place])} of {number(every)}"
    return f"{head}: {listed}" if listed else head


def _count(label: ir.Label, weight: float) -> str:
    """ "4 Chinstrap"; a label that is a number is kept apart: "4 are 0"."""
    verb = ""
    if not isinstance(label, (str, bool)):
        verb = "is " if weight == 1 else "are "
    return f"{number(weight)} {verb}{literal(label)}"


def counts_by_id(
    program: ir.Program, found: Mapping[str, Evidence] | None = None
) -> dict[str, str]:
    """The rows behind each rule of a program, as the rule language writes them."""
    labels, found = program.body.labels, found or by_id(program)
    values = {rule.id: rule.value for rule in outcomes(program.body).values()}
    said = {DEFAULT_ID: NO_CASE}
    for key, own in found.items():
        is_known = bool(own.rows and labels and own.answers)
        told = counts(values[key], labels, own.answers) if is_known else ""
        said[key] = told or evidence(own, labels)
    return said


def sentence(rule: ir.Rule, features: Sequence[ir.Feature], said: str) -> str:
    """A whole rule: "R3: if wind = strong then no [2 of 2]"."""
    when = "otherwise" if rule.id == DEFAULT_ID else "always"
    if tests := conjunction(rule.conditions, features):
        when = f"if {' and '.join(tests)} then"
    return f"{rule.id}: {when} {conclusion(rule, said)}"


def conclusion(rule: ir.Rule, said: str) -> str:
    """The answer of a rule and the cases behind it: "no [2 of 2]"."""
    return f"{shown(rule.value)} [{said}]"


def shown(item: ir.Label) -> str:
    """The answer of a rule in the rule language."""
    return number(item) if isinstance(item, float) else literal(item)


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
