"""Lowers a program to the review page: one file that needs no network.

Text from the data is on the page only as escaped text, and as JSON that the script
shows as text. The policy of the page lets a browser run its own script, known by its
hash, and nothing else. The row to try is answered from the nodes, or rules, in the
JSON: a category stands there as its place in the feature's categories.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Any

from markupsafe import Markup

from treecompile.emit.figures import columns_table, unused_columns
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.svg import draw
from treecompile.emit.targets import templates_folder
from treecompile.measure.summary import measured, quality_line
from treecompile.model import ir, words
from treecompile.model.display import DisplayTable, confusion_table
from treecompile.model.errors import TargetError
from treecompile.model.evidence import Evidence, by_id
from treecompile.model.paths import leaf_count, rule_ids, size
from treecompile.model.semantics import rank, required_features
from treecompile.regions.space import example, unseen
from treecompile.rules.extract import flatten

MOST_RULES = 5_000  # that a browser can hold on one page
Json = Any


@dataclass(frozen=True, slots=True)
class PageRule:
    """A rule as the page shows it."""

    id: str
    answer: str  # play = yes
    tests: list[str]  # ["outlook = sunny", "humidity = high (or any other)"]
    evidence: str  # 4 of 5 cases
    rows: float
    share: float  # of its rows, how many have its answer


@dataclass(frozen=True, slots=True)
class PageField:
    """A field of the form for a row."""

    name: str
    place: int  # of the column
    values: str  # in training: 30 to 60
    numeric: bool
    categories: list[str]  # of a list to choose from
    unseen: bool  # whether there can be another category


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """What the template places."""

    sha256: str  # of the model
    target: str
    title: str  # Rules for predicting play
    policy: str  # default-src 'none'; script-src 'sha256-...' ...
    facts: list[str]  # one line each: size, data, accuracy
    labels: list[str]
    picture: Markup  # SVG; "" for a list of rules
    rules: list[PageRule]
    fields: list[PageField]
    tables: list[DisplayTable]  # the columns; of labels, the confusion matrix
    unused: str  # temperature
    style: Markup
    script: Markup
    data: Markup  # JSON


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program = source.program
    body, count = program.body, leaf_count(program.body)
    if count > MOST_RULES:
        raise TargetError(
            f"{count:,} rules are too many for a page, which holds {MOST_RULES:,}:"
            " prune the model, or use to=markdown"
        )
    rules, used = flatten(body), required_features(body)
    shown, nodes, tests = rules.rules, list[Json](), list[Json]()
    if isinstance(body, ir.RuleSet):
        shown = (*rules.rules, rules.default)
        tests = [[_test(test, body) for test in rule.conditions] for rule in shown]
    else:
        nodes = _nodes(body, shown)
    target, evidence = words.name(program.target), by_id(program)
    columns = columns_table(program, used)
    data = {
        "model": source.sha256,
        "target": target,
        "answers": [words.value(rule.value) for rule in shown],
        "nodes": nodes,
        "rules": tests,
        "row": _example(program),
    }
    style, script = _static("style.css"), _static("page.js")
    page = ReviewPage(
        source.sha256,
        target,
        f"Rules for predicting {target}",
        f"default-src 'none'; script-src {_digest(script)}; style-src"
        f" {_digest(style)}; img-src data:; base-uri 'none'; form-action 'none'",
        _facts(program),
        list(map(words.value, body.labels)),
        Markup(draw(program) if nodes else ""),
        [_rule(rule, rules, target, evidence[rule.id]) for rule in shown],
        [
            _field(body.features[index], index, row[1])
            for index, row in zip(used, columns.rows, strict=True)
        ],
        [columns, *_confusion(program)],
        unused_columns(body, used),
        Markup(style),
        Markup(script),
        _in_script(data),
    )
    return Lowered(page)


@cache
def _static(name: str) -> str:
    """A file of the page that is the same for every model."""
    return (templates_folder() / "html" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _in_script(value: Json) -> Markup:
    """JSON inside a script element, whose text is never parsed as markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", r"\u003c"))


# ---------------------------------------------------------------- what people read


def _facts(program: ir.Program) -> list[str]:
    training = program.training
    facts = [f"{size(program.body)}, by {program.algorithm}"]
    if training is not None:
        source = training.source or "a table in memory"
        facts.append(f"data: {source}, {words.quantity(training.rows, 'row')}")
    return [*facts, *filter(None, [quality_line(program)])]


def _confusion(program: ir.Program) -> list[DisplayTable]:
    """The rows of each label by the answer they get, of what says most."""
    known = measured(program)
    return confusion_table(program.body.labels, known[-1].quality) if known else []


def _rule(
    rule: ir.Rule, rules: ir.RuleSet, target: str, evidence: Evidence
) -> PageRule:
    return PageRule(
        rule.id,
        f"{target} = {words.answer(rule.value, rules.labels)}",
        words.conjunction(rule.conditions, rules.features),
        words.evidence(evidence, rules.labels),
        evidence.rows,
        evidence.right / evidence.rows if evidence.rows else 0.0,
    )


def _field(feature: ir.Feature, place: int, values: str) -> PageField:
    return PageField(
        words.name(feature.name),
        place,
        values,
        feature.kind is ir.Kind.NUMERIC,
        list(map(words.value, feature.categories)),
        unseen(feature) is not None,
    )


# ---------------------------------------------------------------- what the script reads


def _test(test: ir.Condition, body: ir.Body) -> Json:
    """A condition, its categories as places: [0, "in", [1, 2], true]."""
    feature, value = body.features[test.feature], test.value
    if isinstance(value, tuple):
        places: Json = [rank(feature, category) for category in value]
    else:
        places = _place(feature, value)
    return [test.feature, test.op.value, places, test.missing]


def _place(feature: ir.Feature, value: ir.Value) -> Json:
    """A number, or the place of a category; JSON has no infinities."""
    if value is None:
        return None
    if feature.kind is ir.Kind.NUMERIC:
        number = float(value)
        if isfinite(number):
            return number
        return "Infinity" if number > 0 else "-Infinity"
    return rank(feature, value) if value in feature.categories else "unseen"


def _nodes(tree: ir.Tree, rules: Sequence[ir.Rule]) -> list[Json]:
    """Each node with its children, or its rule, and the test that leads to it.

    A leaf that no row can reach has no rule.
    """
    ids, places = rule_ids(tree), {rule.id: n for n, rule in enumerate(rules)}
    above = words.tests_above(tree)
    nodes: list[dict[str, Json]] = [{} for _ in tree.nodes]
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Leaf):
            nodes[position]["rule"] = places.get(ids[position])
            continue
        nodes[position]["children"] = [branch.then for branch in node.branches]
        for branch in node.branches:
            parent, text = above[branch.then]
            own = {"above": parent, "test": _test(branch.when, tree), "text": text}
            nodes[branch.then] = own
    return nodes


def _example(program: ir.Program) -> list[Json]:
    """The row that the form begins with; null is missing."""
    columns = program.training.columns if program.training else ()
    return list(map(_place, program.body.features, example(program.body, columns)))
