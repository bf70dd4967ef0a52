"""A list of rules as SVG: a table, one rule below the other in their order."""

from __future__ import annotations

from treecompile import words
from treecompile.draw import text
from treecompile.draw.colours import FAINT, INK, LINE, Palette, on
from treecompile.ir import Program, Rule, RuleSet
from treecompile.passes.merge import merge
from treecompile.rounding import Rounding, rounded

MARGIN, GAP, PADDING = 16.0, 18.0, 6.0
LONGEST = 70  # characters of a test


def draw_table(program: Program, body: RuleSet) -> str:
    rules = merge(body)
    every = (*rules.rules, rules.default)
    rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
    tests = [_tests(rule, rules, rounding) for rule in every]
    answers = [text.cut(_answer(rule, rules)) for rule in every]
    rests = [
        words.evidence(rule.stats, rule.weight, rule.value, rules.labels)
        for rule in every
    ]
    palette = Palette(rules.labels, [rule.value for rule in every])
    ids_wide = max(text.width(rule.id) for rule in every) * 1.1
    tests_wide = max(text.width(line) for lines in tests for line in lines)
    answers_wide = max(map(text.width, answers)) + 2 * PADDING
    lefts = [MARGIN]
    for wide in (ids_wide, tests_wide, answers_wide):
        lefts.append(lefts[-1] + wide + GAP)
    heading = text.cut(words.name(program.target), 80)
    parts = [text.line(MARGIN, MARGIN + 12, heading, fill=INK, bold=True)]
    y = MARGIN + 26
    right = lefts[3] + max(map(text.width, rests))
    right = max(right, MARGIN + text.width(heading) * 1.1)
    for rule, lines, answer, rest in zip(every, tests, answers, rests, strict=True):
        colour = palette.of(rule.value)
        n = text.number
        parts.append(
            f'<path d="M{n(MARGIN)} {n(y)} H{n(right)}" stroke="{LINE}"'
            ' stroke-width="0.5"/>'
        )
        parts += ["<g>", text.title(words.sentence(rule, rules, program.target))]
        parts.append(text.line(lefts[0], y + 18, rule.id, fill=INK, bold=True))
        for place, line in enumerate(lines):
            at = y + 18 + place * text.LINE
            parts.append(text.line(lefts[1], at, line, fill=INK))
        parts.append(
            f'<rect x="{n(lefts[2])}" y="{n(y + 4)}" height="20" rx="4"'
            f' width="{n(text.width(answer) + 2 * PADDING)}" fill="{colour}"/>'
        )
        parts.append(text.line(lefts[2] + PADDING, y + 18, answer, fill=on(colour)))
        parts.append(text.line(lefts[3], y + 18, rest, fill=FAINT))
        parts.append("</g>")
        y += 12 + len(lines) * text.LINE
    name = f"Rules for {words.name(program.target)}"
    return text.document(right + MARGIN, y + MARGIN, name, parts)


def _answer(rule: Rule, rules: RuleSet) -> str:
    if rules.labels:
        return words.value(rule.value)
    return rounded(float(rule.value), 6)


def _tests(rule: Rule, rules: RuleSet, rounding: Rounding) -> list[str]:
    """A line for each test; what is cut or rounded stands in the title in full."""
    lines: list[str] = []
    for group in words.by_feature(rule.conditions):
        where = group[0].feature
        figure = rounding.figure(where)
        feature = rules.features[where]
        phrase = words.phrase(group, feature, lambda t: "≤" if t == "<=" else t, figure)
        lines.append(text.cut(f"{'and ' if lines else ''}{phrase}", LONGEST))
    return lines or ["otherwise" if rule is rules.default else "always"]
