"""Chooses rules by minimum description length, as c4.5rules does.

The description of the training labels has two parts: the rules, and the exceptions,
named among the cases that the rules take and among the rest. For each label, the set of
rules with the fewest bits is kept.

Up to EXHAUSTIVE rules every set is tried. Beyond that, hill climbing starts from eleven
random sets, changes one rule at a time, and keeps the best set it meets. It visits at
most BUDGET words of 64 cases, about ten seconds. The random sets are seeded: the same
rules give the same choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lgamma, log, log2

import numpy as np
from numpy.typing import NDArray

from treecompile.measure.cases import Bits, as_words, packed, unpacked
from treecompile.model.arrays import Array, Floats, Mask
from treecompile.model.batch import Columns
from treecompile.model.ir import Condition, Feature, Kind
from treecompile.model.semantics import members

EXHAUSTIVE = 10
STARTS = 11
SEED = 0
BUDGET = 2_000_000_000
DIGITS = 9  # decimals kept of a length in bits

IMPOSSIBLE = 1e6  # bits for an exception where none was expected
NEAR = 1e-6


def log2_factorial(number: int) -> float:
    return lgamma(number + 1) / log(2)


# ---------------------------------------------------------------- bits of a rule


class RuleCoding:
    """Computes the bits of a rule; `tests` has the bits of a test of each feature."""

    def __init__(self, features: Sequence[Feature], tests: Sequence[float]) -> None:
        self.features, self.tests = features, tests
        shares = [bits / sum(self.tests) for bits in self.tests if bits]
        self.feature_bits = sum(share * log2(1 / share) for share in shares)

    def rule(self, conditions: Sequence[Condition]) -> float:
        """Return the bits of a rule's conditions, less the bits of their order."""
        count = len(conditions)
        bits = sum(self.feature_bits + self._condition(c) for c in conditions)
        return bits + log2(count) - log2_factorial(count)

    def _condition(self, condition: Condition) -> float:
        feature = self.features[condition.feature]
        if feature.kind is Kind.CATEGORICAL and len(members(condition)) != 1:
            return float(len(feature.categories))  # one bit each: in the group or not
        return self.tests[condition.feature]


def bits_of_tests(features: Sequence[Feature], columns: Columns) -> list[float]:
    """Return the bits of a test of each feature, from columns of training cases."""
    return [
        0.0 if column is None else _column_bits(feature, column)
        for feature, column in zip(features, columns, strict=True)
    ]


def _column_bits(feature: Feature, column: Array) -> float:
    if feature.kind is Kind.CATEGORICAL:
        known = column[(column >= 0) & (column < len(feature.categories))]
        counts, rows = np.bincount(known), len(column)
        counts = counts[counts > 0]
        return float((counts / rows * np.log2(rows / counts)).sum())
    values = len(np.unique(column))  # NaN, or code -1, counts as a value
    return 1 + log2(values) / 2 if values > 1 else 0.0


# ---------------------------------------------------------------- bits of exceptions


def exception_bits(
    cases: int, taken: Floats, false_positives: Floats, false_negatives: Floats
) -> Floats:
    """Return the bits to name exceptions among the cases taken and among the rest."""
    taken, wrong, missed = map(np.atleast_1d, (taken, false_positives, false_negatives))
    half = (wrong + missed) / 2
    most = taken > cases / 2
    inside = _naming_bits(taken, wrong, np.where(most, half, wrong))
    outside = _naming_bits(cases - taken, missed, np.where(most, missed, half))
    return np.asarray(log2(cases) + inside + outside, np.float64)


def _naming_bits(cases: Floats, wrong: Floats, expected: Floats) -> Floats:
    """Return the bits to name the `wrong` among `cases`, given the expected number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = expected / cases
        bits = -wrong * np.log2(share) - (cases - wrong) * np.log2(1 - share)
    none, every = expected < NEAR, expected > cases - NEAR
    bits = np.where(every, np.where(wrong == cases, 0.0, IMPOSSIBLE), bits)
    return np.where(none, np.where(wrong == 0, 0.0, IMPOSSIBLE), bits)


# ---------------------------------------------------------------- the choice


def choose_rules(takes: Bits, is_label: Mask, bits: Floats, budget: int) -> Mask:
    """Return a mask of the rules to keep.

    `takes` has one line per rule: the cases it takes, as bits.
    """
    choice = _RuleChoice(takes, is_label, bits)
    return choice.best() if len(takes) <= EXHAUSTIVE else choice.search(budget)


class _RuleChoice:
    """The rules for one label, and the description lengths of sets of them."""

    def __init__(self, takes: Bits, is_label: Mask, bits: Floats) -> None:
        self.takes, self.is_label, self.bits = takes, is_label, bits
        self.words, self.label_words = as_words(takes), as_words(packed(is_label))
        self.cases, self.of_label = len(is_label), int(is_label.sum())
        self.orders = np.array([log2_factorial(n) for n in range(len(takes) + 2)])

    def lengths(
        self, bits: Floats, rules: NDArray[np.intp], taken: Floats, right: Floats
    ) -> Floats:
        """Return the description length of each of several sets of rules.

        `bits` are of its rules, `rules` their number, `taken` the cases they take, and
        `right` those of the cases that have the label.
        """
        named = exception_bits(self.cases, taken, taken - right, self.of_label - right)
        lengths = 0.5 * (bits - self.orders[rules]) + named
        # Rounded, because the last bits of a logarithm depend on the processor.
        return np.asarray(lengths, np.float64).round(DIGITS)

    def best(self) -> Mask:
        """Try every set; of equal lengths, take the first set as a binary number."""
        count = len(self.takes)
        sets = np.arange(1 << count)
        codes = (1 << np.arange(count)) @ self._unpacked(self.takes).astype(np.intp)

        def taken_by_exactly(mask: Mask) -> Array:
            return np.bincount(codes[mask], minlength=len(sets))

        # For each set, the cases that only its rules take: of the label, and others.
        masks = self.is_label, ~self.is_label
        within = np.stack([taken_by_exactly(mask) for mask in masks])
        for rule in range(count):
            has = sets & (1 << rule) > 0
            within[:, has] += within[:, sets[has] ^ (1 << rule)]
        free = within[:, sets[::-1]]  # cases that no rule of the set takes
        right, taken = self.of_label - free[0], self.cases - free.sum(axis=0)
        in_set = (sets[:, None] >> np.arange(count)) & 1
        lengths = self.lengths(in_set @ self.bits, in_set.sum(axis=1), taken, right)
        return np.asarray(in_set[int(lengths.argmin())], np.bool_)

    def search(self, budget: int) -> Mask:
        """Climb from random sets, and return the best set met on the way."""
        random = np.random.default_rng(SEED)
        shortest, best = np.inf, np.zeros(len(self.bits), np.bool_)
        words = -(-self.cases // 64)  # per rule
        steps = max(1, budget // (len(self.takes) * words))
        for start in range(STARTS):
            chosen = random.random(len(self.bits)) < start / (STARTS - 1)
            for length in self.climb(chosen):
                if length < shortest:
                    shortest, best = length, chosen.copy()
                steps -= 1
                if steps <= 0:
                    return best
        return best

    def climb(self, chosen: Mask) -> Iterator[float]:
        """Improve a set in place, one rule at a time; yield its length at each step."""
        takers = np.zeros(len(self.is_label), np.int32)  # chosen rules that take a case
        for rule in np.flatnonzero(chosen).tolist():
            takers += self._unpacked(self.takes[rule])
        while True:
            free, once = as_words(packed(takers == 0)), as_words(packed(takers == 1))
            some = as_words(packed(takers > 0))
            taken, right = _amounts(np.stack([some, some & self.label_words]))
            total, count = float(self.bits[chosen].sum()), int(chosen.sum())
            (length,) = self.lengths(
                *(np.array([n]) for n in (total, count, taken, right))
            )
            yield float(length)
            # A rule that is added takes free cases; one that is removed frees those
            # that it alone took.
            changed = self.words & np.where(chosen[:, None], once, free)
            sign = np.where(chosen, -1, 1)
            cases = _amounts(changed)
            changed &= self.label_words
            of_label = _amounts(changed)
            lengths = self.lengths(
                total + sign * self.bits,
                count + sign,
                taken + sign * cases,
                right + sign * of_label,
            )
            rule = int(lengths.argmin())
            if lengths[rule] >= length:
                return
            chosen[rule] = not chosen[rule]
            takers += sign[rule] * self._unpacked(self.takes[rule])

    def _unpacked(self, bits: Bits) -> NDArray[np.uint8]:
        return unpacked(bits, self.cases)


def _amounts(lines: NDArray[np.uint64]) -> Floats:
    """Return the number of cases in each line of bits."""
    whole = np.bitwise_count(lines).sum(axis=1, dtype=np.int64)
    return np.asarray(whole, np.float64)
