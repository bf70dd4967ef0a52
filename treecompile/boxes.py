"""An ordered list of boxes as arrays, and the search through its decisions.

A place is a box and the rules that may still decide a row of it, in order: those that
are impossible there are gone, and behind the first that holds everywhere nothing is
reached. A question narrows a place to where a test holds and to where it does not; a
place with one rule left is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.ir import Condition
from treecompile.regions import Box, OrderedAxis, Region, SetAxis, Space

SAMPLE = 256  # rules that are looked at for a question
FEATURES = 8  # that are looked at for a question, those of the first rule and others
FEW = 6  # rules of which only the first is looked at
CANDIDATES = 4  # questions that are tried out before one is asked

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Place:
    box: Box
    rules: Numbers  # that may decide, in order; the last of them holds everywhere
    left: Numbers  # for each, the features on which it does not hold everywhere yet

    @property
    def decider(self) -> int | None:
        """The rule that decides every row of the place."""
        return None if self.left[0] else int(self.rules[0])

    @property
    def size(self) -> int:
        """How much is left to ask, at most."""
        return int(self.left.sum()) + 1


@dataclass(frozen=True, slots=True)
class Question:
    position: int  # of the feature
    region: Region  # where the answer is yes


class Boxes:
    """The rules of a list, and behind them the default, which holds everywhere."""

    def __init__(self, space: Space, rules: Sequence[Sequence[Condition]]) -> None:
        self.space = space
        self.boxes: list[Box | None] = [space.inside(tests) for tests in rules]
        self.boxes.append(space.everything)
        tested = sorted({test.feature for tests in rules for test in tests})
        possible = [box or space.everything for box in self.boxes]
        self.columns: dict[int, Ordered | Sets] = {}
        for position in tested:
            axis = space.axes[position]
            regions = [box[position] for box in possible]
            if isinstance(axis, OrderedAxis):
                self.columns[position] = Ordered(regions)
            else:
                assert isinstance(axis, SetAxis)
                self.columns[position] = Sets(regions)

    def start(self, box: Box | None = None, end: int | None = None) -> Place:
        """All rules, or those in front of `end`, on a box; the end closes the list."""
        box = self.space.everything if box is None else box
        last = len(self.boxes) - 1 if end is None else end
        known = np.array(
            [*(i for i in range(last) if self.boxes[i] is not None), last],
            dtype=np.int64,
        )
        meets = np.ones(len(known), dtype=np.bool_)
        left = np.zeros(len(known), dtype=np.int64)
        for position, column in self.columns.items():
            meets &= column.meets(known, box[position])
            left += ~column.holds(known, box[position])
        left[-1] = 0  # what closes the list takes what comes to it
        return _closed(box, known[meets], left[meets])

    def meeting(self, box: Box, rules: Numbers) -> Numbers:
        """Those of the rules that hold somewhere in a box."""
        for position, column in self.columns.items():
            if box[position] != self.space.axes[position].everything:
                rules = rules[column.meets(rules, box[position])]
        return rules

    def narrow(self, place: Place, position: int, region: Region) -> Place | None:
        """The part of a place within a region of a feature."""
        axis, column = self.space.axes[position], self.columns[position]
        old = place.box[position]
        new = axis.meet(old, region)
        if new is None:
            return None
        if new == old:
            return place
        box = (*place.box[:position], new, *place.box[position + 1 :])
        meets = column.meets(place.rules, new)
        meets[-1] = True
        left = place.left - (
            column.holds(place.rules, new) & ~column.holds(place.rules, old)
        )
        left[-1] = 0
        return _closed(box, place.rules[meets], left[meets])

    def ask(self, place: Place, question: Question) -> tuple[Place, Place]:
        """The places where the answer is yes and no."""
        position, region = question.position, question.region
        yes = self.narrow(place, position, region)
        no = self.narrow(place, position, self.space.axes[position].rest(region))
        assert yes is not None
        assert no is not None
        return yes, no

    def best(self, place: Place) -> tuple[Place, Place, Question]:
        """The question that leaves least to ask, with its two places.

        Both sides halved without a rule on both is the ideal: a rule that is left on
        both sides has its tests written twice.
        """
        found: tuple[float, Place, Place, Question] | None = None
        for question in self.candidates(place):
            yes, no = self.ask(place, question)
            cost = _cost(yes.size) + _cost(no.size)
            if found is None or cost < found[0]:
                found = cost, yes, no, question
        assert found is not None, "a place that is not decided has a test left"
        return found[1:]

    def candidates(self, place: Place) -> list[Question]:
        """Questions that are worth trying; at least one that is not idle."""
        chosen = self.offers(place) if len(place.rules) > FEW else []
        # One that settles a test of the first rule can close a side at once.
        first = self.boxes[place.rules[0]]
        assert first is not None
        for position in self.columns:
            axis, region = self.space.axes[position], place.box[position]
            if axis.within(region, first[position]):
                continue
            for inner in axis.questions(region, first[position]):
                question = Question(position, inner)
                if question not in chosen:
                    chosen.append(question)
            if len(chosen) >= 3 * CANDIDATES:
                break
        return chosen

    def offers(self, place: Place) -> list[Question]:
        """The questions that divide the rules best, by how many are on each side."""
        rules = place.rules
        if len(rules) > SAMPLE:
            step = len(rules) // SAMPLE + 1
            rules = np.concatenate((rules[: SAMPLE // 2], rules[SAMPLE // 2 :: step]))
        found: list[tuple[float, int, Question]] = []
        for position in self.features(place, rules):
            column = self.columns[position]
            for cost, region in column.questions(rules, place.box[position]):
                found.append((cost, len(found), Question(position, region)))
        return [question for _, _, question in sorted(found)[:CANDIDATES]]

    def features(self, place: Place, rules: Numbers) -> list[int]:
        """Those on which most rules are not settled yet."""
        open_tests = {
            position: int(np.count_nonzero(~column.holds(rules, place.box[position])))
            for position, column in self.columns.items()
        }
        positions = sorted(
            (position for position, number in open_tests.items() if number),
            key=lambda position: (-open_tests[position], position),
        )
        return positions[:FEATURES]


def _closed(box: Box, rules: Numbers, left: Numbers) -> Place:
    """A place without what stands behind the first rule that holds everywhere."""
    end = int(np.argmin(left != 0)) + 1
    return Place(box, rules[:end], left[:end])


def _cost(size: float) -> float:
    return size * log2(size + 1)


class Ordered:
    """The regions of all rules on an ordered axis."""

    def __init__(self, regions: Sequence[Region]) -> None:
        table = np.array(regions, dtype=np.int64).reshape(-1, 3)
        self.first, self.end = table[:, 0].copy(), table[:, 1].copy()
        self.others = table[:, 2].astype(np.bool_)

    def meets(self, rules: Numbers, region: Region) -> Mask:
        first, end, others = region
        known = np.maximum(self.first[rules], first) < np.minimum(self.end[rules], end)
        result: Mask = known | self.others[rules] if others else known
        return result

    def holds(self, rules: Numbers, region: Region) -> Mask:
        first, end, others = region
        if first == end:
            return self.others[rules]
        result: Mask = (self.first[rules] <= first) & (self.end[rules] >= end)
        return result & self.others[rules] if others else result

    def questions(
        self, rules: Numbers, region: Region
    ) -> Iterator[tuple[float, Region]]:
        """The best cut of a region, the others on either side, with its cost."""
        first, end, others = region
        low = np.maximum(self.first[rules], first)
        high = np.minimum(self.end[rules], end)
        is_known = low < high
        cuts = np.unique(np.concatenate((low[is_known], high[is_known])))
        cuts = cuts[(cuts > first) & (cuts < end)]
        beside = self.others[rules] & others
        never = np.int64(-1)
        above = np.int64(np.iinfo(np.int64).max)
        for flag in (False, True) if beside.any() else (False,):
            tried = cuts
            if others and not flag and first < end:
                tried = np.append(cuts, end)  # is it known at all?
            if not len(tried):
                continue
            lows = np.where(is_known, low, above)
            highs = np.where(is_known, high, never)
            if flag:
                lows = np.where(beside, never, lows)
            else:
                highs = np.where(beside, above, highs)
            yes = np.searchsorted(np.sort(lows), tried, side="left")
            no = len(rules) - np.searchsorted(np.sort(highs), tried, side="right")
            costs = yes * np.log2(yes + 1) + no * np.log2(no + 1)
            place = int(np.argmin(costs))
            yield float(costs[place]), (0, int(tried[place]), flag)


class Sets:
    """The regions of all rules on an axis of categories; many of them are the same."""

    def __init__(self, regions: Sequence[Region]) -> None:
        codes: dict[Any, int] = {}
        self.codes = np.array(
            [codes.setdefault(region, len(codes)) for region in regions], dtype=np.int64
        )
        self.regions = list(codes)

    def meets(self, rules: Numbers, region: Region) -> Mask:
        table = np.array([bool(own & region) for own in self.regions])
        result: Mask = table[self.codes[rules]]
        return result

    def holds(self, rules: Numbers, region: Region) -> Mask:
        table = np.array([not region & ~own for own in self.regions])
        result: Mask = table[self.codes[rules]]
        return result

    def questions(
        self, rules: Numbers, region: Region
    ) -> Iterator[tuple[float, Region]]:
        """The sets that rules ask for, the two best of the most frequent."""
        counts = np.bincount(self.codes[rules], minlength=len(self.regions))
        parts: dict[Any, int] = {}  # of the region that rules take, and how many do
        for code in np.flatnonzero(counts):
            inner = self.regions[code] & region
            parts[inner] = parts.get(inner, 0) + int(counts[code])
        asked = sorted(parts.items(), key=lambda item: -item[1])
        offers: list[tuple[float, int, Region]] = []
        for inner, _ in asked[: 2 * SAMPLE // 8]:
            outer = region & ~inner
            if not inner or not outer:
                continue
            yes = sum(number for part, number in parts.items() if part & inner)
            no = sum(number for part, number in parts.items() if part & outer)
            offers.append((_cost(yes) + _cost(no), len(offers), inner))
        yield from ((cost, inner) for cost, _, inner in sorted(offers)[:2])
