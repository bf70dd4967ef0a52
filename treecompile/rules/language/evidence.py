"""The counts behind a rule, and the checksum that ties them to it.

Counts hold only for the conditions and the conclusion they were counted for. The text
carries a short checksum of all three, for example `[yes: 4 @15e964]`, and counts whose
checksum is wrong are dropped. This does not stop forgers. It stops someone who changes
a threshold from leaving wrong counts behind unawares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from treecompile.model.ir import (
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
from treecompile.model.semantics import rank

ALGORITHM = "rules"  # of a program that was written, not learned
DIGITS = 6


def assumed_stats(value: Label, labels: Sequence[Label]) -> Stats:
    """The statistics of a rule without counts: certain of its conclusion."""
    if not labels:
        assert isinstance(value, float)
        return Moments(1.0, value, None)
    return ClassCounts(tuple(float(label == value) for label in labels))


def has_counts(rule: Rule, labels: Sequence[Label]) -> bool:
    return rule.weight != 0 or rule.stats != assumed_stats(rule.value, labels)


class Checksums:
    """Computes the checksums of rules over given features and labels."""

    def __init__(self, features: Sequence[Feature], labels: Sequence[Label]) -> None:
        self.features = features
        self.labels = labels
        self.texts: dict[Condition, str] = {}  # rules share most of their conditions

    def checksum(self, rule: Rule) -> str:
        """The id of the rule and the order of its conditions do not matter."""
        conditions = sorted(map(self._text, rule.conditions))
        stats = rule.stats
        if isinstance(stats, ClassCounts):
            pairs = zip(self.labels, stats.weights, strict=True)
            counts: list[object] = [
                [label, weight] for label, weight in pairs if weight
            ]
        else:
            counts = [stats.weight, stats.mean, stats.sse]
        rest = json.dumps([rule.value, rule.weight, counts])
        text = "\n".join((*conditions, rest))
        return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]

    def _text(self, condition: Condition) -> str:
        found = self.texts.get(condition)
        if found is None:
            found = _as_json(condition, self.features[condition.feature])
            self.texts[condition] = found
        return found


def _as_json(condition: Condition, feature: Feature) -> str:
    value: object = condition.value
    if feature.kind is Kind.ORDINAL:  # the meaning depends on the order of categories
        value = feature.categories[: rank(feature, condition.value) + 1]
    elif condition.op in (Op.IN, Op.NOT_IN):
        assert isinstance(value, tuple)
        value = sorted(value)
    return json.dumps([feature.name, condition.op.value, value, condition.missing])
