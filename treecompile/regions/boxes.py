"""Turns an ordered list of rules into boxes, and divides boxes until they are decided.

A subproblem is a box together with the rules that may still decide a row in it. It is
split in two by asking whether the value of one feature lies in a region. On each side,
rules that cannot hold are dropped, and so are all rules after the first one that holds
everywhere on the side. A subproblem with one rule left is decided.

For speed, the regions of all rules on one feature are kept in arrays, called a column:
the ends of intervals, or a code for each different set of categories. So one operation
compares a region with the regions of all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, log2, nan

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Floats, Mask
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition
from treecompile.regions.region import CategorySet, Interval, Region
from treecompile.regions.space import Box, Space

SAMPLE = 256  # how many rules are looked at to find a split
FEATURES = 8  # how many features are looked at to find a split
FEW = 6  # with so few rules, only the first is looked at
CANDIDATES = 4  # how many splits are tried before one is taken
STEPS = 100_000  # steps of a search, each less than a millisecond
PAIRS = 50_000  # comparisons of two regions that count as a step
RULES = 3_000  # how many rules of a subproblem are split in one step
COLUMN = 30  # looking at a feature takes as long as splitting so many rules
WIDE = 1024  # so many categories are compared as fast as numbers

Rules = NDArray[np.int64]  # positions of rules in their list
Offer = tuple[float, Region]  # a region to split at, and its cost


@dataclass(slots=True)
class SearchBudget:
    """How many steps a search has left."""

    left: int = STEPS

    def __post_init__(self) -> None:
        if self.left < 1:
            raise OptionError(f"budget={self.left}: expected 1 or more")

    def spend(self, steps: int = 1) -> bool:
        """Take some steps; if fewer are left, take those and return False."""
        if steps > self.left:
            self.left = 0
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Subproblem:
    box: Box
    rules: Rules  # those that may decide, in order; the last holds everywhere
    left: Rules  # for each rule, on how many features it may fail

    @property
    def decider(self) -> int | None:
        """The rule that decides every row of the box, or None."""
        return None if self.left[0] else int(self.rules[0])

    @property
    def size(self) -> int:
        """How many tests are left to ask, at most."""
        return int(self.left.sum()) + 1


@dataclass(frozen=True, slots=True)
class BoxSplit:
    """Divides a box into the rows whose value lies in a region, and the others."""

    index: int  # of the feature
    region: Region


class Boxes:
    """The boxes of the rules of a list, and last of the default: everything."""

    def __init__(self, space: Space, rules: Sequence[Sequence[Condition]]) -> None:
        self.space = space
        self.boxes: list[Box | None] = [space.inside(tests) for tests in rules]
        self.boxes.append(space.everything)
        tested = sorted({test.feature for tests in rules for test in tests})
        possible = [space.everything if box is None else box for box in self.boxes]
        self.possible = np.flatnonzero([box is not None for box in self.boxes])
        self.columns: dict[int, IntervalColumn | SetColumn] = {}
        for index in tested:
            regions = [box[index] for box in possible]
            is_ordered = isinstance(space.everything[index], Interval)
            self.columns[index] = (IntervalColumn if is_ordered else SetColumn)(regions)
        widest = max((len(space.features[i].categories) for i in tested), default=0)
        self.width = 1 + widest // WIDE

    def work(self, problem: Subproblem) -> int:
        """Estimate how long it takes to split a subproblem, in rules."""
        return len(problem.rules) * self.width + COLUMN * len(self.columns)

    def steps(self, problem: Subproblem) -> int:
        """Estimate how long it takes to split a subproblem, in steps of a search."""
        return 1 + self.work(problem) // RULES

    def start(self, box: Box | None = None, end: int | None = None) -> Subproblem:
        """Return all rules on a box; or those before `end`, which closes the list."""
        box = self.space.everything if box is None else box
        last = len(self.boxes) - 1 if end is None else end
        before = int(np.searchsorted(self.possible, last))
        rules: Rules = np.append(self.meeting(box, self.possible[:before]), last)
        left = np.zeros_like(rules)
        for index, column in self.columns.items():
            left += ~column.holds(rules, box[index])
        left[-1] = 0  # the last rule takes every row that comes to it
        return _closed(box, rules, left)

    def meeting(self, box: Box, rules: Rules) -> Rules:
        """Return those of the rules that hold somewhere in a box."""
        for index, column in self.columns.items():
            if box[index] != self.space.everything[index]:
                rules = rules[column.meets(rules, box[index])]
        return rules

    def narrow(
        self, problem: Subproblem, index: int, region: Region
    ) -> Subproblem | None:
        """Return the part of a subproblem within a region; None if it is empty."""
        column = self.columns[index]
        old = problem.box[index]
        new = old.meet(region)
        if new.is_empty:
            return None
        if new == old:
            return problem
        box = (*problem.box[:index], new, *problem.box[index + 1 :])
        meets = column.meets(problem.rules, new)
        meets[-1] = True
        left = problem.left - (
            column.holds(problem.rules, new) & ~column.holds(problem.rules, old)
        )
        left[-1] = 0
        return _closed(box, problem.rules[meets], left[meets])

    def best(self, problem: Subproblem) -> tuple[Subproblem, Subproblem, BoxSplit]:
        """Return the two sides of the split that leaves least to ask, and the split.

        Ideally each side has half of the rules, and no rule is on both sides: the tests
        of such a rule are written twice.
        """
        found: tuple[float, Subproblem, Subproblem, BoxSplit] | None = None
        for split in self.candidates(problem):
            rest = self.space.everything[split.index].without(split.region)
            yes = self.narrow(problem, split.index, split.region)
            no = self.narrow(problem, split.index, rest)
            assert yes is not None
            assert no is not None
            cost = _cost(yes.size) + _cost(no.size)
            if found is None or cost < found[0]:
                found = cost, yes, no, split
        assert found is not None, "an undecided subproblem has a test left"
        return found[1:]

    def candidates(self, problem: Subproblem) -> list[BoxSplit]:
        """Return splits worth trying; at least one has rows on both sides."""
        chosen = self.offers(problem) if len(problem.rules) > FEW else []
        # A split that settles a test of the first rule can decide a side at once.
        first = self.boxes[problem.rules[0]]
        assert first is not None
        for index in self.columns:
            if first[index].contains(problem.box[index]):
                continue
            for region in _dividing(problem.box[index], first[index]):
                split = BoxSplit(index, region)
                if split not in chosen:
                    chosen.append(split)
            if len(chosen) >= 3 * CANDIDATES:
                break
        return chosen

    def offers(self, problem: Subproblem) -> list[BoxSplit]:
        """Return the splits that divide the rules best, by the number on each side."""
        rules = problem.rules
        if len(rules) > SAMPLE:
            step = len(rules) // SAMPLE + 1
            rules = np.concatenate((rules[: SAMPLE // 2], rules[SAMPLE // 2 :: step]))
        found: list[tuple[float, int, BoxSplit]] = []
        for index in self.features(problem, rules):
            column = self.columns[index]
            for cost, region in column.splits(rules, problem.box[index]):
                found.append((cost, len(found), BoxSplit(index, region)))
        return [split for _, _, split in sorted(found)[:CANDIDATES]]

    def features(self, problem: Subproblem, rules: Rules) -> list[int]:
        """Return the features on which most rules are not settled yet."""
        settled = sorted(
            (int(np.count_nonzero(column.holds(rules, problem.box[index]))), index)
            for index, column in self.columns.items()
        )
        unsettled = [index for number, index in settled if number < len(rules)]
        return unsettled[:FEATURES]


def _closed(box: Box, rules: Rules, left: Rules) -> Subproblem:
    """Return a subproblem that ends with the first rule that holds everywhere."""
    end = int(np.argmin(left != 0)) + 1
    return Subproblem(box, rules[:end], left[:end])


def _cost(size: float) -> float:
    return size * log2(size + 1)


def _dividing(box: Region, region: Region) -> list[Region]:
    """Return where to divide a box to find out whether a row lies in a region.

    Intervals begin at the lowest number, so that the rest is an interval too.
    """
    if isinstance(box, CategorySet):
        return [box.meet(region)]
    assert isinstance(region, Interval)
    is_within = region.low <= box.low and box.high <= region.high
    if is_within or not box.meet(region).has_known:
        return [Interval(-inf, box.high, missing=False)]  # is the value known?
    found: list[Region] = []
    if region.high < box.high:
        found.append(Interval(-inf, region.high, region.missing))
    if region.low > box.low:
        found.append(Interval(-inf, region.low, not region.missing))
    return found


class IntervalColumn:
    """The intervals of all rules on one feature."""

    def __init__(self, regions: Sequence[Region]) -> None:
        known = [region for region in regions if isinstance(region, Interval)]
        self.low: Floats = np.array([region.low for region in known])
        self.high: Floats = np.array([region.high for region in known])
        self.missing: Mask = np.array([region.missing for region in known])

    def meets(self, rules: Rules, region: Region) -> Mask:
        """Mark the rules that hold somewhere in a region."""
        assert isinstance(region, Interval)
        low, high = region.low, region.high
        known = np.maximum(self.low[rules], low) < np.minimum(self.high[rules], high)
        result: Mask = known | self.missing[rules] if region.missing else known
        return result

    def holds(self, rules: Rules, region: Region) -> Mask:
        """Mark the rules that hold everywhere in a region."""
        assert isinstance(region, Interval)
        if not region.has_known:
            return self.missing[rules]
        low, high = region.low, region.high
        result: Mask = (self.low[rules] <= low) & (self.high[rules] >= high)
        return result & self.missing[rules] if region.missing else result

    def splits(self, rules: Rules, region: Region) -> Iterator[Offer]:
        """Yield the best threshold in a region, for the missing value on either side.

        Each comes with its cost, from the numbers of rules on the two sides.
        """
        assert isinstance(region, Interval)
        low = np.maximum(self.low[rules], region.low)
        high = np.minimum(self.high[rules], region.high)
        is_known = low < high
        cuts = np.unique(np.concatenate((low[is_known], high[is_known])))
        cuts = cuts[(cuts > region.low) & (cuts < region.high)]
        takes_missing = self.missing[rules] & region.missing
        # A rule is on the lower side if it begins below the cut, and on the upper side
        # if it ends above. NaN is above every cut, inf included.
        for flag in (False, True) if takes_missing.any() else (False,):
            tried = cuts
            if region.missing and not flag and region.has_known:
                tried = np.append(cuts, region.high)  # is the value known?
            if not len(tried):
                continue
            begins = np.where(is_known, low, nan)
            ends = np.where(is_known, high, -inf)
            if flag:
                begins = np.where(takes_missing, -inf, begins)
            else:
                ends = np.where(takes_missing, nan, ends)
            yes = np.searchsorted(np.sort(begins), tried)
            no = len(rules) - np.searchsorted(np.sort(ends), tried, side="right")
            costs = yes * np.log2(yes + 1) + no * np.log2(no + 1)
            place = int(np.argmin(costs))
            yield float(costs[place]), Interval(-inf, float(tried[place]), flag)


class SetColumn:
    """The category sets of all rules on one feature; many of them are the same."""

    def __init__(self, regions: Sequence[Region]) -> None:
        sets = [region.bits for region in regions if isinstance(region, CategorySet)]
        self.sets = list(dict.fromkeys(sets))
        code = {bits: number for number, bits in enumerate(self.sets)}
        self.codes = np.array([code[bits] for bits in sets], dtype=np.int64)

    def meets(self, rules: Rules, region: Region) -> Mask:
        """Mark the rules that hold somewhere in a region."""
        assert isinstance(region, CategorySet)
        bits = region.bits
        return self.judged(rules, lambda own: bool(own & bits))

    def holds(self, rules: Rules, region: Region) -> Mask:
        """Mark the rules that hold everywhere in a region."""
        assert isinstance(region, CategorySet)
        bits = region.bits
        return self.judged(rules, lambda own: not bits & ~own)

    def judged(self, rules: Rules, judge: Callable[[int], bool]) -> Mask:
        """Apply `judge` to the set of each rule, but once only to equal sets."""
        codes, sets = self.codes[rules], self.sets
        if len(codes) < len(sets):
            asked, codes = np.unique(codes, return_inverse=True)
            sets = [sets[code] for code in asked]
        table: Mask = np.array(list(map(judge, sets)), dtype=np.bool_)
        return table[codes]

    def splits(self, rules: Rules, region: Region) -> Iterator[Offer]:
        """Yield the two best of the sets for which rules ask most often."""
        assert isinstance(region, CategorySet)
        counts = np.bincount(self.codes[rules])
        parts: dict[int, int] = {}  # part of the region: how many rules take it
        for code in np.flatnonzero(counts):
            inner = self.sets[code] & region.bits
            parts[inner] = parts.get(inner, 0) + int(counts[code])
        asked = sorted(parts.items(), key=lambda item: -item[1])
        offers: list[tuple[float, int, int]] = []
        for inner, _ in asked[: SAMPLE // 4]:
            outer = region.bits & ~inner
            if not inner or not outer:
                continue
            yes = sum(number for part, number in parts.items() if part & inner)
            no = sum(number for part, number in parts.items() if part & outer)
            offers.append((_cost(yes) + _cost(no), len(offers), inner))
        yield from ((cost, CategorySet(bits)) for cost, _, bits in sorted(offers)[:2])
