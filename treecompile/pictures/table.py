"""A list of rules as SVG: a table with one rule per row, in their order."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model import words
from treecompile.model.evidence import Evidence, evidence, total
from treecompile.model.ir import Program, Rule, RuleSet
from treecompile.model.words import Rounding
from treecompile.pictures import svg
from treecompile.pictures.bars import bar
from treecompile.pictures.colours import BOX, FAINT, INK, LINE, Palette, on
from treecompile.pictures.legend import header
from treecompile.pictures.options import DrawOptions
from treecompile.pictures.svg import LINE_HEIGHT, MARGIN
from treecompile.rules.passes.merge import merge
from treecompile.rules.trail import trail

GAP, PADDING = 18.0, 6.0
LONGEST, LONGEST_TEST = 34, 70  # characters
BAR = 60.0  # the width of the bar


@dataclass(frozen=True, slots=True)
class TableLine:
    """A rule of the table, in finished texts."""

    rule: Rule
    rows: Evidence
    tests: list[str]  # ["number > 2.5", "and text in {a, b}"]
    answer: str
    said: str  # 4 of 5 cases
    whole: str  # the rule as a sentence, exact
    lit: bool

    @property
    def height(self) -> float:
        return 12 + len(self.tests) * LINE_HEIGHT


def draw_table(
    program: Program, body: RuleSet, options: DrawOptions, readable: int
) -> str:
    followed = None if options.row is None else trail(program, options.row)
    lit = followed.passed if followed else frozenset[int]()
    lines = _lines(program, merge(body), lit)
    answers = [line.rule.value for line in lines]
    palette = Palette(body.labels, answers, total(program))
    # The first rules, the one that decides the row, and the default.
    most, last = options.max_leaves or readable, len(lines) - 1
    drawn = [e for n, e in enumerate(lines) if n < most or e.lit or n == last]
    hidden = len(lines) - len(drawn)
    notes = [f"{words.quantity(hidden, 'rule')} more, not drawn"] if hidden else []
    lefts, right = _columns(drawn)
    said = followed.sentence if followed else ""
    parts, least, y = header(program, palette, said, notes, right - MARGIN)
    right = max(right, MARGIN + least)
    y -= 8
    for line in drawn:
        parts += _row(line, palette, lefts, right, y)
        y += line.height
    name = f"Rules for {words.name(program.target)}"
    return svg.document(right + MARGIN, y + MARGIN, name, parts)


def _lines(program: Program, rules: RuleSet, lit: frozenset[int]) -> list[TableLine]:
    rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
    found = evidence(program)
    lines = []
    for place, rule in enumerate((*rules.rules, rules.default)):
        said = words.evidence(found[place], rules.labels)
        lines.append(
            TableLine(
                rule,
                found[place],
                _tests(rule, rules, rounding),
                svg.cut(words.answer(rule.value, rules.labels), LONGEST),
                said,
                words.sentence(rule, rules, program.target, said),
                place in lit,
            )
        )
    return lines


def _columns(lines: list[TableLine]) -> tuple[list[float], float]:
    """Where the columns begin, and where the last one ends."""
    wide = (
        max(svg.width(svg.cut(line.rule.id, LONGEST)) for line in lines) * svg.BOLD,
        max(svg.width(test) for line in lines for test in line.tests),
        max(svg.width(line.answer) for line in lines) + 2 * PADDING,
        BAR,
        max(svg.width(line.said) for line in lines),
    )
    lefts = [MARGIN + PADDING]
    for each in wide:
        lefts.append(lefts[-1] + each + GAP)
    *lefts, end = lefts
    return lefts, end - GAP + PADDING


def _row(
    line: TableLine, palette: Palette, lefts: list[float], right: float, y: float
) -> list[str]:
    fill = palette.fill(line.rule.value, line.rows)
    ids, tests, answers, bars, figures = lefts
    shown = [svg.line(ids, y + 18, svg.cut(line.rule.id, LONGEST), bold=True)]
    for place, test in enumerate(line.tests):
        shown.append(svg.line(tests, y + 18 + place * LINE_HEIGHT, test))
    box = {"x": answers, "y": y + 4, "height": 20.0, "rx": 4.0}
    box["width"] = svg.width(line.answer) + 2 * PADDING
    shown += [
        svg.shape("rect", **box, fill=fill),
        svg.line(answers + PADDING, y + 18, line.answer, fill=on(fill)),
        *bar(line.rule.value, line.rows, palette, (bars, y + 11, BAR), INK),
        svg.line(figures, y + 18, line.said, fill=FAINT),
    ]
    return [_frame(line, right, y), *svg.titled(line.whole, *shown)]


def _frame(line: TableLine, right: float, y: float) -> str:
    """A line above the rule; a frame around the one that decides the row."""
    if not line.lit:
        path = f"M{svg.number(MARGIN)} {svg.number(y)} H{svg.number(right)}"
        return svg.shape("path", d=path, stroke=LINE, stroke_width=0.5)
    box = {"x": MARGIN, "y": y + 1, "width": right - MARGIN, "height": line.height - 2}
    return svg.shape("rect", **box, rx=4.0, fill=BOX, stroke=INK, stroke_width=2.0)


def _tests(rule: Rule, rules: RuleSet, rounding: Rounding) -> list[str]:
    """A line for each test, shortened and rounded; the title has it in full."""
    lines: list[str] = []
    for group in words.by_feature(rule.conditions):
        index = group[0].feature
        feature, figure = rules.features[index], rounding.figure(index)
        phrase = words.phrase(group, feature, words.with_symbols, figure)
        lines.append(svg.cut(f"{'and ' if lines else ''}{phrase}", LONGEST_TEST))
    return lines or ["otherwise" if rule is rules.default else "always"]
