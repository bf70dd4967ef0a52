"""The functions of the Python module that adds up the trees of a forest with numpy.

As in `columns`, which has the functions that read columns, the trees are tables, and
the constants are an example. Of functions with two underscores there are several
versions, and one is copied: margin__one as margin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treecompile.emit.runtime.columns import read

CLASSIFIES = True  # whether there are labels; otherwise the answers are numbers
ONE_SUM = False  # whether one margin decides between two labels
ROUNDS = True  # whether sums have 32 bits
ADJUSTS = True  # whether sums are divided, multiplied or moved
SKIPS_ZEROS = True  # whether 0 is a missing value in some columns

BLOCK = 2**15  # rows at a time, which fit the processor's cache
BYTES = 256  # leaves whose numbers fit into a byte
NUMBER = np.float32
START = [0.0]
DIVISOR, SCALE, OFFSET = 3.0, 1.0, [0.0]
ZERO_IS_MISSING = [0]
ZERO = 1e-35
CUT = 0.0
SLOPE = 1.0
LARGEST = 700.0
LABELS = np.array(["no", "yes"], dtype=object)


# ---------------------------------------------------------------- copied


def predict(data: Any) -> np.ndarray:
    """The prediction for each row."""
    return answer(margins(data))


def margin__one(data: Any) -> np.ndarray:
    """The sum of the trees for each row."""
    return margins(data)[:, 0]


def margin__several(data: Any) -> np.ndarray:
    """The sums of the trees for each row, in the order of CLASSES."""
    return margins(data)


def predict_proba(data: Any) -> np.ndarray:
    """The probabilities of the labels for each row, in the order of CLASSES."""
    found = linked(margins(data))
    if ONE_SUM:
        return np.hstack([rounded(1 - found), found])
    else:
        return found


def margins(data: Any) -> np.ndarray:
    """The sums of the trees for each row: a column for each sum."""
    if SKIPS_ZEROS:
        columns, size = without_zeros(*read(data))
    else:
        columns, size = read(data)
    found = np.empty((size, len(START)))
    for start in range(0, size, BLOCK):
        part = [np.ascontiguousarray(c[start : start + BLOCK]) for c in columns]
        found[start : start + BLOCK] = sums(part, min(BLOCK, size - start)).T
    return found + 0.0  # never -0.0


def sums(columns: list[np.ndarray], size: int) -> np.ndarray:
    """The sums for a block of rows, to which the trees are added in their order."""
    found = np.repeat(np.array(START, dtype=NUMBER)[:, None], size, axis=1)
    for outputs, splits, numbers in TREES:
        find = byte_leaves if len(splits) < BYTES else leaves
        places = find(columns, size, splits)
        for output, added in zip(outputs, numbers):
            found[output] += added.take(places)
    if ADJUSTS:
        return adjusted(found.astype(np.float64))
    else:
        return found


def byte_leaves(columns: list[np.ndarray], size: int, splits: Any) -> np.ndarray:
    """The leaf of each row in a small tree: all of its tests, from the last one up.

    The numbers of leaves are bytes. One is chosen without a branch of the processor,
    (yes ^ no) * holds ^ no, which is faster than to part the rows.
    """
    below: Any = {0: np.zeros(size, dtype=np.uint8)}
    for node in reversed(range(len(splits))):
        column, compare, limit, then, otherwise = splits[node]
        holds = compare(columns[column], limit).view(np.uint8)
        yes = below.pop(then) if then > 0 else np.uint8(~then)
        no = below.pop(otherwise) if otherwise > 0 else np.uint8(~otherwise)
        below[node] = (yes ^ no) * holds ^ no
    found: np.ndarray = below[0]
    return found


def leaves(columns: list[np.ndarray], size: int, splits: Any) -> np.ndarray:
    """The leaf of each row in a large tree: each test parts the rows that reach it."""
    found = np.zeros(size, dtype=np.intp)
    waiting = [(0, np.arange(size))]
    while waiting:
        node, rows = waiting.pop()
        if node < 0:
            found[rows] = ~node
        elif len(rows):
            column, compare, limit, then, otherwise = splits[node]
            holds = compare(columns[column].take(rows), limit)
            waiting.append((then, rows.compress(holds)))
            waiting.append((otherwise, rows.compress(~holds)))
    return found


def with_arrays(tree: Any) -> Any:
    """A tree with arrays in place of lists, and with functions that compare."""
    outputs, splits, numbers = tree
    compare = {"<=": np.less_equal, ">": np.greater, "in": is_in}
    made = [
        (column, compare[how], np.array(limit), then, otherwise)
        for column, how, limit, then, otherwise in splits
    ]
    return outputs, made, [np.array(each, dtype=NUMBER) for each in numbers]


def is_in(codes: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Where the truth of a code is True."""
    return truths.take(codes)


def without_zeros(columns: list[np.ndarray], size: int) -> tuple[list[np.ndarray], int]:
    """The columns, in some of which 0 is a missing value."""
    for place in ZERO_IS_MISSING:
        values = columns[place]
        columns[place] = np.where(np.abs(values) <= ZERO, np.nan, values)
    return columns, size


def adjusted(found: np.ndarray) -> np.ndarray:
    """The sums, divided, multiplied and moved, and rounded each time."""
    found = rounded(rounded(found / DIVISOR) * SCALE)
    return rounded(found + np.array(OFFSET)[:, None])


def answer__by_cut(found: np.ndarray) -> np.ndarray:
    """The second label where the margin is above the cut."""
    return LABELS[(found[:, 0] > CUT).astype(np.intp)]


def answer__by_greatest(found: np.ndarray) -> np.ndarray:
    """The label with the greatest margin, the first one at a tie."""
    labels: np.ndarray = LABELS[found.argmax(axis=1)]
    return labels


def answer__number(found: np.ndarray) -> np.ndarray:
    """The numbers that margins stand for."""
    return linked(found)[:, 0]


answer = answer__by_cut


def linked__identity(found: np.ndarray) -> np.ndarray:
    """The margins are the answer."""
    return found


def linked__signed_square(found: np.ndarray) -> np.ndarray:
    """The square of each margin, with its sign."""
    return rounded(found * np.abs(found))


def linked__logistic(found: np.ndarray) -> np.ndarray:
    """The logistic function of each margin."""
    return rounded(1 / rounded(1 + power(-SLOPE * found)))


def linked__softmax(found: np.ndarray) -> np.ndarray:
    """The exponential of each margin, over the sum of all."""
    parts = power(found - found.max(axis=1, keepdims=True))
    total = np.zeros(len(found))
    for place in range(parts.shape[1]):  # in their order, which np.sum does not keep
        total += parts[:, place]
    return rounded(parts / rounded(total)[:, None])


def linked__exp(found: np.ndarray) -> np.ndarray:
    """The exponential of each margin."""
    return power(found)


def linked__softplus(found: np.ndarray) -> np.ndarray:
    """The logarithm of 1 + the exponential of each margin."""
    return rounded(np.log1p(power(found)))


linked = linked__identity


def power(numbers: np.ndarray) -> np.ndarray:
    """The exponentials, of which the largest and smallest are cut off."""
    return rounded(np.exp(np.clip(numbers, -LARGEST, LARGEST)))


def rounded(numbers: np.ndarray) -> np.ndarray:
    """Numbers in the arithmetic of the model."""
    if ROUNDS:
        with np.errstate(over="ignore"):
            return numbers.astype(np.float32).astype(np.float64)
    else:
        return numbers


# Of each tree: the sums that it adds to, its splits, and for each sum the numbers of
# its leaves.
TREES: list[Any] = [
    with_arrays(
        ([0], [(1, "<=", 20.0, ~0, 1), (0, "in", [True, False], ~1, ~2)], [[1, 2, 3]])
    )
]
