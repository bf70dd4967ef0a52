"""Lowers a program to the strings of a Python module.

The text comes out as black formats it, without running black.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.explanations import conclusions, identity, sentences
from treecompile.emit.guards import FunctionText
from treecompile.emit.literals import python_literal, python_string
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.python.decision import CONVERTERS, DecisionCode
from treecompile.emit.python.layout import (
    WIDTH,
    collection,
    in_docstring,
    mapping,
)
from treecompile.emit.runtime import rows
from treecompile.emit.runtime.source import Helpers, copied
from treecompile.emit.targets import ByType
from treecompile.model import ir, words
from treecompile.model.paths import outcomes
from treecompile.model.semantics import predict, probabilities, required_features
from treecompile.regions.space import example

IMPORTED = {
    "collections.abc": {"Iterable", "Mapping"},
    "typing": {"Any"},
}
PLAIN_NAMES = ByType("number", "str", "int", "bool")


@dataclass(frozen=True, slots=True)
class PythonModule:
    """The strings of a Python module; a list has one line in each entry."""

    docstring: list[str]  # "Predict play: 5 rules learned by c45.", ...
    imports: list[str]  # "from math import nan", "from typing import Any", ...
    model: list[str]  # MODEL = {"name": "play", "algorithm": "c45", ...}
    features: list[str]  # FEATURES = {"heat": "number", "sky": "str"}
    classes: list[str]  # CLASSES = ("no", "yes")
    constants: list[str]  # TOWN_1 = frozenset({"Athens", "Berlin", ...})
    is_classifier: bool  # false for a regression
    target: str  # play
    head: list[str]  # "def predict(row: Mapping[str, Any], rule: bool = ..."
    by_name: list[str]  # its body: '    heat = row["heat"]', ...
    interface: list[str]  # "def predict_values(heat: Any, /, *, rule: bool = ..."
    decision: list[str]  # its body: "    if heat.__class__ is not float ...", ...
    functions: list[FunctionText]  # where it nests deeper than a line is wide
    runtime: list[str]  # the other functions: "def predict_many(...", ...
    probabilities: list[str]  # '    "R1": (0.25, 0.75),', ...
    sentences: list[str]  # '    "R1": "R1: if heat <= 20 then play = yes ...",', ...
    # Instead of too many sentences:
    steps: list[str]  # for each node, its parent and the test: '    (0, "heat > 20"),'
    ends: list[str]  # for each rule, its leaf: '    "R1": (1, "play = yes ..."),'
    helpers: list[str]  # that convert values: "def as_number(...", ...


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """The columns that a module reads, and the functions that it reads them with."""

    used: list[ir.Feature]
    helpers: Helpers

    @classmethod
    def of(cls, program: ir.AnyProgram) -> ReadColumns:
        body = program.body
        used = [body.features[index] for index in required_features(body)]
        needed = [CONVERTERS.of(f.type) for f in used]
        return cls(used, Helpers(needed))

    def features(self) -> list[str]:
        """Return the constant FEATURES."""
        name = "FEATURES" if self.used else "FEATURES: dict[str, str]"
        types = {f.name: python_string(PLAIN_NAMES.of(f.type)) for f in self.used}
        return mapping(name, types)


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program, body = source.program, source.program.body
    read = ReadColumns.of(program)
    helpers = read.helpers
    answer_type = type(body.labels[0]).__name__ if body.labels else "float"
    figures = words.evidence_by_id(program)
    code = DecisionCode(body, helpers.names, figures)
    decided = outcomes(body)
    decision, *others = code.functions()
    said = sentences(program, decided)
    model = {
        key: python_literal(value)
        for key, value in identity(source, len(decided)).items()
    }
    called = [*["predict_proba"] * bool(body.labels), "predict_many", "explain"]
    flags, replaced = {"SENTENCES": bool(said)}, {"Answer": answer_type}
    module = PythonModule(
        docstring=_docstring(source, len(decided)),
        imports=helpers.imports(IMPORTED | _typing(code)),
        model=mapping("MODEL", model),
        features=read.features(),
        classes=collection("CLASSES = (", map(python_literal, body.labels), ")"),
        constants=code.constants(),
        is_classifier=bool(body.labels),
        target=in_docstring(words.name(program.target)),
        head=code.head_by_name(answer_type),
        by_name=code.by_name(decision, len(decided)),
        interface=code.interface(answer_type),
        decision=decision.lines,
        functions=others,
        runtime=copied(rows, called, flags, replaced),
        probabilities=_probabilities(decided),
        sentences=[f'    "{i}": {python_string(text)},' for i, text in said.items()],
        steps=[] if said else _steps(program),
        ends=[] if said else _ends(program, decided, figures),
        helpers=helpers.texts(),
    )
    return Lowered(module)


def _typing(code: DecisionCode) -> dict[str, set[str]]:
    """Return the imports that the heads of `predict` and `predict_values` need."""
    overloads = {"Literal", "overload"} if code.returns == "Any" else set()
    return {"typing": IMPORTED["typing"] | overloads}


def _docstring(source: CompilerInput, rules: int) -> list[str]:
    """Return the docstring of the module, with one call that can be tried."""
    program = source.program
    body = program.body
    row = example(body, program.training.columns if program.training else ())
    lines = [
        f"Predict {words.name(program.target)}:"
        f" {words.quantity(rules, 'rule')} learned by {words.name(program.algorithm)}.",
        "",
        *(f"    {line}" for line in example_calls(body, row, predict(body, row))),
        "",
        f"Compiled by treecompile {source.version} from the model with SHA-256",
        f"{source.sha256}.",
        "Standard library only, Python 3.9 or later.",
    ]
    return [in_docstring(line).rstrip() for line in lines]


def example_calls(body: ir.AnyBody, row: ir.Row, answer: ir.Label) -> list[str]:
    """Return a call by name and one by position that can be tried."""
    required = required_features(body)
    values = [python_literal(row[place]) for place in required]
    keys = (python_string(body.features[place].name) for place in required)
    items = [f"{key}: {value}" for key, value in zip(keys, values, strict=True)]
    lines = [f">>> predict({{{', '.join(items)}}})"]
    if len(lines[0]) > WIDTH - 4:
        inner = [f"...         {item}," for item in items]
        lines = [">>> predict(", "...     {", *inner, "...     }", "... )"]
    by_position = [f">>> predict_values({', '.join(values)})"]
    if len(by_position[0]) > WIDTH - 4:
        inner = [f"...     {line}" for line in _filled(values, WIDTH - 12)]
        by_position = [">>> predict_values(", *inner, "... )"]
    return [*lines, repr(answer), *by_position, repr(answer)]


def _filled(values: Sequence[str], width: int) -> list[str]:
    """Fill lines with values, as many in each as fit."""
    lines = [""]
    for value in values:
        if lines[-1] and len(lines[-1]) + len(value) + 2 > width:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{value},"
    return lines


def _probabilities(decided: Mapping[int, ir.Rule]) -> list[str]:
    lines = []
    for rule in decided.values():
        if isinstance(rule.stats, ir.ClassCounts):
            shares = map(repr, probabilities(rule.stats))
            lines += collection(f'    "{rule.id}": (', shares, "),", 4)
    return lines


def _steps(program: ir.Program) -> list[str]:
    """Write each node's parent and the test between, as `explain` needs them."""
    lines = []
    for parent, test in words.tests_above(program.body):
        items = (str(parent), python_string(test))
        lines.append("\n".join(collection("    (", items, "),", 4)))
    return lines


def _ends(
    program: ir.Program, decided: Mapping[int, ir.Rule], figures: Mapping[str, str]
) -> list[str]:
    """Write the leaf of each rule, and what the rule says."""
    lines = []
    for rule, (position, said) in conclusions(program, decided).items():
        items = (str(position), python_string(said))
        lines += collection(f'    "{rule}": (', items, "),", 4)
    return lines
