"""Breaking the text of a JavaScript module in every place where it can be broken."""

from __future__ import annotations

import re
from math import inf, nextafter

from tests.support.mutants import (
    Breaker,
    Mutant,
    always,
    between,
    others,
    texts_of,
    thresholds,
)
from treecompile.emit.javascript.layout import javascript_string, literal
from treecompile.model.ir import Kind, Program, ValueType
from treecompile.model.semantics import required_features

OPERATORS = (
    (r" <= ", " < "),
    (r" <= ", " > "),
    (r" > ", " >= "),
    (r" > ", " <= "),
    (r" === ", " !== "),
    (r" !== ", " === "),
    (r" \|\| ", " && "),
    (r" && ", " || "),
    (r"!(?=\w+\.has)", ""),
    (r"(?<=[( ])(?=\w+\.has)", "!"),
)
RETURN = r'return rule \? "(\w+)" : (.+?);'


def javascript_mutants(program: Program, text: str) -> list[Mutant]:
    make = Breaker(text, between(text, "\nfunction answer(", "\nfunction sentence("))
    for number in thresholds(program):
        for towards in (-inf, inf):
            near = literal(nextafter(number, towards))
            written = rf"(?<=[<>=] ){re.escape(literal(number))}(?![\d.e])"
            make.each("ulp", written, always(near))
    for old, new in OPERATORS:
        make.each("operator", old, new)
    make.each("missing removed", r"!\((\w+) > (\S+?)\)", r"\1 <= \2")
    make.each("missing removed", r"!\((\w+) <= (\S+?)\)", r"\1 > \2")
    make.each("missing removed", r"\w+ === null \|\| ", "")
    make.each("missing added", r"(?<=if \()(\w+) <= (\S+)(?=\) \{)", r"!(\1 > \2)")
    make.each("missing added", r"(?<=if \()(\w+) > (\S+)(?=\) \{)", r"!(\1 <= \2)")
    make.each(
        "missing added", r"(?<=if \()(\w+) === (\S+)(?=\) \{)", r"\g<0> || \1 === null"
    )
    make.each("conversion removed", r"as\w+\(\".*?\", (columns\S+)\)", r"\1")
    make.each("conversion changed", r"asBigInt(?=\()", "Number")
    _categories(make, program)
    _answers(make, program)
    shares = Breaker(text)
    if "\nconst PROBABILITIES = " in text:
        shares = Breaker(text, between(text, "\nconst PROBABILITIES = ", "\n};"))
    shares.each(
        "probability",
        r"(?<=[\[ ])[\d.]+(?=[,\]])",
        lambda m: literal(nextafter(float(m[0]), 2.0)),
    )
    said = Breaker(text, (text.index("\nconst RULES = "), len(text)))
    said.each("rule", r'(?<=: ")(R\d+|default)(?=: )', "R99")
    return make.made + shares.made + said.made


def _categories(make: Breaker, program: Program) -> None:
    sets = Breaker(make.text, between(make.text, "\nconst FEATURES = ", "\n/**"))
    sets.each("missing removed", r"null,? ?", "")
    for category in texts_of(program):
        old = re.escape(javascript_string(category))
        for new in (f"{category}x", category.swapcase(), f"{category} "):
            text = javascript_string(new)
            make.each("category", rf"(?<=== ){old}(?=[) ])", always(text))
            sets.each("category", rf"(?<=[\[ ]){old}(?=[,\]])", always(text))
        make.each("category dropped", rf"\w+ === {old} \|\| ", "")
        make.each("category dropped", rf" \|\| \w+ === {old}", "")
        sets.each("category dropped", rf"(?<=[\[ ]){old},? ?(?=[^:])", "")
    for feature in program.body.features:
        for code in feature.categories:
            if feature.type is ValueType.INT and isinstance(code, int):
                for step in (-1, 1):
                    written = rf"(?<=== ){code}(?=n?[) ])|(?<=[\[ ]){code}(?=n?[,\]])"
                    make.each("category", written, str(code + step))
                    sets.each("category", written, str(code + step))
            if feature.type is ValueType.BOOL:
                make.each("category", r"(?<=== )true", "false")
                make.each("category", r"(?<=== )false", "true")
    make.made += sets.made


def _answers(make: Breaker, program: Program) -> None:
    returns = list(make.find(RETURN))
    ids, answers = (sorted({match[group] for match in returns}) for group in (1, 2))
    for match in returns:
        make.put("rule", *match.span(1), others(match[1], ids))
        make.put("answer", *match.span(2), others(match[2], answers))
    for group in (0, 1, 2):
        make.exchange("answers exchanged", [match.span(group) for match in returns])
    make.each("arm deleted", r"^ *if .*\{\n *return .*\n *\}\n", "")
    for position in required_features(program.body):
        feature = program.body.features[position]
        name = re.escape(javascript_string(feature.name))
        read = re.search(rf"const (\w+) = as\w+\({name}", make.text)
        assert read is not None
        if feature.kind is Kind.NUMERIC:
            values = ["13.5", literal(thresholds(program)[0])]
        elif feature.type is ValueType.STR:
            values = ['"added"', javascript_string(texts_of(program)[-1])]
        elif feature.type is ValueType.INT:
            end = "n" if "asBigInt" in read[0] else ""
            values = [f"9007199254740995{end}", f"{feature.categories[0]}{end}"]
        else:
            continue
        for value in values:
            arm = f'if ({read[1]} === {value}) return rule ? "R1" : {answers[0]};'
            make.each("branch added", r"^ *if ", rf"{arm}\n\g<0>")
