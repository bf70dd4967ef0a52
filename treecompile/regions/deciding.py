"""Finds the rules of a list that decide some row: by samples, then by a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treecompile.model import ir
from treecompile.model.arrays import Array
from treecompile.model.batch import deciders
from treecompile.model.semantics import conditions
from treecompile.model.words import by_feature
from treecompile.regions.boxes import PAIRS, Boxes, SearchBudget, Subproblem
from treecompile.regions.region import (
    FIRST,
    UNSEEN,
    CategorySet,
    Interval,
    Region,
    category_at,
    parts,
)
from treecompile.regions.space import Box

TRIED = 4  # rows drawn from the box of each rule
MOST_TRIED = 500_000_000  # rows x rules
LIMITS = (100, 10_000)  # steps for one rule in the first rounds
HELD = 20_000_000  # rules in the subproblems of a search, to bound the memory
SEED = 0

Codes = NDArray[np.int64]  # indices of `parts` of a feature; -1: missing, the last


def deciding(
    rules: ir.RuleSet, boxes: Boxes, budget: SearchBudget
) -> tuple[dict[int, Box], list[int]]:
    """Return a box for each rule that decides some row, and the undecided rules.

    The default counts as a rule. A rule in neither result never decides.

    Most rules decide one of a few sampled rows. For every other rule, its box is
    searched exhaustively for rows that no earlier rule takes.
    """
    known = _tried(rules, boxes) if budget.left else {}
    # The default comes first: whether the rules are complete matters most.
    possible = (boxes.possible[-1], *boxes.possible[:-1])
    open_rules = [number for number in map(int, possible) if number not in known]
    for limit in (*LIMITS, budget.left):
        undecided = []
        for number in open_rules:
            if not budget.left:
                undecided.append(number)
                continue
            share = SearchBudget(min(limit, budget.left))
            allowed = share.left
            is_settled, box = uncovered(boxes, number, share)
            budget.spend(min(allowed - share.left, budget.left))
            if box is not None:
                known[number] = box
            elif not is_settled:
                undecided.append(number)
        open_rules = undecided
    return known, sorted(open_rules)


def uncovered(
    boxes: Boxes, number: int, budget: SearchBudget
) -> tuple[bool, Box | None]:
    """Search for rows of a rule that no earlier rule takes.

    Return whether the search came to an end, and a box of such rows, if any. The side
    with fewer rules is searched first, as an uncovered row is likelier there.
    """
    if not budget.spend(1 + number * len(boxes.columns) * boxes.width // PAIRS):
        return False, None
    waiting: list[Subproblem] = [boxes.start(boxes.boxes[number], number)]
    held = 0  # rules of the subproblems that are waiting
    while waiting:
        problem = waiting.pop()
        held -= len(problem.rules)
        if problem.rules[-1] != number:
            continue  # an earlier rule holds everywhere in it
        if problem.decider is not None:
            return True, problem.box
        if held > HELD or not budget.spend(boxes.steps(problem)):
            return False, None
        yes, no, _ = boxes.best(problem)
        held += len(yes.rules) + len(no.rules)
        waiting += sorted((yes, no), key=lambda side: -len(side.rules))
    return True, None


def _tried(rules: ir.RuleSet, boxes: Boxes) -> dict[int, Box]:
    """Return the rules that decide one of a few rows drawn from the boxes."""
    dice = np.random.default_rng(SEED)
    inside = [box for box in boxes.boxes for _ in range(TRIED) if box is not None]
    size = len(inside) * (sum(1 for _ in conditions(rules)) + len(rules.rules))
    inside = inside[:: size * boxes.width // MOST_TRIED + 1]
    tests = {group[0].feature: group for group in by_feature(conditions(rules))}
    divided: dict[int, Sequence[Region]] = {}
    chosen: dict[int, Codes] = {}
    columns: list[Array | None] = [None] * len(rules.features)
    for index in boxes.columns:
        feature, regions = rules.features[index], [box[index] for box in inside]
        if feature.kind is ir.Kind.CATEGORICAL:
            columns[index] = chosen[index] = _categories(regions, feature, dice)
            continue
        divided[index] = parts(feature, tests[index])
        codes = _codes(divided[index], regions, dice)
        columns[index] = chosen[index] = codes
        if feature.kind is ir.Kind.NUMERIC:
            columns[index] = np.array([*_highs(divided[index]), np.nan])[codes]
    found = deciders(rules, columns, len(inside))
    result = {}
    for number, row in zip(*np.unique(found, return_index=True), strict=True):
        box = list(boxes.space.everything)
        for index, codes in chosen.items():
            if index in divided:
                box[index] = divided[index][codes[row]]
            else:
                box[index] = category_at(int(codes[row]), rules.features[index])
        result[int(number)] = tuple(box)
    return result


def _highs(divided: Sequence[Region]) -> list[float]:
    """Return the upper ends of the parts, without the part of missing values."""
    return [part.high for part in divided[:-1] if isinstance(part, Interval)]


def _codes(
    divided: Sequence[Region], regions: Sequence[Region], dice: np.random.Generator
) -> Codes:
    """Draw a part in each interval, with a known value where there is one."""
    highs = _highs(divided)
    ends = [(r.low, r.high) for r in regions if isinstance(r, Interval)]
    first, end = np.searchsorted(highs, np.array(ends).T, side="right")
    drawn = first + (dice.random(len(first)) * (end - first)).astype(np.int64)
    result: Codes = np.where(first < end, np.minimum(drawn, end - 1), -1)
    return result


def _categories(
    regions: Sequence[Region], feature: ir.Feature, dice: np.random.Generator
) -> Codes:
    """Draw the code of a category in each set: known or unseen, else missing."""
    within: dict[Region, Codes] = {}
    codes = []
    for region in regions:
        assert isinstance(region, CategorySet)
        if region not in within:
            within[region] = _members(region, len(feature.categories))
        codes.append(within[region][int(dice.integers(len(within[region])))])
    return np.array(codes, dtype=np.int64)


def _members(region: CategorySet, count: int) -> Codes:
    data = np.frombuffer(region.bits.to_bytes(count // 8 + 2, "little"), np.uint8)
    bits = np.unpackbits(data, bitorder="little")
    known: Codes = np.flatnonzero(bits[FIRST:])
    if region.bits & UNSEEN:
        known = np.append(known, count)
    return known if len(known) else np.array([-1])
