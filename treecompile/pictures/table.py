"""A list of rules as SVG: a table with one rule per row, in their order."""

from __future__ import annotations

from treecompile.model import words
from treecompile.model.ir import Program, Rule, RuleSet
from treecompile.model.words import Rounding
from treecompile.pictures import svg
from treecompile.pictures.svg import FAINT, INK, LINE, LINE_HEIGHT, MARGIN, Palette
from treecompile.rules.passes.merge import merge

GAP, PADDING = 18.0, 6.0
LONGEST_TEST = 70  # characters


def draw_table(program: Program, body: RuleSet) -> str:
    rules = merge(body)
    every = (*rules.rules, rules.default)
    rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
    tests = [_tests(rule, rules, rounding) for rule in every]
    answers = [svg.cut(words.answer(rule.value, rules.labels)) for rule in every]
    said_of = words.evidence_by_id(program)
    evidence = [said_of[rule.id] for rule in every]
    palette = Palette(rules.labels, [rule.value for rule in every])
    ids_wide = max(svg.width(rule.id) for rule in every) * 1.1
    tests_wide = max(svg.width(line) for lines in tests for line in lines)
    answers_wide = max(map(svg.width, answers)) + 2 * PADDING
    lefts = [MARGIN]
    for wide in (ids_wide, tests_wide, answers_wide):
        lefts.append(lefts[-1] + wide + GAP)
    heading = svg.cut(words.name(program.target), 80)
    parts = [svg.heading(heading)]
    y = MARGIN + 26
    right = lefts[3] + max(map(svg.width, evidence))
    right = max(right, MARGIN + svg.width(heading) * 1.1)
    for rule, lines, answer, said in zip(every, tests, answers, evidence, strict=True):
        colour = palette.of(rule.value)
        above = f"M{svg.number(MARGIN)} {svg.number(y)} H{svg.number(right)}"
        parts += [
            svg.shape("path", d=above, stroke=LINE, stroke_width=0.5),
            "<g>",
            svg.title(words.sentence(rule, rules, program.target, said)),
            svg.line(lefts[0], y + 18, rule.id, fill=INK, bold=True),
        ]
        for row, line in enumerate(lines):
            parts.append(svg.line(lefts[1], y + 18 + row * LINE_HEIGHT, line, fill=INK))
        x, wide = lefts[2], svg.width(answer) + 2 * PADDING
        parts += [
            svg.shape("rect", x=x, y=y + 4, height=20, rx=4, width=wide, fill=colour),
            svg.line(x + PADDING, y + 18, answer, fill=svg.on(colour)),
            svg.line(lefts[3], y + 18, said, fill=FAINT),
            "</g>",
        ]
        y += 12 + len(lines) * LINE_HEIGHT
    name = f"Rules for {words.name(program.target)}"
    return svg.document(right + MARGIN, y + MARGIN, name, parts)


def _tests(rule: Rule, rules: RuleSet, rounding: Rounding) -> list[str]:
    """A line for each test, shortened and rounded; the title has it in full."""
    lines: list[str] = []
    for group in words.by_feature(rule.conditions):
        index = group[0].feature
        feature, figure = rules.features[index], rounding.figure(index)
        phrase = words.phrase(group, feature, words.with_symbols, figure)
        lines.append(svg.cut(f"{'and ' if lines else ''}{phrase}", LONGEST_TEST))
    return lines or ["otherwise" if rule is rules.default else "always"]
