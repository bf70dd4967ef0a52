"""Lowers a program to the strings of a JavaScript module, as prettier formats them.

The decision is a plain script without imports, exports and eval, so a page can embed
it, too: see `decision_script`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace

from treecompile.emit.explanations import Explanations
from treecompile.emit.guards import FunctionText
from treecompile.emit.javascript.decision import (
    DecisionScript,
    converter,
    is_large,
)
from treecompile.emit.javascript.layout import (
    WIDTH,
    block,
    comment,
    key,
    literal,
    values,
)
from treecompile.emit.literals import javascript_string
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import ByType, read_target
from treecompile.emit.templates import render
from treecompile.model import ir, words
from treecompile.model.paths import outcomes
from treecompile.model.semantics import predict, probabilities, required_features
from treecompile.regions.space import example

TYPE_NAMES = ByType("number", "string", "integer", "boolean")


@dataclass(frozen=True, slots=True)
class JavaScriptModule:
    """The strings of a JavaScript module; a list has one line in each entry."""

    head: list[str]  # " Predict play: 5 rules learned by c45.", "", ...
    exports: list[str]  # export { CLASSES, FEATURES, ... };
    model: list[str]  # const MODEL = Object.freeze({ name: "play", ... });
    features: list[str]  # const FEATURES = new Map([["heat", "number"], ...]);
    classes: list[str]  # const CLASSES = Object.freeze(["no", "yes"]);
    constants: list[str]  # const TOWN_1 = new Set(["Athens", "Berlin", ...]);
    is_classifier: bool  # false for a regression
    target: str  # play
    decision: list[str]  # the body of `answer`: '  const heat = asNumber(...', ...
    functions: list[FunctionText]  # where it nests deeper than a line is wide
    # The types of the columns that are read:
    has_numbers: bool
    has_integers: bool
    has_large_integers: bool  # beyond 2^53
    has_booleans: bool
    has_texts: bool
    is_reading: bool  # any of them
    probabilities: list[str]  # '  R1: [0.25, 0.75],', ...
    sentences: list[str]  # '  R1: "R1: if heat <= 20 then play = yes ...",', ...
    # Instead of too many sentences:
    steps: list[str]  # for each node, its parent and the test: '  [0, "heat > 20"],'
    ends: list[str]  # for each rule, its leaf: '  R1: [1, "play = yes ..."],'


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program, body = source.program, source.program.body
    used = [body.features[index] for index in required_features(body)]
    converters = set(map(converter, used))
    explanations = Explanations(program)
    code = DecisionScript(body, explanations.support)
    decided = outcomes(body)
    decision, *others = code.functions()
    said = explanations.sentences
    types = {f.name: javascript_string(TYPE_NAMES.of(f.type)) for f in used}
    module = JavaScriptModule(
        head=_head(source, len(decided)),
        exports=block("export {", _exported(body), "};"),
        model=block(
            "const MODEL = Object.freeze({",
            (f"{k}: {literal(v)}" for k, v in _identity(source, len(decided)).items()),
            "});",
        ),
        features=_map("FEATURES", types),
        classes=_classes(body),
        constants=code.constants(),
        is_classifier=bool(body.labels),
        target=comment(words.name(program.target)),
        decision=decision.lines,
        functions=others,
        has_numbers="asNumber" in converters,
        has_integers="asInteger" in converters,
        has_large_integers="asBigInt" in converters,
        has_booleans="asBoolean" in converters,
        has_texts="asText" in converters,
        is_reading=bool(used),
        probabilities=_probabilities(decided),
        sentences=[f"  {key(i)}: {javascript_string(s)}," for i, s in said.items()],
        steps=[] if said else _steps(explanations),
        ends=[] if said else _ends(explanations),
    )
    return Lowered(module)


def decision_script(source: CompilerInput) -> str:
    """Return the decision without the frame of a module, to be embedded in a page."""
    target = replace(read_target("javascript"), template="decision.js.jinja")
    return render(target, lower(source, EmitOptions()))


def _exported(body: ir.Body) -> list[str]:
    names = ["decide", "explain", "predict", "predictMany"]
    names = ["FEATURES", "MODEL", *names]
    if body.labels:
        names = ["CLASSES", *names, "predictProba"]
    return names


def _map(name: str, items: Mapping[str, str]) -> list[str]:
    """Write a Map, in which a name like `__proto__` has no special meaning."""
    pairs = [f"[{javascript_string(k)}, {value}]" for k, value in items.items()]
    lines = block(f"const {name} = new Map([", pairs, "]);")
    # Prettier puts each of several pairs on a line of its own.
    if len(pairs) > 1 and len(lines) == 1:
        inner = [f"  {pair}," for pair in pairs]
        return [f"const {name} = new Map([", *inner, "]);"]
    return lines


def _classes(body: ir.Body) -> list[str]:
    exact = is_large(body.labels)
    items = [literal(label, exact=exact) for label in body.labels]
    return values("const CLASSES = Object.freeze([", items, "]);") if items else []


def _head(source: CompilerInput, rules: int) -> list[str]:
    """Return the comment at the top, with one call that can be tried."""
    program = source.program
    body = program.body
    row = example(body, program.training.columns if program.training else ())
    items = [
        f"{key(body.features[p].name)}: {literal(row[p])}"
        for p in required_features(body)
    ]
    call = block("predict({", items, "});")
    paragraphs = [
        f"Compiled by treecompile {source.version} from the model with SHA-256",
        source.sha256 + ".",
        "No dependencies. ECMAScript 2020 or later: Node.js, Deno, browsers.",
    ]
    answer = literal(predict(body, row), exact=is_large(body.labels))
    lines = [
        f"Predict {words.name(program.target)}:"
        f" {words.quantity(rules, 'rule')} learned by {words.name(program.algorithm)}.",
        "",
        *(f"    {line}" for line in call),
        f"    // {answer}",
        "",
        *(line for text in paragraphs for line in textwrap.wrap(text, WIDTH - 3)),
    ]
    return [f" {comment(line)}".rstrip() for line in lines]


def _probabilities(decided: Mapping[int, ir.Rule]) -> list[str]:
    lines = []
    for rule in decided.values():
        if isinstance(rule.stats, ir.ClassCounts):
            shares = [literal(share) for share in probabilities(rule.stats)]
            lines += values(f"  {key(rule.id)}: [", shares, "],", 2)
    return lines


def _steps(explanations: Explanations) -> list[str]:
    """Write each node's parent and the test between, as `explain` needs them."""
    lines = []
    for parent, test in explanations.steps:
        items = (str(parent), javascript_string(test))
        lines.append("\n".join(block("  [", items, "],", 2)))
    return lines


def _ends(explanations: Explanations) -> list[str]:
    """Write the leaf of each rule, and what the rule says."""
    lines = []
    for rule, (position, said) in explanations.ends.items():
        items = (str(position), javascript_string(said))
        lines += block(f"  {key(rule)}: [", items, "],", 2)
    return lines


def _identity(source: CompilerInput, rules: int) -> dict[str, str | int]:
    """Return the entries of the constant MODEL."""
    program = source.program
    known: dict[str, str | int] = {
        "name": program.target,
        "algorithm": program.algorithm,
        "version": source.version,
        "sha256": source.sha256,
        "rules": rules,
    }
    if program.training is not None:
        known["rows"] = program.training.rows
    return known
