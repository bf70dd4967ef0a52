"""IR -> the strings of a Python module.

The text comes out as black would print it, without running black.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace

from treecompile import words
from treecompile.divide import divisible, settled
from treecompile.extract import extract, outcomes
from treecompile.ir import Body, ClassCounts, Program, Rule, Split, Tree, ValueType
from treecompile.literals import python_literal, python_string
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.python_code import CONVERTERS, DecisionCode
from treecompile.lower.python_fractional import division, unmerged_sentence
from treecompile.lower.python_helpers import Helpers
from treecompile.lower.python_layout import WIDTH, collection, in_docstring, mapping
from treecompile.passes import apply_rule_passes
from treecompile.retree import note
from treecompile.semantics import predict, probabilities, required_features
from treecompile.witness import example

# Up to this many rules each is written out as a sentence. Beyond, `explain` puts the
# sentence together from the tests on the way to the leaf, which takes far less text.
SENTENCES = 1000
TYPING = {"Any", "Literal", "TextIO", "overload"}

DIVIDES = (
    "A value that is missing or was never seen goes down every branch of its test, in",
    "proportion to the training cases that went there.",
)
PARSERS = {
    ValueType.FLOAT: "parse_number",
    ValueType.STR: "parse_text",
    ValueType.INT: "parse_integer",
    ValueType.BOOL: "parse_boolean",
}
PLAIN_NAMES = {
    ValueType.FLOAT: "number",
    ValueType.STR: "str",
    ValueType.INT: "int",
    ValueType.BOOL: "bool",
}


def lower(source: Source, options: EmitOptions) -> Context:
    """Everything that the template of the module places."""
    program = replace(source.program, body=settled(source.program.body))
    body = program.body
    used = [body.features[position] for position in required_features(body)]
    answer_type = type(body.labels[0]).__name__ if body.labels else "float"
    helpers = Helpers()
    helpers.need(*(CONVERTERS[f.type] for f in used), *(PARSERS[f.type] for f in used))
    code = DecisionCode(body, helpers.names())
    decided = outcomes(body)
    decision, *others = code.functions(decided)
    return {
        "docstring": _docstring(source, len(decided)),
        "imports": helpers.imports(
            {"csv", "sys"},
            {"collections.abc": {"Iterable", "Mapping"}, "typing": TYPING},
        ),
        "model": mapping("MODEL", _identity(source, len(decided))),
        "features": mapping(
            "FEATURES", {f.name: python_string(PLAIN_NAMES[f.type]) for f in used}
        ),
        "classes": collection("CLASSES = (", map(python_literal, body.labels), ")"),
        "is_classifier": bool(body.labels),
        "answer_type": answer_type,
        "target": in_docstring(words.name(program.target)),
        "decision": decision["lines"],
        "functions": others,
        "constants": code.constants(),
        "probabilities": _probabilities(decided),
        **_explanations(program, decided),
        **division(program, decided),
        "parsers": mapping("PARSERS", {f.name: PARSERS[f.type] for f in used}),
        "helpers": helpers.sources(),
        "blanks": collection(
            "BLANKS = (", map(python_string, ("", *program.na_values)), ")"
        ),
        "shown": "str(answer).lower()" if answer_type == "bool" else "answer",
        "notes": list(filter(None, [note(body)])),
    }


def _identity(source: Source, rules: int) -> dict[str, str]:
    program = source.program
    known: dict[str, object] = {
        "name": program.target,
        "algorithm": program.algorithm,
        "version": source.version,
        "sha256": source.sha256,
        "rules": rules,
    }
    if program.training is not None:
        known["rows"] = program.training.rows
    return {key: python_literal(value) for key, value in known.items()}


def _docstring(source: Source, rules: int) -> list[str]:
    """The head of the module, with one call that can be tried."""
    program = source.program
    body = program.body
    plural = "rule" if rules == 1 else "rules"
    row = example(body, program.training.columns if program.training else ())
    items = [
        f"{python_string(body.features[p].name)}: {python_literal(row[p])}"
        for p in required_features(body)
    ]
    call = [f">>> predict({{{', '.join(items)}}})"]
    if len(call[0]) > WIDTH - 4:
        call = [">>> predict(", "...     {"]
        call += [f"...         {item}," for item in items]
        call += ["...     }", "... )"]
    lines = [
        f"Predict {words.name(program.target)}:"
        f" {rules} {plural} learned by {program.algorithm}.",
        "",
        *(f"    {line}" for line in call),
        f"    {predict(body, row)!r}",
        "",
        f"Compiled by treecompile {source.version} from the model with SHA-256",
        f"{source.sha256}.",
        *(DIVIDES if divisible(body) else ()),
        *_how(body),
        "Standard library only, Python 3.9 or later. As a script it reads a CSV file",
        "and writes it with a column of predictions: python predict.py input.csv",
    ]
    return [in_docstring(line).rstrip() for line in lines]


def _how(body: Body) -> list[str]:
    """How a list of rules is run."""
    how = note(body)
    return textwrap.wrap(f"{how[0].upper()}{how[1:]}.", WIDTH) if how else []


def _probabilities(decided: Mapping[int, Rule]) -> list[str]:
    lines = []
    for rule in decided.values():
        if isinstance(rule.stats, ClassCounts):
            shares = map(repr, probabilities(rule.stats))
            lines += collection(f'    "{rule.id}": (', shares, "),", 4)
    return lines


def _explanations(program: Program, decided: Mapping[int, Rule]) -> Context:
    """What `explain` says: sentences, or the steps to put them together from."""
    body = program.body
    if isinstance(body, Tree) and len(decided) > SENTENCES:
        return {"sentences": [], **_steps(body, decided, program.target)}
    extracted = extract(body) if isinstance(body, Tree) else body
    rules = apply_rule_passes(extracted)
    said = {
        rule.id: words.sentence(rule, rules, program.target)
        for rule in (*rules.rules, rules.default)
    }
    if divisible(body):  # a part of a row may come where no whole row can
        for rule in extracted.rules:
            if rule.id not in said:
                said[rule.id] = unmerged_sentence(rule, extracted, program.target)
    lines = [
        f'    "{rule.id}": {python_string(said[rule.id])},'
        for rule in decided.values()
        if rule.id in said
    ]
    return {"sentences": lines, "steps": [], "ends": []}


def _steps(tree: Tree, decided: Mapping[int, Rule], target: str) -> Context:
    """For each node the node above it and the test between; for each rule its leaf."""
    steps = ['    (0, ""),'] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            feature = tree.features[node.branches[0].when.feature]
            for branch in node.branches:
                test = python_string(words.phrase([branch.when], feature))
                lines = collection("    (", (str(position), test), "),", 4)
                steps[branch.then] = "\n".join(lines)
    ends = []
    for position, rule in decided.items():
        said = python_string(words.conclusion(rule, tree.labels, target))
        ends += collection(f'    "{rule.id}": (', (str(position), said), "),", 4)
    return {"steps": steps, "ends": ends}
