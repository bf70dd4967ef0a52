"""Remove rules that can never decide, because one earlier rule takes all their rows.

A rule that several earlier rules cover only together stays: `inspect.check` finds it.
Each rule is compared with the earlier rules that test no other features. After
COMPARISONS, a matter of seconds, the pass stops and leaves the rest of the list as is.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Rule, RuleSet
from treecompile.regions.region import Regions, rule_regions

COMPARISONS = 2_000_000


def dead(rules: RuleSet) -> RuleSet:
    kept: list[Rule] = []
    before: dict[frozenset[int], list[Regions]] = {}  # by the features they test
    left = COMPARISONS
    for place, rule in enumerate(rules.rules):
        regions = rule_regions(rule, rules.features)
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
        if any(
            all(region.contains(regions[index]) for index, region in rival.items())
            for rival in rivals
        ):
            continue
        kept.append(rule)
        if not regions:
            break  # it takes every row
        before.setdefault(frozenset(regions), []).append(regions)
    return replace(rules, rules=tuple(kept))
