"""Writes the model as data of the review page: features, rules, nodes of the tree.

The scripts of the page only show this data. The generated JavaScript decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from treecompile.emit.javascript.decision import is_large
from treecompile.model import ir, words
from treecompile.model.evidence import Evidence, by_id, of_nodes
from treecompile.model.paths import leaves_below, rule_ids
from treecompile.model.semantics import conditions, required_features
from treecompile.model.words import Rounding
from treecompile.regions.space import example, unseen

Json = dict[str, Any]
# Endings of `words.phrase`, and the values that they accept.
ALSO = {
    " (or any other, or missing)": ["unseen", "missing"],
    " (or any other)": ["unseen"],
    " (or missing)": ["missing"],
}


# ---------------------------------------------------------------- features


def features(program: ir.Program) -> list[Json]:
    """Return each feature, as the form for a row needs it."""
    body, training = program.body, program.training
    tested = set(required_features(body))
    found = []
    for index, feature in enumerate(body.features):
        column = training.columns[index] if training else ir.ColumnSummary(0)
        low, high = column.low, column.high
        if low is None or high is None or not isfinite(low) or not isfinite(high):
            low = high = None  # the page needs a range to measure by, or none
        made = {
            "name": feature.name,
            "shown": words.name(feature.name),
            "used": index in tested,
            "kind": "number" if feature.kind is ir.Kind.NUMERIC else "category",
        }
        if feature.kind is ir.Kind.NUMERIC:
            made |= {"low": low, "high": high}
        else:
            big = is_large(feature.categories)
            values = list(map(str, feature.categories)) if big else feature.categories
            made |= {"values": values, "big": big, "unseen": unseen(feature)}
            made |= {"texts": [words.value(c) for c in feature.categories]}
        found.append(made)
    return found


def example_row(program: ir.Program) -> list[Json]:
    """Return the row that the form begins with, as the places of its inputs."""
    columns = program.training.columns if program.training else ()
    row = example(program.body, columns)
    return list(map(_place, program.body.features, row))


def _place(feature: ir.Feature, value: ir.Value) -> Json:
    if value is None:
        return {"missing": True}
    if feature.kind is ir.Kind.NUMERIC:
        number = float(value)
        return {"number": number} if isfinite(number) else {"missing": True}
    if value in feature.categories:
        return {"code": feature.categories.index(value)}
    return {"other": True}


# ---------------------------------------------------------------- rules


def listed(body: ir.Body, rules: ir.RuleSet) -> tuple[ir.Rule, ...]:
    """Return the rules of the page; the default only where it can decide."""
    ordered = isinstance(body, ir.RuleSet)
    return (*rules.rules, rules.default) if ordered else rules.rules


class RuleData:
    """The rules of a program, as the page lists them."""

    def __init__(self, program: ir.Program, rules: ir.RuleSet) -> None:
        self.program, self.rules = program, rules
        self.rounding = Rounding(conditions(program.body))
        self.evidence = by_id(program)
        self.leaves: Mapping[str, int] = {}
        if isinstance(program.body, ir.Tree):
            self.leaves = {name: at for at, name in rule_ids(program.body).items()}

    def all(self) -> list[Json]:
        return [self.rule(rule) for rule in listed(self.program.body, self.rules)]

    def rule(self, rule: ir.Rule) -> Json:
        groups = words.by_feature(rule.conditions)
        return {
            "id": rule.id,
            "said": words.answer(rule.value, self.rules.labels),
            "answer": answer_code(rule.value, self.rules.labels),
            "tests": [self.test(group) for group in groups],
            "node": self.leaves.get(rule.id, -1),
            "otherwise": "Always." if self.leaves else "If no other rule holds.",
            "empty": "no row in training comes here",
            **figures(self.evidence[rule.id]),
        }

    def test(self, group: Sequence[ir.Condition]) -> Json:
        """Return the conditions on one feature, missing and unseen values apart."""
        index = group[0].feature
        feature = self.rules.features[index]
        text, also = _apart(group, feature, self.rounding.figure(index))
        return {"feature": index, "text": text, "also": also}


def _apart(
    group: Sequence[ir.Condition], feature: ir.Feature, figure: words.Figure
) -> tuple[str, list[str]]:
    """Separate the tests of a feature from the unseen or missing values they accept."""
    text = words.phrase(group, feature, figure, words.SYMBOLS)
    for marks, also in ALSO.items():
        if text.endswith(marks):
            return text.removesuffix(marks), also
    return text, []


def answer_code(value: ir.Label, labels: Sequence[ir.Label]) -> float:
    """Return the position of a label, or the number that is the answer."""
    return labels.index(value) if labels else float(value)


def figures(known: Evidence) -> Json:
    """Return the rows behind a rule or a node."""
    return {
        "rows": known.rows,
        "right": known.right,
        "answers": known.answers,
        "mean": known.mean,
        "deviation": known.deviation,
    }


# ---------------------------------------------------------------- nodes


def nodes(program: ir.Program, places: Mapping[str, int]) -> list[Json]:
    """Return the nodes of a tree, [] for a list; `places` are of the rules by id."""
    tree = program.body
    if isinstance(tree, ir.RuleSet):
        return []
    ids, rounding = rule_ids(tree), Rounding(conditions(tree))
    known = of_nodes(program, tree)
    leaves = leaves_below(tree)
    made: list[Json] = [{"parent": -1, "test": "", "exact": ""} for _ in tree.nodes]
    for position, node in enumerate(tree.nodes):
        own = made[position] | figures(known[position])
        own |= {"leaves": leaves[position], "children": [], "feature": -1}
        own["rule"] = places.get(ids.get(position, ""), -1)
        if isinstance(node, ir.Split):
            index = node.branches[0].when.feature
            feature, figure = tree.features[index], rounding.figure(index)
            own["feature"] = index
            own["children"] = [branch.then for branch in node.branches]
            for branch in node.branches:
                text, also = _apart([branch.when], feature, figure)
                test = text.removeprefix(f"{words.word(feature.name)} ")
                made[branch.then] = {
                    "parent": position,
                    "test": " · ".join((test, *also)),
                    "exact": words.branch_test(branch.when, feature),
                }
        made[position] = own
    return made
