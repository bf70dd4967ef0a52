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

from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.svg import draw
from treecompile.emit.targets import templates_folder
from treecompile.measure.summary import quality_line
from treecompile.model import ir, words
from treecompile.model.errors import TargetError
from treecompile.model.evidence import Evidence, by_id
from treecompile.model.paths import leaf_count, rule_ids, size
from treecompile.model.semantics import rank, required_features
from treecompile.regions.space import example, unseen
from treecompile.rules.extract import flatten

MOST_RULES = 5_000  # that a browser can hold on one page
MOST_LISTED = 20  # categories of a column
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
class PageFeature:
    """A column as the page shows it, and as the form for a row asks for it."""

    name: str
    place: int
    kind: str  # numeric
    values: str  # 30 to 60; cloudy, rainy, sunny
    missing: str  # rows without a value in training
    used: bool  # by some test
    categories: list[str]  # of a form's list; empty for a number
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
    confusion: list[list[str]]  # a line for each label, which begins with its name
    picture: Markup  # SVG; "" for a list of rules
    rules: list[PageRule]
    features: list[PageFeature]
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
    is_list = isinstance(body, ir.RuleSet)
    rules = flatten(body)
    shown = (*rules.rules, rules.default) if is_list else rules.rules
    target, evidence = words.name(program.target), by_id(program)
    labels = list(map(words.value, body.labels))
    data = {
        "model": source.sha256,
        "target": target,
        "answers": [words.value(rule.value) for rule in shown],
        "nodes": [] if isinstance(body, ir.RuleSet) else _nodes(body, shown),
        "rules": [[_test(t, body) for t in r.conditions] for r in shown] * is_list,
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
        labels,
        _confusion(program, labels),
        Markup("" if is_list else draw(program)),
        [_rule(rule, rules, target, evidence[rule.id]) for rule in shown],
        _features(program),
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


def _confusion(program: ir.Program, labels: list[str]) -> list[list[str]]:
    """The rows of each label by the answer they get, of what says most."""
    training = program.training
    if training is None or not labels:
        return []
    estimate = training.estimate.quality if training.estimate else None
    found = estimate or training.validation or training.quality
    counts = found.confusion if isinstance(found, ir.ClassQuality) else ()
    return [[name, *map(str, row)] for name, row in zip(labels, counts, strict=False)]


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


def _features(program: ir.Program) -> list[PageFeature]:
    body, training = program.body, program.training
    tested = set(required_features(body))
    unknown = [ir.ColumnSummary(0)] * len(body.features)
    columns = training.columns if training else unknown
    return [
        PageFeature(
            words.name(feature.name),
            place,
            feature.kind.value,
            _values(feature, column),
            f"{column.missing:,}" if training else "",
            place in tested,
            list(map(words.value, feature.categories)),
            unseen(feature) is not None,
        )
        for place, (feature, column) in enumerate(
            zip(body.features, columns, strict=True)
        )
    ]


def _values(feature: ir.Feature, column: ir.ColumnSummary) -> str:
    if column.low is None or column.high is None:
        return words.enumerated(list(map(words.value, feature.categories)), MOST_LISTED)
    return f"{words.rounded(column.low, 6)} to {words.rounded(column.high, 6)}"


# ---------------------------------------------------------------- what the script reads


def _test(test: ir.Condition, body: ir.Body) -> Json:
    """A condition, its categories as places: [0, "in", [1, 2], true]."""
    feature, value = body.features[test.feature], test.value
    if isinstance(value, tuple):
        places: Json = [rank(feature, category) for category in value]
    elif feature.kind is ir.Kind.ORDINAL:
        places = rank(feature, value)
    else:
        places = _number(float(value))
    return [test.feature, test.op.value, places, test.missing]


def _number(value: float) -> Json:
    """A double; JSON has no infinities."""
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _nodes(tree: ir.Tree, rules: Sequence[ir.Rule]) -> list[Json]:
    """Each node with its children, or its rule, and the test that leads to it.

    A leaf that no row can reach has no rule.
    """
    ids, places = rule_ids(tree), {rule.id: n for n, rule in enumerate(rules)}
    made: list[dict[str, Json]] = [{} for _ in tree.nodes]
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Leaf):
            made[position]["rule"] = places.get(ids[position])
            continue
        made[position]["children"] = [branch.then for branch in node.branches]
        for branch in node.branches:
            feature = tree.features[branch.when.feature]
            text = words.phrase([branch.when], feature)
            own = {"above": position, "test": _test(branch.when, tree), "text": text}
            made[branch.then] = own
    return made


def _example(program: ir.Program) -> list[Json]:
    """The row that the form begins with; null is missing."""
    columns = program.training.columns if program.training else ()
    row = zip(program.body.features, example(program.body, columns), strict=True)
    return [_place(feature, value) for feature, value in row]


def _place(feature: ir.Feature, value: ir.Value) -> Json:
    if value is None:
        return None
    if feature.kind is ir.Kind.NUMERIC:
        return _number(float(value))
    return rank(feature, value) if value in feature.categories else "unseen"
