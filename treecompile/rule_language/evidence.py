"""What a rule rests on, and how it is kept from outliving the rule.

Counts belong to one rule: to its conditions and its conclusion. So the text carries a
seal beside them, a short hash of all three, and counts whose seal does not fit are left
out. It is no protection against forgers; it is there so that nobody who changes a
threshold leaves false counts behind without knowing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from treecompile.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Moments,
    Op,
    Rule,
    Stats,
)
from treecompile.semantics import rank

ALGORITHM = "rules"  # of a program that was not learned but written
DIGITS = 6


def unfounded(value: Label, labels: Sequence[Label]) -> Stats:
    """What stands for the evidence of a rule that has none: sure of its conclusion."""
    if not labels:
        assert isinstance(value, float)
        return Moments(1.0, value, None)
    return ClassCounts(tuple(float(label == value) for label in labels))


def is_founded(rule: Rule, labels: Sequence[Label]) -> bool:
    """Whether a rule has counts of its own."""
    return rule.weight != 0 or rule.stats != unfounded(rule.value, labels)


class Seals:
    """Makes the seals of rules over certain features and labels."""

    def __init__(self, features: Sequence[Feature], labels: Sequence[Label]) -> None:
        self.features = features
        self.labels = labels
        self.records: dict[Condition, str] = {}  # rules share most of their tests

    def seal(self, rule: Rule) -> str:
        """The hash of what a rule says; its id and the order of tests do not count."""
        tests = sorted(map(self.record, rule.conditions))
        stats = rule.stats
        if isinstance(stats, ClassCounts):
            pairs = zip(self.labels, stats.weights, strict=True)
            counts: list[object] = [
                [label, weight] for label, weight in pairs if weight
            ]
        else:
            counts = [stats.weight, stats.mean, stats.sse]
        rest = json.dumps([rule.value, rule.weight, counts])
        text = "\n".join((*tests, rest))
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

    def record(self, test: Condition) -> str:
        """A condition as text; JSON, so on one line."""
        found = self.records.get(test)
        if found is None:
            found = _record(test, self.features[test.feature])
            self.records[test] = found
        return found


def _record(test: Condition, feature: Feature) -> str:
    value: object = test.value
    if feature.kind is Kind.ORDINAL:  # the order of the categories is part of it
        value = feature.categories[: rank(feature, test.value) + 1]
    elif test.op in (Op.IN, Op.NOT_IN):
        assert isinstance(value, tuple)
        value = sorted(value)
    return json.dumps([feature.name, test.op.value, value, test.missing])
