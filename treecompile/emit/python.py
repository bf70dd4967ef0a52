"""What only the Python target needs: its docstring, and the converters of its values.

The module's template looks like the module; the lines of its decision are made as for
any other language (see `languages`).
"""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import inf

from treecompile.emit.languages import Answer, LanguageText, filters, text_of
from treecompile.emit.literals import python_literal, python_string
from treecompile.emit.lowering import CompilerInput, ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.spelling import Spelling
from treecompile.model import forests, ir, values, words
from treecompile.model.options import sentence
from treecompile.model.paths import DEFAULT_ID
from treecompile.model.semantics import (
    conditions,
    predict,
    required_features,
)
from treecompile.regions.space import example

WIDTH = 88
FEW = 8  # columns or labels that the first line names
CONVERTERS: dict[str, tuple[Callable[..., object], ...]] = {  # and what they call
    "number": (
        values.as_number,
        values.is_missing,
        values.is_boolean,
        values.is_real,
    ),
    "integer": (
        values.as_integer,
        values.is_missing,
        values.is_boolean,
        values.is_real,
    ),
    "truth": (
        values.as_boolean,
        values.is_missing,
        values.is_boolean,
        values.is_real,
    ),
    "text": (values.as_text, values.is_missing),
}
ORIGINS = {"Decimal": "decimal", "inf": "math", "nan": "math", "Real": "numbers"}
TAKEN = {  # names that no variable may have
    *keyword.kwlist,
    *dir(builtins),
    *ORIGINS,
    *("Any", "Iterable", "Mapping", "row", "rows", "exp", "log1p"),
    *("decide", "predict", "predict_many", "predict_proba", "explain", "margin"),
    *(f.__name__ for each in CONVERTERS.values() for f in each),
    *("added", "linked", "margins", "power", "single"),
}


@dataclass(frozen=True, slots=True)
class PythonText(LanguageText):
    """The variables of the template: those of any language, and these."""

    summary: str  # Predict play (no or yes) from outlook, humidity and wind.
    call: list[str]  # '>>> predict({"outlook": "cloudy"})', one line or more
    result: str  # 'yes'
    origin: str  # 5 rules, learned by id3 from 14 rows.
    rules: list[Answer]  # the answers in the order of the rules
    imports: list[str]  # from numbers import Real
    large: frozenset[str]  # columns that are compared with numbers above 2^53
    helpers: list[str]  # "def as_text(...", ...


class PythonSpelling(Spelling):
    """Writes strings and numbers as black does."""

    def literal(self, value: ir.Label) -> str:
        if isinstance(value, str):
            return python_string(value)
        return super().literal(value).replace("e+", "e")


def lower_python(source: CompilerInput | ForestInput, options: EmitOptions) -> Lowered:
    program = source.program
    spelling = PythonSpelling(source.target)
    taken = set(TAKEN)
    if isinstance(program.body, ir.Forest):
        taken.update(f"m{place}" for place in range(len(program.body.start)))
        taken.update(f"tree_{place}" for place in range(len(program.body.members)))
    text = text_of(source, spelling, taken)
    helpers = list(converters(column.kind for column in text.columns))
    body, row = program.body, example_row(program)
    module = PythonText(
        **{entry.name: getattr(text, entry.name) for entry in fields(LanguageText)},
        summary=in_docstring(summary(text)),
        call=[in_docstring(line) for line in call(body, row)],
        result=in_docstring(repr(answer(body, row))),
        origin=in_docstring(origin(program)),
        rules=sorted(text.answers, key=lambda each: natural(each.rule)),
        imports=list(imports(helpers, text)),
        large=frozenset(large(text, body)),
        helpers=helpers,
    )
    return Lowered(module, filters={**filters(spelling), "filled": filled})


def natural(rule: str) -> tuple[bool, int, str]:
    """Sort R2 before R10, and the default last."""
    return rule == DEFAULT_ID, len(rule), rule


# ---------------------------------------------------------------- docstring


def summary(text: LanguageText) -> str:
    """Say what is predicted from what; long lists are counted instead."""
    labels = [words.value(label) for label in text.labels]
    names = [words.name(column.name) for column in text.columns]
    given = f" ({sentence(labels)})" if labels else ""
    read = f" from {sentence(names, 'and')}" if names else ""
    target = words.name(text.target)
    if len(labels) > FEW or len(given) > WIDTH // 2:
        given = f" ({len(labels)} labels)"
    if len(f"Predict {target}{given}{read}.") >= WIDTH - 2:
        read = f" from {words.quantity(len(names), 'column')}"
    return f"Predict {target}{given}{read}."


def example_row(program: ir.AnyProgram) -> ir.Row:
    if isinstance(program, ir.Program):
        columns = program.training.columns if program.training else ()
        return example(program.body, columns)
    return tuple(
        0.0 if feature.kind is ir.Kind.NUMERIC else feature.categories[0]
        for feature in program.body.features
    )


def answer(body: ir.AnyBody, row: ir.Row) -> ir.Label:
    if isinstance(body, ir.Forest):
        return forests.answer(body, forests.margins(body, row))
    return predict(body, row)


def call(body: ir.AnyBody, row: ir.Row) -> list[str]:
    """Return a call that can be tried, on one line or with one for each column."""
    items = [
        f"{python_string(body.features[place].name)}: {python_literal(row[place])}"
        for place in required_features(body)
    ]
    line = f">>> predict({{{', '.join(items)}}})"
    if len(line) <= WIDTH - 4:
        return [line]
    return [">>> predict({", *(f"...     {item}," for item in items), "... })"]


def origin(program: ir.AnyProgram) -> str:
    """Say what the model consists of, and where it comes from."""
    body, by = program.body, words.name(program.algorithm)
    if isinstance(body, ir.Forest):
        bits = "32" if body.arithmetic is ir.Arithmetic.SINGLE else "64"
        trees = words.quantity(len(body.members), "tree")
        return f"{trees}, by {by}, added in {bits} bits."
    rules = len(body.rules) + 1 if isinstance(body, ir.RuleSet) else 0
    rules = rules or sum(isinstance(node, ir.Leaf) for node in body.nodes)  # type: ignore[union-attr]
    rows = ""
    if program.training is not None:
        rows = f" from {words.quantity(program.training.rows, 'row')}"
    return f"{words.quantity(rules, 'rule')}, learned by {by}{rows}."


def in_docstring(text: str) -> str:
    """Escape text so that it neither ends a docstring nor contains escapes."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


# ---------------------------------------------------------------- code


def converters(kinds: Iterable[str]) -> Iterator[str]:
    """Yield the source of the functions that read these kinds of columns."""
    needed = {function for kind in kinds for function in CONVERTERS[kind]}
    for function in sorted(needed, key=lambda each: each.__code__.co_firstlineno):
        yield inspect.getsource(function).rstrip()


def imports(helpers: Sequence[str], text: LanguageText) -> Iterator[str]:
    """Yield the imports, in the order of the modules."""
    source = "\n".join(helpers)
    found = {name for name in ORIGINS if re.search(rf"\b{name}\b", source)}
    wanted: dict[str, set[str]] = {}
    for name in found:
        wanted.setdefault(ORIGINS[name], set()).add(name)
    forest = text.forest
    if forest is not None:
        if forest.link not in ("identity", "none", "signed_square"):
            wanted.setdefault("math", set()).add("exp")
        if forest.link == "softplus":
            wanted["math"].add("log1p")
        if any(column.zero_is_missing for column in text.columns):
            wanted.setdefault("math", set()).add("nan")
    for module in sorted(wanted):
        yield f"from {module} import {', '.join(sorted(wanted[module]))}"


def large(text: LanguageText, body: ir.AnyBody) -> Iterator[str]:
    """Yield the columns whose integers must become doubles before they are compared.

    Python compares an integer with a double exactly; the model rounds it first. Below
    2^53 the results are the same.
    """
    names = dict(zip(required_features(body), text.columns, strict=True))
    for test in conditions(body):
        value = test.value
        if isinstance(value, float) and abs(value) >= 2.0**53 and value != inf:
            yield names[test.feature].id


def filled(items: Iterable[str], indent: int = 4) -> str:
    """Join items by commas; where they do not fit in a line, in lines of their own."""
    parts, lines = list(items), [""]
    whole = ", ".join(parts)
    if len(parts) == 1 or len(whole) + indent <= WIDTH:
        return whole
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) + indent + 2 > WIDTH:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{part},"
    margin = " " * indent
    return "".join(f"\n{margin}{line}" for line in lines) + f"\n{margin[4:]}"
