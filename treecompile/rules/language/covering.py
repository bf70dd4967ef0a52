"""Finds out whether exactly one rule holds for every case, in linear time.

Give each value of a column a share, so that the shares of all its values add up to 1.
The share of a rule is the product of the shares of what it accepts of each column, and
the share of a case is the product of those of its values. So the shares of all rules
add up to that of every case, times the number of rules that hold for it. For shares
drawn at random the sum is 1 only if that number is 1 everywhere: by the lemma of
Schwartz and Zippel, it is 1 by accident less often than once in 10 ** 15. All is
computed modulo a prime, without rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf
from random import Random

from treecompile.model import ir
from treecompile.model.semantics import members, rank, threshold
from treecompile.model.sharing import Texts
from treecompile.model.words import by_feature
from treecompile.rules.passes.merge import merge

PRIME = 2**61 - 1


def is_disjoint_cover(rules: ir.RuleSet) -> bool:
    """Whether exactly one rule holds for every case, so that no default is needed."""
    shares = Texts(cache(_Shares(rules.features).of))
    total = 0
    for rule in merge(rules).rules:
        product = 1
        for share in shares.of(by_feature(rule.conditions)):
            product = product * share % PRIME
        total += product
    return total % PRIME == 1


class _Shares:
    """The shares of the values of each column."""

    def __init__(self, features: tuple[ir.Feature, ...]) -> None:
        self.features = features
        self.dice = Random(0)  # the same rules give the same answer
        self.missing = [self._drawn() for _ in features]
        self.below: dict[tuple[int, float], int] = {}
        self.categories = cache(self._categories)

    def _drawn(self) -> int:
        return self.dice.randrange(PRIME)

    def of(self, tests: tuple[ir.Condition, ...]) -> int:
        """Return the share of what the merged tests of one column accept."""
        if len(tests) == 1:
            return self._of(tests[0])
        one, other = tests  # two bounds: all numbers meet one of them
        index = one.feature
        every = 1 if one.missing else 1 - self.missing[index]
        return self._of(one) + self._of(other) - every

    def _of(self, test: ir.Condition) -> int:
        index = test.feature
        missing = self.missing[index]
        also = missing if test.missing else 0
        if test.op in (ir.Op.IN, ir.Op.NOT_IN):
            share = self.categories(index)
            named = sum(share[category] for category in members(test))
            return (named if test.op is ir.Op.IN else 1 - missing - named) + also
        below = self._below(index, test)
        return (below if test.op is ir.Op.LE else 1 - missing - below) + also

    def _below(self, index: int, test: ir.Condition) -> int:
        """Return the share of the numbers up to a threshold."""
        feature = self.features[index]
        if feature.kind is ir.Kind.ORDINAL:
            place = rank(feature, test.value)
            end = inf if place == len(feature.categories) - 1 else float(place)
        else:
            end = threshold(test)
        if end == inf:
            return 1 - self.missing[index]
        if (index, end) not in self.below:
            self.below[index, end] = self._drawn()
        return self.below[index, end]

    def _categories(self, index: int) -> Mapping[object, int]:
        """Return the share of each category; what is left is that of all others."""
        feature = self.features[index]
        found: dict[object, int] = {each: self._drawn() for each in feature.categories}
        if feature.type is ir.ValueType.BOOL and len(found) == 2:  # there are no others
            first, last = feature.categories
            found[last] = 1 - self.missing[index] - found[first]
        return found
