"""A model in a language that a folder describes: finished lines for its template.

The folder's target.toml says how the language writes tests, values and names (see
`spelling`). The template walks the lines of the decision, and for a forest the trees.
The variables of a template are `header` and the fields of `LanguageText`. Its filters
are `literal`, `single` (a number of 32 bits) and `comment` (text that ends no comment).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from treecompile.emit.explanations import Explanations
from treecompile.emit.lower import Arm, lower
from treecompile.emit.lowering import CompilerInput, ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.spelling import TYPES, Spelling
from treecompile.model import forests, ir, words
from treecompile.model.semantics import probabilities, type_of_labels


@dataclass(frozen=True, slots=True)
class CodeColumn:
    """A column that is read. The examples are those of C."""

    name: str  # body mass
    id: str  # body_mass
    x: str  # how a test refers to it: row->body_mass
    kind: str  # number, text, integer or truth
    type: str  # what [number] or [text] calls it: double
    own: Mapping[str, str]  # the texts of the template: {"none": "NAN"}
    categories: tuple[ir.Label, ...]  # ("no", "yes"); empty for numbers
    zero_is_missing: bool = False  # in a forest: numbers up to 1e-35 are missing


@dataclass(frozen=True, slots=True)
class Answer:
    number: int  # its place in `answers`, or in the `values` of a tree of a forest
    value: ir.Label  # a label or number; in a forest what the leaf adds to the sums
    rule: str = ""  # R1
    shares: tuple[float, ...] = ()  # the probability of each label
    support: str = ""  # 4 of 4 cases


@dataclass(frozen=True, slots=True)
class CodeLine:
    """An arm of the decision: if `when` holds, it answers, calls or opens a block."""

    depth: int
    when: str  # all its tests; "": the last arm of its block
    answer: Answer | None = None
    call: int | None = None  # the function that decides instead: its number
    closes: int = 0  # how many blocks end after it
    arms: int = 0  # with tests, in the block that ends here


@dataclass(frozen=True, slots=True)
class Function:
    number: int  # 0 decides; the others are called
    lines: Sequence[CodeLine]


@dataclass(frozen=True, slots=True)
class TreeText:
    """A tree of a forest."""

    number: int
    functions: list[Function]
    outputs: tuple[int, ...]  # the sums that it adds to
    values: tuple[tuple[float, ...], ...]  # of each leaf, a number for each output
    columns: list[CodeColumn]  # those that it reads


@dataclass(frozen=True, slots=True)
class ForestText:
    """A sum of trees: the fields are those of `ir.Forest`."""

    trees: list[TreeText]
    start: tuple[float, ...]
    single: bool  # whether every operation is rounded to 32 bits
    divisor: float
    scale: float
    offset: tuple[float, ...]
    link: str
    slope: float
    cut: float | None
    largest_power: float  # a larger number is not exponentiated, nor its negative
    zero: float  # up to which numbers are missing in columns with zero_is_missing


@dataclass(frozen=True, slots=True)
class LanguageText:
    """The variables of a template."""

    version: str
    sha256: str
    target: str  # the predicted column, unescaped: use a filter
    columns: list[CodeColumn]
    labels: tuple[ir.Label, ...]  # empty for a regression
    label: CodeColumn  # what the answer is: its kind, type and own
    answers: list[Answer]  # of all rules, in the order of the lines
    functions: list[Function]  # empty for a forest
    explanations: Explanations | None  # None for a forest
    forest: ForestText | None


def text_of(
    source: CompilerInput | ForestInput,
    spelling: Spelling,
    taken: Iterable[str] = (),
) -> LanguageText:
    """Return the variables of a template; `taken` are names of the module itself."""
    program, body = source.program, source.program.body
    writer = Writer(body, spelling, spelling.names(body, frozenset(taken)))
    answers: list[Answer] = []
    functions: list[Function] = []
    forest = explanations = None
    if isinstance(program, ir.ForestProgram):
        forest = writer.forest(program.body)
    else:
        arms = list(lower(program.body, spelling.language.nesting))
        explanations = Explanations(program)
        answers = writer.answers(arms, explanations.support)
        functions = writer.functions(arms, answers)
    kind = type_of_labels(body.labels) if body.labels else ir.ValueType.FLOAT
    return LanguageText(
        version=source.version,
        sha256=source.sha256,
        target=program.target,
        columns=list(writer.columns.values()),
        labels=body.labels,
        label=writer.column(program.target, "", "", kind, body.labels),
        answers=answers,
        functions=functions,
        explanations=explanations,
        forest=forest,
    )


def lower_language(
    source: CompilerInput | ForestInput, options: EmitOptions
) -> Lowered:
    spelling = Spelling(source.target)
    return Lowered(text_of(source, spelling), filters=filters(spelling))


def filters(spelling: Spelling) -> Mapping[str, Callable[..., str]]:
    return {
        "literal": spelling.literal,
        "single": spelling.single,
        "comment": comment,
    }


def comment(text: str) -> str:
    """Return text on one line that ends no comment, in any language."""
    if words.name(text) == text and "/" not in text and "--" not in text:
        return text
    return json.dumps(text).replace("/", "\\/").replace("--", "-\\u002d")


class Writer:
    """Writes the columns, answers and lines of a model."""

    def __init__(
        self, body: ir.AnyBody, spelling: Spelling, names: Mapping[int, str]
    ) -> None:
        self.body, self.spelling = body, spelling
        zero = body.zero_is_missing if isinstance(body, ir.Forest) else ()
        self.columns = {}
        for place, (index, name) in enumerate(names.items()):
            feature = body.features[index]
            x = spelling.language.column.fill(name=name, position=place)
            made = self.column(feature.name, name, x, feature.type, feature.categories)
            self.columns[index] = replace(made, zero_is_missing=index in zero)
        features, columns = body.features, self.columns
        self.test = cache(
            lambda test, alone: spelling.test(
                test, features[test.feature], columns[test.feature].x, alone=alone
            )
        )

    def column(
        self,
        name: str,
        id: str,
        x: str,
        kind: ir.ValueType,
        values: tuple[ir.Label, ...],
    ) -> CodeColumn:
        spelled = self.spelling.by_type[kind]
        return CodeColumn(name, id, x, TYPES[kind], spelled.type, spelled.own, values)

    def answers(self, arms: Iterable[Arm], said: Mapping[str, str]) -> list[Answer]:
        rules = (arm.rules[0] for arm in arms if arm.rules)
        return [
            Answer(
                number,
                rule.value,
                rule.id,
                (
                    probabilities(rule.stats)
                    if isinstance(rule.stats, ir.ClassCounts)
                    else ()
                ),
                said[rule.id],
            )
            for number, rule in enumerate(rules)
        ]

    def functions(
        self, arms: Iterable[Arm], answers: Sequence[Answer]
    ) -> list[Function]:
        lines = self._lines(arms, iter(answers))
        most = self.spelling.language.lines
        return parted(lines, most) if most else [Function(0, closed(lines))]

    def _lines(self, arms: Iterable[Arm], answers: Iterator[Answer]) -> list[CodeLine]:
        joint, test = self.spelling.language.and_, self.test
        return [
            CodeLine(
                arm.depth,
                joint.join(test(each, len(arm.tests) == 1) for each in arm.tests),
                next(answers) if arm.rules else None,
            )
            for arm in arms
        ]

    def forest(self, forest: ir.Forest) -> ForestText:
        return ForestText(
            trees=[self._tree(*each) for each in enumerate(forest.members)],
            start=forest.start,
            single=forest.arithmetic is ir.Arithmetic.SINGLE,
            divisor=forest.divisor,
            scale=forest.scale,
            offset=forest.offset,
            link=forest.link.value,
            slope=forest.slope,
            cut=forest.cut,
            largest_power=forests.largest_power(forest),
            zero=forests.ZERO,
        )

    def _tree(self, number: int, member: ir.Member) -> TreeText:
        arms = list(lower(member.tree, self.spelling.language.nesting))
        leaves = (int(arm.rules[0].value) for arm in arms if arm.rules)
        answers = [Answer(leaf, leaf) for leaf in leaves]
        read = {test.feature for arm in arms for test in arm.tests}
        return TreeText(
            number,
            self.functions(arms, answers),
            member.outputs,
            member.values,
            [self.columns[index] for index in sorted(read)],
        )


# ---------------------------------------------------------------- functions


def closed(lines: Sequence[CodeLine]) -> list[CodeLine]:
    """Say after each last line of a block that it ends, and how many arms it had."""
    found, arms = [], [0]
    for line in lines:
        if line.when:
            arms[-1] += 1
            found.append(line)
            if line.answer is None and line.call is None:
                arms.append(0)
        else:
            depth, closes = line.depth, int(line.depth > 0)
            found.append(
                CodeLine(depth, "", line.answer, line.call, closes, arms.pop())
            )
    return found


def parted(lines: Sequence[CodeLine], most: int) -> list[Function]:
    """Divide a decision into functions of at most `most` lines, and one call.

    A nested block that does not fit becomes a function, and so does the rest of a block
    that is too long.
    """
    functions: dict[int, Sequence[CodeLine]] = {0: ()}

    def called(block: Sequence[CodeLine], depth: int, when: str = "") -> CodeLine:
        number = len(functions)
        functions[number] = block
        return CodeLine(depth, when, call=number)

    def shifted(block: Iterable[CodeLine], depth: int) -> list[CodeLine]:
        return [replace(line, depth=line.depth + depth) for line in block]

    def block(start: int, depth: int) -> tuple[list[CodeLine], int]:
        """Return the lines of a block, at depth 0, and where the next one starts."""
        parts: list[list[CodeLine]] = [[]]
        while True:
            line = replace(lines[start], depth=0)
            start += 1
            arm = [line]
            if line.answer is None:
                inner, start = block(start, depth + 1)
                arm = [line, *shifted(inner, 1)]
                if len(parts[-1]) + len(arm) > most:
                    arm = [called(inner, 0, line.when)]
            if len(parts[-1]) + len(arm) > most:
                parts.append([])
            parts[-1] += arm
            if not line.when:
                break
        whole = parts.pop()
        while parts:
            whole = [*parts.pop(), called(whole, 0)]
        return whole, start

    functions[0], _ = block(0, 0)
    return [Function(number, closed(functions[number])) for number in sorted(functions)]
