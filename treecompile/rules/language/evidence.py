"""Counts behind rules that were written, and what stands in for them."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.model import ir

ALGORITHM = "rules"  # the algorithm of a program that was written, not learned


def assumed_stats(value: ir.Label, labels: Sequence[ir.Label]) -> ir.Stats:
    """Return the statistics of a rule without counts: certain of its conclusion."""
    if not labels:
        assert isinstance(value, float)
        return ir.Moments(1.0, value, None)
    return ir.ClassCounts(tuple(1.0 if label == value else 0.0 for label in labels))


def has_counts(rule: ir.Rule, labels: Sequence[ir.Label]) -> bool:
    return rule.weight != 0 or rule.stats != assumed_stats(rule.value, labels)
