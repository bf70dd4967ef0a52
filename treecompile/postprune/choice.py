"""Which of the rules for one label to keep: the set with the shortest description.

Up to EXHAUSTIVE rules every set is tried. Beyond, the search climbs from eleven random
sets, always by the best change of one rule, and keeps the best set it finds. It visits
at most BUDGET words of 64 cases in all, some ten seconds; then it takes the best so
far. The random sets are seeded: the same rules give the same choice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treecompile.bits import Bits, as_words, packed, unpacked
from treecompile.postprune.coding import exception_bits, log2_factorial

EXHAUSTIVE = 10
STARTS = 11
BUDGET = 2_000_000_000
DIGITS = 9  # of a length in bits

Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]


def choose_rules(
    takes: Bits,
    is_label: Mask,
    bits: Doubles,
    seed: int,
    budget: int,
    counts: Doubles | None = None,
) -> Mask:
    """The rules to keep; `takes` has the cases of each (a line) as bits.

    `counts` says how many each case stands for, if not for itself.
    """
    if len(takes) <= EXHAUSTIVE:
        return _best_of_all(takes, is_label, bits, counts)
    return _Search(takes, is_label, bits, counts).best(seed, budget)


class _Lengths:
    """The description lengths of sets of rules for one label."""

    def __init__(self, rules: int, is_label: Mask, counts: Doubles | None) -> None:
        self.cases, self.of_label = len(is_label), int(is_label.sum())
        if counts is not None:
            self.cases = int(counts.sum())
            self.of_label = int(counts[is_label].sum())
        self.orders = np.array([log2_factorial(count) for count in range(rules + 2)])

    def of(
        self, bits: Doubles, counts: NDArray[np.intp], taken: Doubles, right: Doubles
    ) -> Doubles:
        """Of sets with so many bits, rules, cases taken, and of these of the label."""
        named = exception_bits(self.cases, taken, taken - right, self.of_label - right)
        lengths = 0.5 * (bits - self.orders[counts]) + named
        # Logarithms differ in their last bits between processors: the choice must not.
        return np.asarray(lengths, np.float64).round(DIGITS)


def _best_of_all(
    takes: Bits, is_label: Mask, bits: Doubles, counts: Doubles | None
) -> Mask:
    """Try every set; of equals the first in the order of binary numbers."""
    count, cases = len(takes), len(is_label)
    measured = _Lengths(count, is_label, counts)
    sets = np.arange(1 << count)
    codes = (1 << np.arange(count)) @ unpacked(takes, cases).astype(np.intp)
    # For every set at once: the cases, of the label and not, taken by its rules alone.
    within = np.stack(
        [
            np.bincount(
                codes[mask],
                None if counts is None else counts[mask],
                minlength=len(sets),
            )
            for mask in (is_label, ~is_label)
        ]
    )
    for place in range(count):
        has = sets & (1 << place) > 0
        within[:, has] += within[:, sets[has] ^ (1 << place)]
    free = within[:, sets[::-1]]  # what no rule of a set takes, those outside it may
    right = measured.of_label - free[0]
    taken = measured.cases - free.sum(axis=0)
    members = (sets[:, None] >> np.arange(count)) & 1
    lengths = measured.of(members @ bits, members.sum(axis=1), taken, right)
    return np.asarray(members[int(lengths.argmin())], np.bool_)


class _Search:
    def __init__(
        self, takes: Bits, is_label: Mask, bits: Doubles, counts: Doubles | None
    ) -> None:
        self.takes, self.bits, self.cases = takes, bits, len(is_label)
        self.counts = counts
        self.lengths = _Lengths(len(takes), is_label, counts)
        self.words = as_words(takes)
        self.label_words = as_words(packed(is_label))

    def best(self, seed: int, budget: int) -> Mask:
        random = np.random.default_rng(seed)
        shortest, best = np.inf, np.zeros(len(self.bits), np.bool_)
        words = -(-self.lengths.cases // 64)  # of a line, if each stood for itself
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
        """Change a set for the better, step by step, and tell its length each time."""
        times = np.zeros(self.cases, np.int32)  # how many rules take a case
        for taking in np.flatnonzero(chosen).tolist():
            times += self._cases(taking)
        while True:
            free, once = as_words(packed(times == 0)), as_words(packed(times == 1))
            some = as_words(packed(times > 0))
            taken, right = self._amounts(np.stack([some, some & self.label_words]))
            total, count = float(self.bits[chosen].sum()), int(chosen.sum())
            (length,) = self.lengths.of(
                *(np.array([n]) for n in (total, count, taken, right))
            )
            yield float(length)
            # A rule that comes in takes the free cases, one that goes frees its own.
            changed = self.words & np.where(chosen[:, None], once, free)
            sign = np.where(chosen, -1, 1)
            cases = self._amounts(changed)
            changed &= self.label_words
            of_label = self._amounts(changed)
            lengths = self.lengths.of(
                total + sign * self.bits,
                count + sign,
                taken + sign * cases,
                right + sign * of_label,
            )
            place = int(lengths.argmin())
            if lengths[place] >= length:
                return
            chosen[place] = not chosen[place]
            times += self._cases(place) if chosen[place] else -self._cases(place)

    def _amounts(self, lines: NDArray[np.uint64]) -> Doubles:
        """How many cases are in each line of bits."""
        if self.counts is None:
            whole = np.bitwise_count(lines).sum(axis=1, dtype=np.int64)
            return np.asarray(whole, np.float64)
        bits = (unpacked(line.view(np.uint8), self.cases) for line in lines)
        return np.array([self.counts[line.view(np.bool_)].sum() for line in bits])

    def _cases(self, place: int) -> NDArray[np.int32]:
        return unpacked(self.takes[place], self.cases).astype(np.int32)
