"""Prints a program as rules that `compile` reads back, with every double exact.

A tree is printed as one rule per leaf. The tests of each column are merged, and rules
that can never hold are left out, as are columns that no rule tests; no prediction
changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treecompile.model import ir, words
from treecompile.model.paths import DEFAULT_ID
from treecompile.model.semantics import required_features
from treecompile.model.sharing import Group, Texts
from treecompile.model.words import literal, word
from treecompile.rules.extract import flatten
from treecompile.rules.language.compile import assumed_stats
from treecompile.rules.language.covering import is_disjoint_cover
from treecompile.rules.language.syntax import TYPES

WIDTH = 100  # so many characters show in a document without scrolling
PIECE = re.compile(r' *(?:[^ "]|"(?:[^"\\]|\\.)*")+ ?')
MOST_INDENT = 60  # of the counts behind an answer
NAMES = {kind: name for name, kind in TYPES.items()}


def print_rules(program: ir.Program, rules: ir.RuleSet | None = None) -> str:
    """Return the whole text; `rules` are the merged rules, if they are at hand."""
    rules = rules or flatten(program.body)
    lines = [_declared("predict", program.target, _listed(rules.labels) or "number")]
    for index in required_features(rules):
        feature = rules.features[index]
        lines.append(_declared("from", feature.name, _values(feature)))
    if program.na_values:
        lines.append(_wrapped(f"missing: {', '.join(map(word, program.na_values))}"))
    lines.append("")
    lines += _rules(rules, with_default=needs_default(program.body, rules))
    return "\n".join(lines) + "\n"


def needs_default(body: ir.Body, rules: ir.RuleSet) -> bool:
    """Whether some case may meet no rule; of a tree, exactly one rule always holds."""
    return isinstance(body, ir.RuleSet) and not is_disjoint_cover(rules)


def has_counts(rule: ir.Rule, labels: tuple[ir.Label, ...]) -> bool:
    return rule.weight != 0 or rule.stats != assumed_stats(rule.value, labels)


# ---------------------------------------------------------------- declarations


def _declared(keyword: str, name: str, values: str) -> str:
    return _wrapped(f"{keyword} {word(name)}: {values}")


def _values(feature: ir.Feature) -> str:
    if feature.kind is ir.Kind.NUMERIC:
        return "number"
    if feature.kind is ir.Kind.CATEGORICAL:
        return _listed(feature.categories) or NAMES[feature.type]
    if len(feature.categories) > 1:  # the signs show that there is an order
        return " < ".join(map(literal, feature.categories))
    return f"ordered {_listed(feature.categories) or NAMES[feature.type]}"


def _listed(items: Sequence[ir.Label]) -> str:
    """Return values between commas; one alone must not be taken for a type."""
    if len(items) == 1 and items[0] in TYPES:
        return words.quoted(str(items[0]))
    return ", ".join(map(literal, items))


def _wrapped(line: str) -> str:
    """Break a long line into several, after blanks outside quotes."""
    if len(line) <= WIDTH:
        return line
    lines, current = [], ""
    for piece in PIECE.findall(line):
        if current and len(current) + len(piece.rstrip()) > WIDTH:
            lines.append(current.rstrip())
            current = "    "
        current += piece
    return "\n".join((*lines, current))


# ---------------------------------------------------------------- rules


def _rules(rules: ir.RuleSet, *, with_default: bool) -> Iterator[str]:
    shown = (*rules.rules, *([rules.default] if with_default else []))
    answers = [words.shown(rule.value) for rule in shown]
    indent = min(MOST_INDENT, max(map(len, answers)))
    texts: Texts[Group, str] = Texts(
        lambda tests: words.phrase(tests, rules.features[tests[0].feature])
    )
    for rule, answer in zip(shown, answers, strict=True):
        tests = texts.of(words.by_feature(rule.conditions))
        if has_counts(rule, rules.labels):
            answer = f"{answer.ljust(indent)}  [{_counts(rule, rules.labels)}]"
        if rule is rules.default:
            name = "" if rule.id == DEFAULT_ID else f"{word(rule.id)}: "
            yield _wrapped(f"{name}otherwise {answer}")
        elif tests:
            yield from (_when(word(rule.id), tests), _wrapped(f"    then {answer}"))
        else:
            yield _wrapped(f"{word(rule.id)}: always {answer}")


def _when(identity: str, tests: Sequence[str]) -> str:
    """Return the tests of a rule; a long line is broken before `and`."""
    lines, current = [], f"{identity}: if {tests[0]}"
    for test in tests[1:]:
        if len(current) + len(test) + len(" and ") > WIDTH:
            lines.append(_wrapped(current))
            current = f"    and {test}"
        else:
            current += f" and {test}"
    return "\n".join((*lines, _wrapped(current)))


def _counts(rule: ir.Rule, labels: tuple[ir.Label, ...]) -> str:
    stats = rule.stats
    if isinstance(stats, ir.ClassCounts):
        text = words.counts(rule.value, labels, stats.weights)
    else:
        noun = "case" if stats.weight == 1 else "cases"
        text = f"{words.number(stats.weight)} {noun}"
        if repr(stats.mean) != repr(rule.value):
            text += f", mean {words.number(stats.mean)}"
        if stats.sse is not None:
            text += f", sse {words.number(stats.sse)}"
    if rule.weight != stats.weight:
        text += f"; reached by {words.number(rule.weight)}"
    return text
