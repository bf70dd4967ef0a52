"""Rule post-pruning against a validation set, after Mitchell.

Every rule loses conditions as long as its accuracy on the validation rows that it takes
does not fall; then the rules are sorted by that accuracy and the first that matches
decides. For numbers, accuracy is the mean squared error, turned around. What the text
books leave open is settled here:

- The condition goes whose removal leaves the best accuracy; of equals, the one that
  makes the rule take most rows, then the last, which the tree tested last.
- Rules of one accuracy stand in the order of the rows they take, most first, then as
  they stood.
- A rule that no validation row meets cannot be judged: it keeps its conditions and
  stands behind those that can.
- A rule that loses all its conditions says no more than the default, and goes.
- What a rule answers is never changed. A condition that stays keeps what it says of a
  missing value.
- The default answers what is most common among the validation rows that no rule takes,
  or their mean. At a tie, and where none is left, it keeps the answer of the root.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treecompile.cases import Cases
from treecompile.ir import ClassCounts, Rule, RuleSet
from treecompile.passes import PRUNED_PASSES, apply_rule_passes
from treecompile.postprune.drop import Dropping, Trial
from treecompile.postprune.evidence import with_evidence
from treecompile.semantics import answer

Progress = Callable[[int], None]  # takes the rows that a rule was tried on


def prune_on_validation(
    rules: RuleSet, cases: Cases, progress: Progress = lambda done: None
) -> RuleSet:
    """Prune and sort rules; their statistics become those of the validation rows."""
    dropping = Dropping(rules, cases)
    judged: list[tuple[tuple[float, float, int], Rule]] = []
    unknown: list[Rule] = []
    for place, rule in enumerate(rules.rules):
        left = dropping.drop(rule, choose)
        progress(cases.rows)
        if not left.rows:
            unknown.append(rule)
            continue
        if not left.kept:
            continue
        conditions = tuple(rule.conditions[place] for place in left.kept)
        estimate = (left.errors / left.rows, -left.rows, place)
        judged.append((estimate, replace(rule, conditions=conditions)))
    judged.sort(key=lambda entry: entry[0])
    ordered = replace(rules, rules=(*(rule for _, rule in judged), *unknown))
    result = with_evidence(apply_rule_passes(ordered, PRUNED_PASSES), cases)
    return replace(result, default=_answering(result.default, rules))


def _answering(default: Rule, rules: RuleSet) -> Rule:
    """The default with the answer of the rows left to it; at a tie it keeps its own."""
    stats = default.stats
    if not default.weight:
        return default
    if isinstance(stats, ClassCounts):
        own = stats.weights[rules.labels.index(default.value)]
        if own == max(stats.weights):
            return default
    return replace(default, value=answer(stats, rules.labels))


def choose(trial: Trial) -> int | None:
    """The condition to drop: one whose removal does not make the rule err more."""
    if not trial.rows:
        return None
    errors = trial.errors_without / trial.rows_without
    best = errors.min()
    if best > trial.errors / trial.rows:
        return None
    rows = np.where(errors == best, trial.rows_without, -1.0)
    return len(rows) - 1 - int(rows[::-1].argmax())
