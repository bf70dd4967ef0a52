"""Number the rules R1, R2, ... in their order.

`explain`, SQL and the document show these ids. A list whose rules were merged, removed
or sorted is a model of its own, so it gets ids of its own.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import RuleSet


def number(rules: RuleSet) -> RuleSet:
    numbered = (
        replace(rule, id=f"R{place}") for place, rule in enumerate(rules.rules, start=1)
    )
    return replace(rules, rules=tuple(numbered))
