"""What a run of C4.5 knows between two levels, as a line of JSON and back.

How the rows were moved at each level, so that they can be moved so again, and how far
the growth has come. Numbers are written so that they come back to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treecompile.in_database.bins import Bins
from treecompile.in_database.c45_table import Move
from treecompile.in_database.state import array_of, bins_of, listed, listed_bins
from treecompile.learners.c45_draft import SplitTests
from treecompile.learners.c45_grow import Grown, Kept
from treecompile.learners.stretches import Floats, Positions

TESTS = ("feature", "gain", "cut", "size")
GROWN = ("counts", "label", "first", "known")


@dataclass(frozen=True, slots=True, eq=False)
class CaseState:
    """All that is needed to go on with the open nodes of a level."""

    bins: Mapping[int, Bins]
    moves: list[Move]  # of the rows, level by level
    growth: Kept
    weights: Floats  # of each class at the open nodes
    numbers: Positions  # of these in the draft
    parents: list[int]  # of all nodes of the draft
    depths: list[int]

    @property
    def depth(self) -> int:
        return len(self.moves)


def dumps(state: CaseState) -> str:
    growth = state.growth
    written = {
        "bins": listed_bins(state.bins),
        "moves": [
            [_tests(m.tests), m.branches, m.missing, m.parts, m.depth]
            for m in state.moves
        ],
        "done": [
            [_tests(each.tests), *(listed(getattr(each, name)) for name in GROWN)]
            for each in growth.done
        ],
        "nodes": listed(growth.nodes),
        "usable": listed(growth.usable),
        "settled": growth.settled,
        "weights": listed(state.weights),
        "numbers": listed(state.numbers),
        "parents": state.parents,
        "depths": state.depths,
    }
    return json.dumps(written, separators=(",", ":"))


def loads(text: str) -> CaseState:
    """Raises ValueError, TypeError or KeyError where it is no such text."""
    read = json.loads(text)
    moves = [
        Move(
            _read_tests(tests),
            branches,
            missing,
            [(one, other, share) for one, other, share in parts],
            depth,
        )
        for tests, branches, missing, parts, depth in read["moves"]
    ]
    done = [
        Grown(_read_tests(tests), *map(array_of, arrays))
        for tests, *arrays in read["done"]
    ]
    growth = Kept(
        done, array_of(read["nodes"]), array_of(read["usable"]), read["settled"]
    )
    return CaseState(
        bins_of(read["bins"]),
        moves,
        growth,
        array_of(read["weights"]),
        array_of(read["numbers"]),
        read["parents"],
        read["depths"],
    )


def _tests(tests: SplitTests) -> list[Any]:
    arrays = [listed(getattr(tests, name)) for name in TESTS]
    return [*arrays, list(tests.groups.items())]


def _read_tests(written: list[Any]) -> SplitTests:
    *arrays, groups = written
    feature, gain, cut, size = map(array_of, arrays)
    made = SplitTests(feature, gain, cut, size)
    made.groups.update({node: tuple(map(tuple, each)) for node, each in groups})
    return made
