"""Lowers a program to the strings of a Python module.

The text comes out as black formats it, without running black.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from treecompile.emit.explanations import conclusions, identity, sentences
from treecompile.emit.guards import FunctionText
from treecompile.emit.layouts import CodeLayout, LanguageCosts, choose
from treecompile.emit.literals import python_literal, python_string
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import AUTO, DECISION, EmitOptions
from treecompile.emit.python.decision import (
    CONVERTERS,
    DecisionCode,
    node_table,
    readers,
)
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
from treecompile.model.paths import divisible, outcomes, settled
from treecompile.model.semantics import predict, probabilities, required_features
from treecompile.regions.space import example

READING = 3  # a column costs as much as so many tests: a lookup, and tests of its type
IMPORTED = {
    "collections.abc": {"Iterable", "Mapping"},
    "typing": {"Any"},
}
DIVIDES = (
    "A value that is missing or was never seen goes down every branch of its test, in",
    "proportion to the training cases that went there.",
)
PLAIN_NAMES = ByType("number", "str", "int", "bool")


@dataclass(frozen=True, slots=True)
class PythonModule:
    """The strings of a Python module; a list has one line in each entry."""

    docstring: list[str]  # "Predict play: 5 rules learned by c45.", ...
    imports: list[str]  # "import csv", "from math import nan", ...
    model: list[str]  # MODEL = {"name": "play", "algorithm": "c45", ...}
    features: list[str]  # FEATURES = {"heat": "number", "sky": "str"}
    classes: list[str]  # CLASSES = ("no", "yes")
    constants: list[str]  # TOWN_1 = frozenset({"Athens", "Berlin", ...})
    is_classifier: bool  # false for a regression
    is_divided: bool  # true for a tree that divides unknown values
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
    # Placed only for a tree that divides:
    explained: list[str]  # EXPLAINED = 10  # ...
    shown_names: list[str]  # NAMES = ("sky", "heat")
    conclusions: list[str]  # CONCLUSIONS = ("play = no", "play = yes")
    estimates: list[str]  # of a regression: '    "R1": (20.0,),', ...
    readers: list[str]  # '    "sky": (as_text, frozenset({"clear", "grey"})),', ...
    nodes: list[str]  # '    (1, 20.0, 0, (3, 4), (4.0, 2.0)),', '    "R1",', ...
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
    program = replace(source.program, body=settled(source.program.body))
    body = program.body
    read = ReadColumns.of(program)
    used, helpers = read.used, read.helpers
    answer_type = type(body.labels[0]).__name__ if body.labels else "float"
    layout = choose(program, _asked(body, options), LanguageCosts(READING * len(used)))
    figures = words.evidence_by_id(program)
    code = DecisionCode(body, helpers.names, figures, layout)
    decided = outcomes(body)
    decision, *others = code.functions(decided)
    said = sentences(program, decided, figures)
    dividing = body if divisible(body) else None
    model = {
        key: python_literal(value)
        for key, value in identity(source, len(decided)).items()
    }
    target = words.name(program.target)
    flags = {
        "SENTENCES": bool(said),
        "CLASSIFIES": bool(body.labels),
        "DIVIDES": dividing is not None,
    }
    replaced = {
        "Answer": answer_type,
        "Decided": code.returns,
        "CONCLUSION": python_string(f"{target} = "),
        "explain_divided": "explain",
        **({} if body.labels else {"PROBABILITIES": "ESTIMATES"}),
    }
    module = PythonModule(
        docstring=_docstring(source, len(decided), layout),
        imports=helpers.imports(IMPORTED | _typing(code)),
        model=mapping("MODEL", model),
        features=read.features(),
        classes=collection("CLASSES = (", map(python_literal, body.labels), ")"),
        constants=code.constants(),
        is_classifier=bool(body.labels),
        is_divided=dividing is not None,
        target=in_docstring(target),
        head=code.head_by_name(answer_type),
        by_name=code.by_name(decision, len(decided)),
        interface=code.interface(answer_type),
        decision=decision.lines,
        functions=others,
        runtime=copied(rows, _runtime(body), flags, replaced),
        probabilities=_probabilities(decided),
        sentences=[f'    "{i}": {python_string(text)},' for i, text in said.items()],
        steps=[] if said else _steps(program),
        ends=[] if said else _ends(program, decided, figures),
        explained=copied(rows, ["EXPLAINED"]),
        shown_names=collection(
            "NAMES = (", (python_string(words.name(f.name)) for f in used), ")"
        ),
        conclusions=collection(
            "CONCLUSIONS = (",
            (python_string(f"{target} = {words.value(x)}") for x in body.labels),
            ")",
        ),
        estimates=[
            f'    "{rule.id}": ({python_literal(rule.value)},),'
            for rule in decided.values()
            if not body.labels
        ],
        readers=list(readers(body)),
        nodes=list(node_table(dividing, decided)) if dividing is not None else [],
        helpers=helpers.texts(),
    )
    return Lowered(module, notes=(layout.note("the Python module"),))


def _asked(body: ir.Body, options: EmitOptions) -> str:
    """Return the layout to choose; AUTO nests a tree, which is shorter and faster."""
    is_open = options.layout == AUTO and isinstance(body, ir.Tree)
    return DECISION if is_open else options.layout


def _typing(code: DecisionCode) -> dict[str, set[str]]:
    """Return the imports that the heads of `predict` and `predict_values` need."""
    overloads = {"Literal", "overload"} if code.returns == "Any" else set()
    return {"typing": IMPORTED["typing"] | overloads}


def _runtime(body: ir.Body) -> list[str]:
    """Return the functions that users call besides `predict`, and their helpers."""
    first = ["predict_proba"] if body.labels else []
    if not divisible(body):
        return [*first, "predict_many", "explain"]
    inner = ["parts_of", "divided", "reached", "mixed", "sentence"]
    return [*first, "predict_many", "explain_divided", *inner]


def _docstring(source: CompilerInput, rules: int, layout: CodeLayout) -> list[str]:
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
        *(DIVIDES if divisible(body) else ()),
        *textwrap.wrap(f"L{layout.said[1:]}.", WIDTH),
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
    for rule, (position, said) in conclusions(program, decided, figures).items():
        items = (str(position), python_string(said))
        lines += collection(f'    "{rule}": (', items, "),", 4)
    return lines
