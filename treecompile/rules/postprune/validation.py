"""Prunes rules on a validation set, after Mitchell (Machine Learning, 1997).

Each rule loses conditions as long as its accuracy on the validation rows it takes does
not fall. Then the rules are sorted by that accuracy, and the first match decides. For
numbers the mean squared error takes the place of the error rate. Where the textbook
leaves a choice:

- The condition to drop is the one whose removal leaves the best accuracy; of equals,
  the one that gives the rule the most rows, then the one the tree tested last.
- Rules of equal accuracy are sorted by the rows they take, most first, then by their
  order in the tree.
- A rule that no validation row meets cannot be judged. It keeps its conditions and
  comes after those that can.
- A rule without conditions says no more than the default, and is dropped.
- Rules keep their answers, and conditions their branch for missing values.
- The default answers with the most common label, or the mean, of the validation rows
  that no rule takes. On a tie, or if there is no such row, it keeps its answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treecompile.measure.cases import Cases
from treecompile.model.arrays import Floats
from treecompile.model.ir import ClassCounts, Rule, RuleSet
from treecompile.model.semantics import answer
from treecompile.rules.passes import PRUNED_PASSES, apply_rule_passes
from treecompile.rules.postprune.drop import Dropping, Progress, recounted


def prune_on_validation(
    rules: RuleSet, cases: Cases, progress: Progress = lambda done: None
) -> RuleSet:
    """Prune and sort the rules; their statistics become those of the cases."""
    dropping = Dropping(rules, cases)
    judged: list[tuple[tuple[float, float, int], Rule]] = []
    unjudged: list[Rule] = []
    for place, rule in enumerate(rules.rules):
        short = dropping.drop(rule, choose_removal)
        progress(cases.rows)
        if not short.rows:
            unjudged.append(rule)
        elif short.kept:
            conditions = tuple(rule.conditions[position] for position in short.kept)
            rank = (short.errors / short.rows, -short.rows, place)
            judged.append((rank, replace(rule, conditions=conditions)))
    judged.sort(key=lambda entry: entry[0])
    ordered = replace(rules, rules=(*(rule for _, rule in judged), *unjudged))
    result = recounted(apply_rule_passes(ordered, PRUNED_PASSES), cases)
    return replace(result, default=_with_answer(result.default, rules))


def _with_answer(default: Rule, rules: RuleSet) -> Rule:
    """Give the default the answer of its rows; on a tie it keeps its own."""
    stats = default.stats
    if not default.weight:
        return default
    if isinstance(stats, ClassCounts):
        own = stats.weights[rules.labels.index(default.value)]
        if own == max(stats.weights):
            return default
    return replace(default, value=answer(stats, rules.labels))


def choose_removal(rows: Floats, errors: Floats) -> int | None:
    """Choose the condition to drop; None if the rule's error rate would rise."""
    if not rows[0]:
        return None
    rates = errors / rows
    best = rates[1:].min()
    if best > rates[0]:
        return None
    taken = np.where(rates[1:] == best, rows[1:], -1.0)
    return len(taken) - 1 - int(taken[::-1].argmax())
