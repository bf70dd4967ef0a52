"""Number the rules R1, R2, ... as they stand: what is left of a list reads as a whole.

The ids are what `explain`, SQL and the document show. After rules were merged, removed
or sorted, the list is a model of its own, and its ids are its own as well.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.ir import RuleSet


def number(rules: RuleSet) -> RuleSet:
    numbered = (
        replace(rule, id=f"R{place}") for place, rule in enumerate(rules.rules, start=1)
    )
    return replace(rules, rules=tuple(numbered))
