"""Breaking the text of an artefact in every place where it can be broken.

A mutant is a text with one change and the name of the kind of change. Some mutants mean
the same as the original; telling which is the business of the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, nextafter

from treecompile.emit.literals import python_literal
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting, literal, threshold_text
from treecompile.model.ir import (
    Feature,
    Kind,
    Program,
    ValueType,
)
from treecompile.model.semantics import (
    conditions,
    required_features,
)

Change = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class Mutant:
    what: str
    text: str


def always(text: str) -> Callable[[re.Match[str]], str]:
    return lambda match: text


def behind(text: str) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{match[1]}{text}"


def other_of(one: str, two: str) -> Callable[[re.Match[str]], str]:
    return lambda match: two if match[0] == one else one


class Breaker:
    """Makes mutants of some parts of a text."""

    def __init__(self, text: str, *spans: tuple[int, int]) -> None:
        self.text = text
        self.spans = spans
        self.made: list[Mutant] = []

    def put(self, what: str, start: int, end: int, new: str) -> None:
        if self.text[start:end] != new:
            self.made.append(Mutant(what, f"{self.text[:start]}{new}{self.text[end:]}"))

    def find(self, pattern: str) -> Iterator[re.Match[str]]:
        for start, end in self.spans:
            yield from re.compile(pattern, re.M).finditer(self.text, start, end)

    def each(self, what: str, pattern: str, new: Change) -> None:
        """Replace every match of a pattern, one at a time."""
        for match in self.find(pattern):
            change = match.expand(new) if isinstance(new, str) else new(match)
            self.put(what, match.start(), match.end(), change)

    def exchange(self, what: str, spans: Sequence[tuple[int, int]]) -> None:
        """Exchange neighbours among pieces of the text."""
        for (a, b), (c, d) in pairwise(spans):
            one, two = self.text[a:b], self.text[c:d]
            self.put(what, a, d, f"{two}{self.text[b:c]}{one}")


def thresholds(program: Program) -> list[float]:
    found = {c.value for c in conditions(program.body) if isinstance(c.value, float)}
    return sorted(filter(isfinite, found))


def texts_of(program: Program) -> list[str]:
    features = (program.body.features[p] for p in required_features(program.body))
    return [c for f in features for c in f.categories if isinstance(c, str)]


def others(answer: str, answers: Sequence[str]) -> str:
    """An answer other than this one."""
    return next(other for other in answers if other != answer)


# ---------------------------------------------------------------- SQL


def column_of(feature: Feature, dialect: Dialect) -> str:
    """The name of a column, as artefacts write it."""
    return Quoting(dialect, bare=True).name(feature.name)


def sql_mutants(program: Program, text: str, dialect: Dialect) -> list[Mutant]:
    make = Breaker(text, (text.index("*/") + 2, len(text)))
    names = (column_of(feature, dialect) for feature in program.body.features)
    column = rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)"
    for number in thresholds(program):
        for towards in (-inf, inf):
            near = threshold_text(nextafter(number, towards), dialect)
            written = re.escape(threshold_text(number, dialect))
            make.each(
                "ulp", rf"(?:(?<=[<>=] )|(?<=CAST\()){written}(?![\d.])", always(near)
            )
    for old, new in (
        (r" <= ", " < "),
        (r" <= ", " > "),
        (r" > ", " >= "),
        (r" > ", " <= "),
        (r" <> ", " = "),
        (r" = ", " <> "),
        (r" NOT IN \(", " IN ("),
        (r"(?<!NOT) IN \(", " NOT IN ("),
    ):
        make.each("operator", old, new)
    _sql_categories(make, program, dialect)
    for pattern in (
        rf" OR {column} IS NULL",
        r" OR is[nN]a[nN]\((?:CAST|toFloat64)\([^)]*\)\)",
        r" AND NOT is[nN]a[nN]\((?:CAST|toFloat64)\([^)]*\)\)",
        r" OR CAST\([^)]*\) = 'NaN'",
        r" AND CAST\([^)]*\) <> 'NaN'",
    ):
        make.each("missing removed", pattern, "")
    make.each("missing turned", r" IS NULL", " IS NOT NULL")
    make.each(
        "missing added",
        rf"WHEN (.*?({column}).*?) THEN",
        r"WHEN (\1) OR \2 IS NULL THEN",
    )
    # Of columns. The cast of a number is for tables that have numbers as text.
    make.each("cast removed", r"CAST\((?![-\d])([^()]*?) AS [A-Z ]+\)", r"\1")
    make.each("cast removed", r"toFloat64\(([^()]*?)\)", r"\1")
    make.each("collation removed", r' COLLATE (?:"C"|\w+)', "")
    _sql_answers(make, program, dialect)
    make.each("arm deleted", r"^ *WHEN .* THEN .+ /\* .*\n", "")
    _sql_branches(make, program, dialect)
    return make.made


def _sql_categories(make: Breaker, program: Program, dialect: Dialect) -> None:
    for category in texts_of(program):
        old = literal(category, dialect)
        written = rf"(?<=[(=>,] ){re.escape(old)}(?=[,) ])(?=.* THEN)"
        written += rf"|(?<=\(){re.escape(old)}(?=[,)])(?=.* THEN)"
        for new in (f"{category}x", category.swapcase(), f"{category} "):
            text = literal(new, dialect)
            make.each("category", written, always(text))
        make.each("category dropped", rf"{re.escape(old)}, (?=.* THEN)", "")
        make.each("category dropped", rf", {re.escape(old)}(?=\).* THEN)", "")
    for feature in program.body.features:
        name = re.escape(column_of(feature, dialect))
        if feature.type is ValueType.INT:
            values = rf"(?<={name} )((?:=|<>|IN|NOT IN) \(?)((?:-?\d+(?:, )?)+)"
            for match in make.find(values):
                for number in re.finditer(r"\d+", match[2]):
                    start = match.start(2) + number.start()
                    for step in (-1, 1):
                        new = str(int(number[0]) + step)
                        make.put("category", start, start + len(number[0]), new)
        if feature.type is ValueType.BOOL:
            no, yes = dialect.literals.false, dialect.literals.true
            make.each(
                "category",
                rf"(?<={name} = )({no}|{yes})\b",
                other_of(no, yes),
            )


ANSWER = r"(?:THEN|ELSE) (.+?) /\* (?:R\w+|default):"


def _sql_answers(make: Breaker, program: Program, dialect: Dialect) -> None:
    found = list(make.find(ANSWER))
    answers = sorted({match[1] for match in found})
    for match in found:
        make.put("answer", *match.span(1), others(match[1], answers))
        make.put("answer", *match.span(1), "NULL")
    make.exchange("answers exchanged", [match.span(1) for match in found])


def _sql_branches(make: Breaker, program: Program, dialect: Dialect) -> None:
    answers = sorted({match[1] for match in make.find(ANSWER)})
    for feature in (program.body.features[p] for p in required_features(program.body)):
        name = column_of(feature, dialect)
        if feature.kind is Kind.NUMERIC:
            new, used = "13.5", threshold_text(thresholds(program)[0], dialect)
        elif feature.type is ValueType.STR:
            new, used = "'added'", literal(texts_of(program)[-1], dialect)
        elif feature.type is ValueType.INT:
            new, used = "9007199254740995", literal(feature.categories[0], dialect)
        else:
            continue
        for value in (new, used):
            for answer in answers[:2]:
                arm = f"WHEN {name} = {value} THEN {answer}"
                make.each("branch added", r"^( *)CASE\n", rf"\g<0>\1  {arm}\n")


# ---------------------------------------------------------------- Python


def between(text: str, start: str, end: str) -> tuple[int, int]:
    first = text.index(start)
    return first, text.index(end, first)


def python_mutants(program: Program, text: str) -> list[Mutant]:
    make = Breaker(text, _body(text, "decide"))
    _numbers(make, program, r"(?<=[<>] )|(?<=<= )")
    for old, new in (
        (r" <= ", " < "),
        (r" <= ", " > "),
        (r" > ", " >= "),
        (r" > ", " <= "),
        (r" == ", " != "),
        (r" != ", " == "),
        (r" not in ", " in "),
        (r"(?<!not) in ", " not in "),
        (r" is not None", " is None"),
        (r" is None", " is not None"),
    ):
        make.each("operator", old, new)
    make.each("missing removed", r"not (\w+) > ", r"\1 <= ")
    make.each("missing removed", r"not (\w+) <= ", r"\1 > ")
    make.each("missing removed", r"\(None, (?=.*:$)", "(")
    make.each("missing removed", r"\{None, (?=.*:$)", "{")
    make.each("missing added", r"(?<=if )(\w+) <= (\S+):", r"not \1 > \2:")
    make.each("missing added", r"(?<=if )(\w+) > (\S+):", r"not \1 <= \2:")
    make.each("missing added", r"(?<=if )(\w+) == (\S+):", r"\1 in (\2, None):")
    make.each("conversion removed", r"(\w+) = as_\w+\(.*\)$", r"\1 = \1")
    plain = r"(\w+)\.__class__ is not float:"
    make.each("conversion removed", plain, r"\1 is None:")
    make.each("conversion removed", plain, r"\1.__class__ not in (float, int):")
    make.each("check turned", r"\.__class__ is not (?!int)", ".__class__ is ")
    make.each("check removed", r"^ +if \w+\.__class__ .*:\n +.* = as_\w+\(.*\)\n", "")
    _python_categories(make, program)
    returns = list(make.find(r'return (.+?), "(\w+)"(?=  #|$)'))
    answers, ids = (sorted({match[group] for match in returns}) for group in (1, 2))
    for match in returns:
        make.put("answer", *match.span(1), others(match[1], answers))
        make.put("rule", *match.span(2), others(match[2], ids))
    for group in (0, 1, 2):
        spans = [match.span(group) for match in returns]
        make.exchange("answers exchanged", spans)
    make.each("arm deleted", r"^ *if .*:\n *return .*\n", "")
    _python_branches(make, program, answers)
    if "\nPROBABILITIES = " in text:
        shares = Breaker(text, between(text, "\nPROBABILITIES = ", "\n}"))
        shares.each("probability", r"\d\.\d+", lambda m: f"{float(m[0]) / 2 + 0.1!r}")
        make.made += shares.made
    make.made += _python_positions(text)
    said = Breaker(text, between(text, "\nRULES = ", "\n}"))
    said.each("rule", r'(?<=: ")(R\d+|default)(?=: if)', "R99")
    return make.made + said.made


def _body(text: str, name: str) -> tuple[int, int]:
    """Where the body of a function is, without its docstring."""
    first = text.index('"""\n', text.rindex(f"\ndef {name}(")) + 4
    return first, text.index("\n\n\n", first)


def _python_positions(text: str) -> list[Mutant]:
    """Values that take each other's places: on the way in, as parameters, by name."""
    called = Breaker(text, _body(text, "predict"))
    spans = [match.span(1) for match in called.find(r"row\[([^]]+)\]")]
    called.exchange("values exchanged", spans)
    start = text.rindex("\ndef decide(")
    head = Breaker(text, (start, _body(text, "decide")[0]))
    names = [match.span(1) for match in head.find(r"(\w+): (?:Any|\w+ \|)")]
    head.exchange("parameters exchanged", names)
    listed = Breaker(text, between(text, "\nFEATURES = ", ")\n"))
    names = [match.span(0) for match in listed.find(r'"[^"]+"')]
    listed.exchange("names exchanged", names)
    return called.made + head.made + listed.made


def _numbers(make: Breaker, program: Program, before: str) -> None:
    for number in thresholds(program):
        for towards in (-inf, inf):
            near = repr(nextafter(number, towards))
            plain = re.escape(repr(number)).replace(r"e\+", r"e\+?")
            written = rf"(?:{before}){plain}(?![\d.e])"
            make.each("ulp", written, always(near))


def _python_categories(make: Breaker, program: Program) -> None:
    before = r"(?<=[=(] )|(?<=[({])|(?<=, )|(?<=^ {12})"
    for category in texts_of(program):
        old = re.escape(python_literal(category))
        for new in (f"{category}x", category.swapcase(), f"{category} "):
            text = python_literal(new)
            pattern = rf"((?:{before}){old}(?=[,)}}:]))(?=.*:$|,)"
            make.each("category", pattern, behind(text))
        make.each("category dropped", rf"(?:{before}){old}, (?=.*[)}}]:?$)", "")
        make.each("category dropped", rf", {old}(?=[)}}].*:$)", "")
    for feature in program.body.features:
        if feature.type is ValueType.INT:
            for code in feature.categories:
                assert isinstance(code, int)
                written = rf"(?:{before}){code}(?=[,)}}:])"
                for step in (-1, 1):
                    make.each("category", written, str(code + step))


def _python_branches(make: Breaker, program: Program, answers: list[str]) -> None:
    features = program.body.features
    for position in required_features(program.body):
        feature = features[position]
        read = re.search(
            rf"(\w+) = as_\w+\({re.escape(python_literal(feature.name))},", make.text
        )
        assert read is not None
        if feature.kind is Kind.NUMERIC:
            values = ["13.5", repr(thresholds(program)[0])]
        elif feature.type is ValueType.STR:
            values = ['"added"', python_literal(texts_of(program)[-1])]
        elif feature.type is ValueType.INT:
            values = ["9007199254740995", python_literal(feature.categories[0])]
        else:
            continue
        for value in values:
            arm = f'if {read[1]} == {value}:\n\\1    return {answers[0]}, "R1"\n'
            make.each("branch added", r"^( *)if (?!\w+\.__class__)", rf"\1{arm}\g<0>")


@dataclass
class Emitted:
    text: str
    files: Mapping[str, str] = field(default_factory=dict)
