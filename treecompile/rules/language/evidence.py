"""Ties the counts behind a rule to the rule, by a checksum.

Counts hold only for the conditions and the conclusion they were counted for. The text
carries a short checksum of all three, for example `[yes: 4 @15e964]`, and counts whose
checksum is wrong are dropped. This does not stop forgers. It stops someone who changes
a threshold from leaving wrong counts behind unawares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from treecompile.model import ir
from treecompile.rules.seals import ConditionTexts, digest

ALGORITHM = "rules"  # the algorithm of a program that was written, not learned
DIGITS = 6


def assumed_stats(value: ir.Label, labels: Sequence[ir.Label]) -> ir.Stats:
    """Return the statistics of a rule without counts: certain of its conclusion."""
    if not labels:
        assert isinstance(value, float)
        return ir.Moments(1.0, value, None)
    return ir.ClassCounts(tuple(1.0 if label == value else 0.0 for label in labels))


def has_counts(rule: ir.Rule, labels: Sequence[ir.Label]) -> bool:
    return rule.weight != 0 or rule.stats != assumed_stats(rule.value, labels)


class Checksums:
    """Computes the checksums of rules over given features and labels."""

    def __init__(
        self, features: Sequence[ir.Feature], labels: Sequence[ir.Label]
    ) -> None:
        self.labels = labels
        self.texts = ConditionTexts(features)

    def checksum(self, rule: ir.Rule) -> str:
        """Return the checksum of a rule, whatever its id and order of conditions."""
        stats = rule.stats
        if isinstance(stats, ir.ClassCounts):
            pairs = zip(self.labels, stats.weights, strict=True)
            counts: list[object] = [
                [label, weight] for label, weight in pairs if weight
            ]
        else:
            counts = [stats.weight, stats.mean, stats.sse]
        rest = json.dumps([rule.value, rule.weight, counts])
        return digest((*self.texts.sorted(rule.conditions), rest), DIGITS)
