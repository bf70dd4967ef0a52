"""Remove rules that can never decide, because one rule before takes all their rows.

A rule that several rules before it cover only together stays: to find those is the
work of an analysis, not of a pass. Each rule is compared with those before it that
test no other feature than it does. The pass stops after COMPARISONS, which keeps it
to seconds, and leaves the rest of the list as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.accepts import Regions, contains, regions_of
from treecompile.ir import Rule, RuleSet

COMPARISONS = 2_000_000


def dead(rules: RuleSet) -> RuleSet:
    kept: list[Rule] = []
    before: dict[frozenset[int], list[Regions]] = {}  # by the features they test
    left = COMPARISONS
    for place, rule in enumerate(rules.rules):
        regions = regions_of(rule, rules.features)
        rivals = [
            rival
            for tested, group in before.items()
            if tested <= regions.keys()
            for rival in group
        ]
        left -= len(before) + len(rivals)
        if left < 0:
            kept += rules.rules[place:]
            break
        if _is_taken(regions, rivals):
            continue
        kept.append(rule)
        if not regions:
            break  # it takes every row
        before.setdefault(frozenset(regions), []).append(regions)
    return replace(rules, rules=tuple(kept))


def _is_taken(regions: Regions, rivals: Sequence[Regions]) -> bool:
    return any(
        all(contains(region, regions[where]) for where, region in rival.items())
        for rival in rivals
    )
