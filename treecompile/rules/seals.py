"""Computes the seal of a rule: 16 digits that change if what the rule says changes.

A seal is a hash of the target, the conditions and the conclusion. The id, the place in
the list and the counts do not matter, nor the form of the conditions: the seal of
`x > 3 and x > 5` is that of `x > 5`. So a rule has the same seal in a tree, a list and
a document, and an accepted rule is recognised after others were edited.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import isfinite

from treecompile.model import ir
from treecompile.model.semantics import members, rank
from treecompile.model.sharing import Group, Texts
from treecompile.model.words import by_feature
from treecompile.regions.region import region_of
from treecompile.rules.extract import flatten

DIGITS = 16
MANY = 1000  # categories


def seals(program: ir.Program, rules: ir.RuleSet | None = None) -> dict[str, str]:
    """Return the seal of each rule by its id, the default last.

    Rules that no row can meet have none. `rules` are the merged rules of the program,
    if they are at hand.
    """
    rules = rules or flatten(program.body)
    texts, canonical = ConditionTexts(rules.features), cache(_canonical)
    found = {}
    for rule in (*rules.rules, rules.default):
        groups = by_feature(rule.conditions)
        tests = [
            test
            for group in groups
            for test in canonical(group, rules.features[group[0].feature])
        ]
        conclusion = json.dumps([program.target, rule.value])
        found[rule.id] = digest((*texts.sorted(tests), conclusion), DIGITS)
    return found


def _canonical(tests: Group, feature: ir.Feature) -> Group:
    """Return tests of one feature in the only form that their region has."""
    index = tests[0].feature
    merged = region_of(tests, feature).conditions(index, feature) or ()
    return tuple(
        replace(test, value=test.value + 0.0) if type(test.value) is float else test
        for test in merged  # -0 is 0
    )


def matches(now: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """Match rules with earlier ones: return the id then, by the id now.

    `now` and `then` map ids to seals. Rules with the same seal are the same rule, those
    with the same id first; the remaining rules are matched by id.
    """
    found = {rule: rule for rule, seal in now.items() if then.get(rule) == seal}
    waiting: dict[str, list[str]] = {}  # by seal
    for name, seal in then.items():
        if name not in found:
            waiting.setdefault(seal, []).append(name)
    for rule, seal in now.items():
        if rule not in found and waiting.get(seal):
            found[rule] = waiting[seal].pop(0)
    free = then.keys() - set(found.values())
    for rule in now:
        if rule not in found and rule in free:
            found[rule] = rule
    return found


def digest(lines: Sequence[str], digits: int) -> str:
    text = "\n".join(lines)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


class ConditionTexts:
    """Conditions as text for a hash: equal texts mean equal conditions."""

    def __init__(self, features: Sequence[ir.Feature]) -> None:
        self.features = features
        self.names = [json.dumps(feature.name) for feature in features]
        self.texts = Texts(self._text)
        self.order = cache(self._order)

    def sorted(self, conditions: Sequence[ir.Condition]) -> list[str]:
        """Return the texts of conditions, sorted, as their order does not matter."""
        return sorted(self.texts.of(conditions))

    def _order(self, index: int) -> str:
        """Return a hash of the categories of a feature in their order."""
        text = json.dumps(self.features[index].categories)
        return hashlib.sha256(text.encode()).hexdigest()

    def _text(self, condition: ir.Condition) -> str:
        name, feature = self.names[condition.feature], self.features[condition.feature]
        value: object = condition.value
        if feature.kind is ir.Kind.ORDINAL:  # the order of categories matters
            place = rank(feature, value) + 1
            value = feature.categories[:place]
            if len(feature.categories) > MANY:  # too long to repeat in each condition
                value = [place, self.order(condition.feature)]
        elif feature.kind is ir.Kind.CATEGORICAL:
            value = sorted(members(condition))
        finite = type(value) is float and isfinite(value)
        shown = repr(value) if finite else json.dumps(value)  # the same, but faster
        missing = "true" if condition.missing else "false"
        return f'[{name}, "{condition.op.value}", {shown}, {missing}]'
