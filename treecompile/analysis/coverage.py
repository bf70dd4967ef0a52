"""Which rules of an ordered list ever decide, and a box of rows that each decides.

Most rules show themselves: rows from within their boxes are tried all at once, and a
rule that decides one of them is settled. For the others the rows of their box that no
earlier rule takes are searched exhaustively; if there is none, earlier rules cover it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from treecompile.analysis.budget import Budget
from treecompile.batch import deciders
from treecompile.boxes import Boxes, Place
from treecompile.ir import Kind, RuleSet
from treecompile.regions import Box, OrderedAxis, Region, SetAxis, Space

TRIED = 4  # rows from within each rule
LIMITS = (100, 10_000)  # steps for one rule, before the others had their turn
SEED = 0

Codes = NDArray[np.int64]  # parts of an axis, -1 for the missing value


def deciding(
    rules: RuleSet, boxes: Boxes, budget: Budget
) -> tuple[dict[int, Box], list[int]]:
    """Boxes that rules (and the default) decide; and the rules that are undecided.

    A rule that is in neither never decides.
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
            trial = Budget(min(limit, budget.left) or 1)
            allowed = trial.left
            is_settled, box = _uncovered(boxes, number, trial)
            budget.spend(min(allowed - trial.left, budget.left))
            if box is not None:
                known[number] = box
            elif not is_settled:
                undecided.append(number)
        open_rules = undecided
    return known, open_rules


def _uncovered(boxes: Boxes, number: int, budget: Budget) -> tuple[bool, Box | None]:
    """Rows of a rule that no earlier rule takes; and whether the search came to an end.

    The side with fewer rules is searched first: there an uncovered row is likelier.
    """
    start = boxes.start(boxes.boxes[number], number)
    waiting: list[Place] = [start]
    while waiting:
        place = waiting.pop()
        if place.rules[-1] != number:
            continue  # an earlier rule holds everywhere in it
        if place.decider is not None:
            return True, place.box
        if not budget.spend():
            return False, None
        yes, no, _ = boxes.best(place)
        waiting += sorted((yes, no), key=lambda side: -len(side.rules))
    return True, None


def _tried(rules: RuleSet, boxes: Boxes) -> dict[int, Box]:
    """The rules that decide some of a few rows from within each rule."""
    dice = np.random.default_rng(SEED)
    inside = [box for box in boxes.boxes for _ in range(TRIED) if box is not None]
    space = boxes.space
    chosen: dict[int, Codes] = {}
    columns: list[NDArray[np.generic] | None] = []
    for position, feature in enumerate(rules.features):
        if position not in boxes.columns:
            columns.append(None)
            continue
        axis = space.axes[position]
        codes = _codes(axis, [box[position] for box in inside], dice)
        chosen[position] = codes
        if feature.kind is Kind.NUMERIC:
            assert isinstance(axis, OrderedAxis)
            edges = np.array([*axis.edges, np.nan])  # the last is for -1
            columns.append(edges[codes])
        else:
            columns.append(codes)
    found = deciders(rules, columns, len(inside))
    numbers, rows = np.unique(found, return_index=True)
    return {
        int(number): _single(space, {p: int(codes[row]) for p, codes in chosen.items()})
        for number, row in zip(numbers, rows, strict=True)
    }


def _codes(axis: object, regions: Iterable[Region], dice: np.random.Generator) -> Codes:
    """A part of each region, a known value where there is one."""
    if isinstance(axis, OrderedAxis):
        table = np.array([region[:2] for region in regions], dtype=np.int64)
        first, end = table.reshape(-1, 2).T
        drawn = first + (dice.random(len(first)) * (end - first)).astype(np.int64)
        result: Codes = np.where(first < end, np.minimum(drawn, end - 1), -1)
        return result
    assert isinstance(axis, SetAxis)
    parts: dict[Region, list[int]] = {}
    codes = []
    for region in regions:
        if region not in parts:
            known = region & ~axis.missing
            parts[region] = [i for i in range(known.bit_length()) if known >> i & 1]
        among = parts[region] or [-1]
        codes.append(among[int(dice.integers(len(among)))])
    return np.array(codes, dtype=np.int64)


def _single(space: Space, codes: dict[int, int]) -> Box:
    """The box of one part of each axis."""
    box = list(space.everything)
    for position, code in codes.items():
        axis = space.axes[position]
        if isinstance(axis, SetAxis):
            box[position] = axis.missing if code < 0 else 1 << code
        else:
            box[position] = (0, 0, True) if code < 0 else (code, code + 1, False)
    return tuple(box)
