"""What a run knows between two levels, as a line of JSON and back.

Decisions, what the open nodes hold, and the bins: small, whatever the size of the
table. Numbers are written so that they come back to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from treecompile.in_database.bins import Bins
from treecompile.learners.drafts import Drafts, Layer
from treecompile.learners.level import Test
from treecompile.learners.stretches import Array, Positions

ARRAYS = tuple(field.name for field in fields(Layer) if field.name != "start")


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """All that is needed to go on with the open nodes of a level."""

    bins: Mapping[int, Bins]
    drafts: Drafts
    depth: int  # finished levels
    numbers: Positions  # of the open nodes, in the drafts
    rows: Array  # of each of them
    sums: Array
    answers: Mapping[str, Array]  # what else is known of their target


def dumps(state: State) -> str:
    drafts = state.drafts
    layers = [
        {name: listed(getattr(layer, name)) for name in ARRAYS}
        for layer in drafts.layers
    ]
    written = {
        "bins": listed_bins(state.bins),
        "layers": layers,
        "splits": [
            [number, test, drafts.known[number]] for number, test in drafts.test.items()
        ],
        "depth": state.depth,
        "numbers": listed(state.numbers),
        "rows": listed(state.rows),
        "sums": listed(state.sums),
        "answers": {name: listed(value) for name, value in state.answers.items()},
    }
    return json.dumps(written, separators=(",", ":"))


def loads(text: str) -> State:
    """Raises ValueError, TypeError or KeyError where it is no such text."""
    read = json.loads(text)
    drafts = Drafts()
    for layer in read["layers"]:
        arrays = {name: array_of(layer[name]) for name in ARRAYS}
        drafts.layers.append(Layer(drafts.count, **arrays))
        drafts.count += len(arrays["weight"])
    for number, test, known in read["splits"]:
        drafts.test[number] = _test(test)
        drafts.known[number] = known
    return State(
        bins_of(read["bins"]),
        drafts,
        int(read["depth"]),
        array_of(read["numbers"]),
        array_of(read["rows"]),
        array_of(read["sums"]),
        {name: array_of(value) for name, value in read["answers"].items()},
    )


def listed_bins(bins: Mapping[int, Bins]) -> dict[str, list[Any]]:
    return {
        str(position): [each.low.tolist(), each.scale.tolist()]
        for position, each in bins.items()
    }


def bins_of(written: Mapping[str, Any]) -> dict[int, Bins]:
    return {
        int(position): Bins(np.array(low, np.float64), np.array(scale, np.float64))
        for position, (low, scale) in written.items()
    }


def listed(values: Array) -> list[Any]:
    return [values.dtype.str, values.shape, values.ravel().tolist()]


def array_of(written: list[Any]) -> Array:
    kind, shape, values = written
    return np.array(values, kind).reshape(shape)


def _test(written: Any) -> Test:
    """A threshold or a category, or the categories of each branch."""
    if isinstance(written, list):
        return tuple(map(tuple, written))
    test: Test = written
    return test
