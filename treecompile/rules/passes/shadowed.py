"""Remove rules that never decide, because earlier rules together take all their rows.

The pass `dead` compares a rule with single rules, quickly. This one searches, within a
budget that takes seconds at most; rules undecided by then stay. It is for pruned rules,
whose conditions were dropped one by one until they overlap.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import RuleSet
from treecompile.regions.compact import is_searchable, tested_only
from treecompile.regions.space import Space

BUDGET = 200_000  # steps


def shadowed(rules: RuleSet) -> RuleSet:
    # Here, because they load numpy, which commands that prune nothing do without.
    from treecompile.regions.boxes import Boxes, SearchBudget
    from treecompile.regions.deciding import deciding

    if not is_searchable(rules):
        return rules
    tested, _ = tested_only(rules)
    boxes = Boxes(Space(tested.features), [rule.conditions for rule in tested.rules])
    deciders, undecided = deciding(tested, boxes, SearchBudget(BUDGET))
    kept = {*deciders, *undecided}
    found = tuple(rule for n, rule in enumerate(rules.rules) if n in kept)
    return replace(rules, rules=found)
