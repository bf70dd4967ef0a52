"""Which rules of an ordered list ever decide, and a box of rows that each decides.

Most rules are settled by sampling: rows from the boxes of all rules are tried at once,
and a rule that decides one of them is settled. For each of the others, the rows of its
box that no earlier rule takes are searched exhaustively. If there are none, earlier
rules cover it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treecompile.model.batch import deciders
from treecompile.model.ir import Kind, RuleSet
from treecompile.model.semantics import conditions
from treecompile.model.words import by_feature
from treecompile.regions.boxes import Boxes, SearchBudget, Subproblem
from treecompile.regions.region import Interval, Region, parts
from treecompile.regions.space import Box

TRIED = 4  # rows from the box of each rule
LIMITS = (100, 10_000)  # steps for one rule, before the others had their turn
SEED = 0

Codes = NDArray[np.int64]  # indices of `parts` of a feature; -1: missing, the last


def deciding(
    rules: RuleSet, boxes: Boxes, budget: SearchBudget
) -> tuple[dict[int, Box], list[int]]:
    """A box for each rule that decides somewhere, and the rules that are undecided.

    The default counts as a rule. A rule that is in neither result never decides.
    """
    known = _tried(rules, boxes)
    open_rules = [
        number
        for number, box in enumerate(boxes.boxes)
        if box is not None and number not in known
    ]
    for limit in (*LIMITS, budget.left):
        undecided = []
        for number in open_rules:
            share = SearchBudget(min(limit, budget.left) or 1)
            allowed = share.left
            is_settled, box = _uncovered(boxes, number, share)
            budget.spend(min(allowed - share.left, budget.left))
            if box is not None:
                known[number] = box
            elif not is_settled:
                undecided.append(number)
        open_rules = undecided
    return known, open_rules


def _uncovered(
    boxes: Boxes, number: int, budget: SearchBudget
) -> tuple[bool, Box | None]:
    """Whether the search came to an end, and rows of a rule that no earlier rule takes.

    The side with fewer rules is searched first: there an uncovered row is likelier.
    """
    waiting: list[Subproblem] = [boxes.start(boxes.boxes[number], number)]
    while waiting:
        problem = waiting.pop()
        if problem.rules[-1] != number:
            continue  # an earlier rule holds everywhere in it
        if problem.decider is not None:
            return True, problem.box
        if not budget.spend():
            return False, None
        yes, no, _ = boxes.best(problem)
        waiting += sorted((yes, no), key=lambda side: -len(side.rules))
    return True, None


def _tried(rules: RuleSet, boxes: Boxes) -> dict[int, Box]:
    """The rules that decide one of a few rows from the box of each rule."""
    dice = np.random.default_rng(SEED)
    inside = [box for box in boxes.boxes for _ in range(TRIED) if box is not None]
    tests = {group[0].feature: group for group in by_feature(conditions(rules))}
    divided: dict[int, list[Region]] = {}
    chosen: dict[int, Codes] = {}
    columns: list[NDArray[np.generic] | None] = []
    for index, feature in enumerate(rules.features):
        if index not in boxes.columns:
            columns.append(None)
            continue
        divided[index] = parts(feature, tests[index])
        codes = _codes(divided[index], [box[index] for box in inside], dice)
        chosen[index] = codes
        if feature.kind is Kind.NUMERIC:
            columns.append(np.array([*_highs(divided[index]), np.nan])[codes])
        else:
            columns.append(codes)
    found = deciders(rules, columns, len(inside))
    result = {}
    for number, row in zip(*np.unique(found, return_index=True), strict=True):
        box = list(boxes.space.everything)
        for index, codes in chosen.items():
            box[index] = divided[index][codes[row]]
        result[int(number)] = tuple(box)
    return result


def _highs(divided: Sequence[Region]) -> list[float]:
    """The upper ends of the parts, without that of the missing value."""
    return [part.high for part in divided[:-1] if isinstance(part, Interval)]


def _codes(
    divided: Sequence[Region], regions: Sequence[Region], dice: np.random.Generator
) -> Codes:
    """A random part of each region, with a known value where there is one."""
    if isinstance(divided[-1], Interval):
        highs = _highs(divided)
        ends = [(r.low, r.high) for r in regions if isinstance(r, Interval)]
        first, end = np.searchsorted(highs, np.array(ends).T, side="right")
        drawn = first + (dice.random(len(first)) * (end - first)).astype(np.int64)
        result: Codes = np.where(first < end, np.minimum(drawn, end - 1), -1)
        return result
    within: dict[Region, list[int]] = {}
    codes = []
    for region in regions:
        if region not in within:
            known = enumerate(divided[:-1])
            within[region] = [i for i, part in known if part.overlaps(region)] or [-1]
        codes.append(within[region][int(dice.integers(len(within[region])))])
    return np.array(codes, dtype=np.int64)
