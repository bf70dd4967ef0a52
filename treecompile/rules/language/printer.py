"""Prints a program as rules that `syntax` reads back, with every double exact.

A tree is printed as one rule per leaf. The tests of each feature are merged, and rules
that can never hold are left out; no prediction changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf, nextafter

from treecompile.model import ir, words
from treecompile.model.paths import DEFAULT_ID
from treecompile.model.semantics import asks_presence, rank, threshold
from treecompile.model.sharing import Texts
from treecompile.rules.extract import flatten
from treecompile.rules.language.evidence import has_counts

WIDTH = 88
BARE = re.compile(r"[^\W0-9][\w.%/-]*")
KEYWORDS = frozenset(
    (
        *("target", "feature", "numeric", "text", "integer", "boolean", "order"),
        *("if", "and", "then", "always", "otherwise", "in", "is", "not", "or"),
        *("any", "other", "missing", "known", "present", "true", "false"),
    )
)
TYPES = {
    ir.ValueType.STR: "TEXT",
    ir.ValueType.INT: "INTEGER",
    ir.ValueType.BOOL: "BOOLEAN",
}


def print_rules(program: ir.Program, rules: ir.RuleSet | None = None) -> str:
    """Return the whole text: declarations, rules and default.

    `rules` are the merged rules of the program, if they are at hand.
    """
    rules = rules or flatten(program.body)
    lines = [_target(program)]
    if program.na_values:
        lines.append(f"MISSING {_set(program.na_values)}")
    lines += [_feature(feature) for feature in rules.features]
    lines.append("")
    printer = _Printer(rules)
    lines += map(printer.rule, rules.rules)
    if rules.rules:
        lines.append("")
    lines.append(printer.default())
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- words


def word(text: str) -> str:
    """Return a name or a category, in quotes only if it needs them."""
    if BARE.fullmatch(text) and text.isprintable() and text.lower() not in KEYWORDS:
        return text
    return words.quoted(text)


def literal(item: ir.Label) -> str:
    """Return a category or a label, written so that its type can be read from it."""
    if isinstance(item, bool):
        return "true" if item else "false"
    return word(item) if isinstance(item, str) else repr(item)


# ---------------------------------------------------------------- declarations


def _target(program: ir.Program) -> str:
    labels = program.body.labels
    values = f"IN {_set(labels)}" if labels else "NUMERIC"
    return _wrapped(f"TARGET {word(program.target)} {values}")


def _feature(feature: ir.Feature) -> str:
    shown = f"FEATURE {word(feature.name)}"
    if feature.kind is ir.Kind.NUMERIC:
        return f"{shown} NUMERIC"
    order = " ORDER" if feature.kind is ir.Kind.ORDINAL else ""
    # The categories, if there are any, show the type.
    kind = "" if feature.categories else f" {TYPES[feature.type]}"
    return _wrapped(f"{shown}{kind} IN{order} {_set(feature.categories)}")


def _wrapped(line: str) -> str:
    """Break a long declaration into several lines, after commas."""
    if len(line) <= WIDTH:
        return line
    lines, current = [], ""
    for piece in re.findall(r'(?:[^,"]|"(?:[^"\\]|\\.)*")*,? ?', line):
        if current and len(current) + len(piece.rstrip()) > WIDTH:
            lines.append(current.rstrip())
            current = "    "
        current += piece
    return "\n".join((*lines, current))


def _set(values: Sequence[ir.Label]) -> str:
    return f"{{{', '.join(map(literal, values))}}}"


# ---------------------------------------------------------------- rules


class _Printer:
    """Prints the rules of a set."""

    def __init__(self, rules: ir.RuleSet) -> None:
        self.rules = rules
        self.texts = Texts(self._test)
        self.names = [word(feature.name) for feature in rules.features]

    def rule(self, rule: ir.Rule) -> str:
        tests = self.texts.of(words.by_feature(rule.conditions))
        conclusion = self.conclusion(rule)
        name = f"{word(rule.id)}: "
        if not tests:
            return f"{name}ALWAYS {conclusion}"
        line = f"{name}IF {' AND '.join(tests)} THEN {conclusion}"
        if len(line) <= WIDTH:
            return line
        margin = "\n    "
        return f"{name}IF {f'{margin}AND '.join(tests)}{margin}THEN {conclusion}"

    def default(self) -> str:
        rule = self.rules.default
        name = "" if rule.id == DEFAULT_ID else f"{word(rule.id)}: "
        return f"{name}OTHERWISE {self.conclusion(rule)}"

    def conclusion(self, rule: ir.Rule) -> str:
        labels = self.rules.labels
        value = literal(rule.value) if labels else words.number(float(rule.value))
        if not has_counts(rule, labels):
            return value
        return f"{value} [{_evidence(rule, labels)}]"

    def _test(self, tests: tuple[ir.Condition, ...]) -> str:
        """Print the merged tests of one feature: one, or both bounds of an interval."""
        first = tests[0]
        feature = self.rules.features[first.feature]
        shown = self.names[first.feature]
        if feature.kind is not ir.Kind.ORDINAL and asks_presence(first):
            return f"{shown} IS {'MISSING' if first.missing else 'KNOWN'}"
        if feature.kind is ir.Kind.CATEGORICAL:
            return _membership(first, feature, shown)
        other = "or any other, " if feature.kind is ir.Kind.ORDINAL else ""
        missing = f" ({other}or missing)" if first.missing else ""
        if len(tests) == 2:
            low, high = tests if first.op is ir.Op.GT else reversed(tests)
            over, edge = _edge(low, feature)
            under, end = _edge(high, feature)
            over = {">": "<", ">=": "<="}[over]
            return f"{edge} {over} {shown} {under} {end}{missing}"
        sign, edge = _edge(first, feature)
        return f"{shown} {sign} {edge}{missing}"


def _edge(test: ir.Condition, feature: ir.Feature) -> tuple[str, str]:
    """Return the comparison sign and the threshold, in the shorter equivalent form.

    `x <= 4.999999999999999` and `x < 5` agree on every double.
    """
    sign = test.op.value
    if feature.kind is ir.Kind.ORDINAL:
        return sign, literal(feature.categories[rank(feature, test.value)])
    value = threshold(test)
    text, after = words.number(value), nextafter(value, inf)
    if after != inf:
        other = words.number(after + 0.0)
        if len(other) + 4 < len(text):
            return ("<" if test.op is ir.Op.LE else ">="), other
    return sign, text


def _membership(test: ir.Condition, feature: ir.Feature, shown: str) -> str:
    named, negated, also = words.named_categories(test, feature)
    flags = f" ({', '.join(also)})" if also else ""
    if len(named) == 1:
        return f"{shown} {'!=' if negated else '='} {literal(named[0])}{flags}"
    return f"{shown} {'NOT IN' if negated else 'IN'} {_set(named)}{flags}"


def _evidence(rule: ir.Rule, labels: Sequence[ir.Label]) -> str:
    stats = rule.stats
    if isinstance(stats, ir.ClassCounts):
        pairs = zip(labels, stats.weights, strict=True)
        counts = [f"{literal(label)}: {words.number(w)}" for label, w in pairs if w]
    else:
        counts = [
            f"cases: {words.number(stats.weight)}",
            f"mean: {words.number(stats.mean)}",
        ]
        if stats.sse is not None:
            counts.append(f"sse: {words.number(stats.sse)}")
    text = ", ".join(counts)
    if rule.weight != stats.weight:
        text += f"; reached: {words.number(rule.weight)}"
    return text
