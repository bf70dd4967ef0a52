"""The functions of the Python module that predicts whole columns with numpy.

The decision is data: a table of splits or of rules, walked for all rows at once. As in
`rows`, the constants are an example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from treecompile.emit.runtime.rows import row_count
from treecompile.model.values import as_number, as_text, date_part

IS_TREE = True  # whether SPLITS exists; otherwise RULES does
CLASSIFIES = True  # whether there are labels; otherwise the answers are numbers
HAS_CODES = True  # whether SPLITS has categories; otherwise numbers only

COLUMNS = ("sky", "heat", "wind")
FEATURES = ("sky", "heat")
DATES = {"born_year": ("born", "year")}
BLOCK = 2**15  # rows at a time, which fit the processor's cache
MOST = 2**23  # shares at a time, if rows are divided
SPLITS: list[Any] = [
    (0, [1, ~2, ~2, ~2]),
    (1, 20.0, True, ~0, ~1),
]
RULES: list[Any] = [
    [(0, [True, False, False, False]), (1, 20.0, False, True)],
    [(0, [True, False, False, False])],
]
BRANCHES: list[Any] = [((1, 6.0), (~2, 6.0)), ((~0, 4.0), (~1, 2.0))]
SIZES = [2, 0]
LABELS = np.array(["no", "yes"], dtype=object)
ANSWERS = np.array(["yes", "no", "yes"], dtype=object)
SHARES = np.array([[0.25, 0.75], [1.0, 0.0], [1 / 6, 5 / 6]])
IDS = np.array(["R1", "R2", "R3"], dtype=object)
COLUMN: np.ndarray  # these from SPLITS, by `arrays`
LIMIT: np.ndarray
MISSING_IS_HIGH: np.ndarray
IS_CODE: np.ndarray
FIRST: np.ndarray
CHILDREN: np.ndarray


# ---------------------------------------------------------------- copied


def predict(data: Any) -> np.ndarray:
    """The prediction for each row."""
    return ANSWERS[deciders(data)]


def predict_proba(data: Any) -> np.ndarray:
    """The probabilities of the labels for each row, in the order of CLASSES."""
    return SHARES[deciders(data)]


def rules(data: Any) -> np.ndarray:
    """The id of the rule that decides each row."""
    return IDS[deciders(data)]


def with_dates(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns with the numbers that are computed from their dates."""
    made = dict(columns)
    for name, (column, part) in DATES.items():
        made[name] = [date_part(column, value, part) for value in columns[column]]
    return made


def deciders(data: Any) -> np.ndarray:
    """The position in ANSWERS of the answer to each row."""
    columns, size = read(data)
    if IS_TREE:
        return walk(columns, size)
    else:
        columns = [np.ascontiguousarray(column) for column in columns]
        found = np.full(size, len(RULES), dtype=np.intp)
        left = np.arange(size)
        for number, tests in enumerate(RULES):
            rows = left
            for column, *test in tests:
                rows = rows[holds(columns[column][rows], test)]
            found[rows] = number
            left = left[found[left] == len(RULES)]
        return found


def walk(columns: list[np.ndarray], size: int) -> np.ndarray:
    """The position in ANSWERS of the answer to each row, for a block at a time."""
    found = np.zeros(size, dtype=np.intp)
    block = np.empty((len(columns), min(size, BLOCK)))
    for start in range(0, size if SPLITS else 0, BLOCK):
        values = block[:, : size - start]
        for place, column in enumerate(columns):
            values[place] = column[start : start + BLOCK]
        found[start : start + BLOCK] = leaves(values)
    return found


def leaves(values: np.ndarray) -> np.ndarray:
    """The leaf of each row of a block: all rows go down the tree, level by level."""
    size = values.shape[1]
    flat, starts = values.ravel(), COLUMN * size
    has_missing = np.isnan(flat).any()
    found = np.empty(size, dtype=np.intp)
    rows, nodes = np.arange(size), np.zeros(size, dtype=np.intp)
    while len(rows):
        given = flat.take(starts.take(nodes) + rows)
        is_high = given > LIMIT.take(nodes)
        if has_missing:
            is_high |= np.isnan(given) & MISSING_IS_HIGH.take(nodes)
        if HAS_CODES:
            codes = np.where(IS_CODE.take(nodes), given, 0).astype(np.intp)
            nodes = CHILDREN.take(FIRST.take(nodes) + codes + is_high)
        else:
            nodes = CHILDREN.take(2 * nodes + is_high)
        is_split = nodes < len(SPLITS)  # the others stay at their leaves for a while
        if 2 * np.count_nonzero(is_split) <= len(rows):
            found[rows] = nodes
            rows, nodes = rows.compress(is_split), nodes.compress(is_split)
    return found - len(SPLITS)


def arrays() -> tuple[np.ndarray, ...]:
    """SPLITS as arrays. The leaves follow the splits, and lead to themselves."""
    table: list[tuple[Any, ...]] = []
    children: list[int] = []
    for column, *split in SPLITS:
        is_code = len(split) == 1
        limit, missing_is_low, *below = [np.inf, True, *split[0]] if is_code else split
        table.append((column, limit, not missing_is_low, is_code, len(children)))
        children += [child if child >= 0 else len(SPLITS) + ~child for child in below]
    for leaf in range(len(SPLITS), len(SPLITS) + len(ANSWERS)):
        table.append((0, np.inf, False, False, len(children)))
        children += [leaf, leaf]
    return (*map(np.array, zip(*table)), np.array(children))


def holds(values: np.ndarray, test: list[Any]) -> np.ndarray:
    """Where a test holds."""
    if len(test) == 1:
        return np.array(test[0])[values]
    limit, above, missing = test
    if above:
        return ~(values <= limit) if missing else values > limit
    return ~(values > limit) if missing else values <= limit


def read(data: Any) -> tuple[list[np.ndarray], int]:
    """The required columns, as numbers or codes, and the number of rows."""
    if getattr(data, "ndim", 0) == 2 and not hasattr(data, "columns"):
        if data.shape[1] != len(COLUMNS):
            raise ValueError(f"expected {len(COLUMNS)} columns, got {data.shape[1]}")
        data = {name: data[:, i] for i, name in enumerate(COLUMNS)}
    size = row_count(data)
    columns = [CONVERTERS[name](name, values(data[name])) for name in FEATURES]
    return columns, size


def values(column: Any) -> Any:
    """A column in which what is masked is missing."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    found = column.data.astype(object)
    found[np.ma.getmaskarray(column)] = None
    return found


def numbers(name: str, column: Any) -> np.ndarray:
    """A column as doubles, NaN where a value is missing."""
    try:
        array = np.asarray(column)
    except ValueError:  # sequences of several lengths, which as_number will refuse
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "fiub" and array.ndim == 1:
        return np.asarray(array, dtype=np.float64)
    return np.array([as_number(name, value) for value in column], dtype=np.float64)


def codes(convert: Any, known: Mapping[Any, int]) -> Any:
    """A function that turns a column into codes."""
    found = {**known, None: len(known) + 1}

    def encode(name: str, column: Any) -> np.ndarray:
        get, unseen = found.get, len(known)
        return np.array([get(convert(name, v), unseen) for v in column], dtype=np.intp)

    return encode


COLUMN, LIMIT, MISSING_IS_HIGH, IS_CODE, FIRST, CHILDREN = arrays()
CONVERTERS: dict[str, Any] = {
    "sky": codes(as_text, {"clear": 0, "grey": 1}),
    "heat": numbers,
}


# ---------------------------------------------------------------- copied if it divides
# Under the names above: `predict` for `divided_predict`, and so on.


def divided_predict(data: Any) -> np.ndarray:
    """The prediction for each row."""
    columns, size = read(data)
    found = ANSWERS[walk(columns, size)]
    for rows, shares in divided(columns):
        if CLASSIFIES:
            found[rows] = LABELS[shares.argmax(axis=1)]
        else:
            found[rows] = shares[:, 0]
    return found


def divided_proba(data: Any) -> np.ndarray:
    """The probabilities of the labels for each row, in the order of CLASSES."""
    columns, size = read(data)
    found = SHARES[walk(columns, size)]
    for rows, shares in divided(columns):
        found[rows] = shares
    return found


def divided_rules(data: Any) -> np.ndarray:
    """The id of the rule that decides each row; "divided" if several do."""
    columns, size = read(data)
    found = IDS[walk(columns, size)]
    for rows in unknown_rows(columns):
        for _, here, is_divided, _ in passed([column[rows] for column in columns]):
            found[rows[here[is_divided]]] = "divided"
    return found


def unknown_rows(columns: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows with a value that is missing or was never seen, in blocks."""
    unknown = [is_unknown(values, size) for values, size in zip(columns, SIZES)]
    rows = np.flatnonzero(np.logical_or.reduce(unknown))
    step = max(1, MOST // (len(SPLITS) * SHARES.shape[1]))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def is_unknown(values: np.ndarray, size: int) -> np.ndarray:
    """Where a value is missing or unseen; `size` counts categories, 0 for numbers."""
    return values >= size if size else np.isnan(values)


def divided(columns: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows with an unknown value, and their shares."""
    for rows in unknown_rows(columns):
        yield rows, mixed([column[rows] for column in columns])


def passed(
    columns: list[np.ndarray],
) -> Iterator[tuple[int, np.ndarray, np.ndarray, list[np.ndarray]]]:
    """For each split its rows, which of them it divides, and which take each branch."""
    waiting = {0: np.arange(len(columns[0]))}
    for node, (column, *split) in enumerate(SPLITS):
        here = waiting.pop(node, None)
        if here is None:
            continue
        values = columns[column][here]
        is_divided = is_unknown(values, SIZES[column])
        if len(split) == 1:
            taken = np.array(split[0])[values]
        else:
            taken = np.where(values <= split[0], split[2], split[3])
        masks = [(taken == child) | is_divided for child, _ in BRANCHES[node]]
        yield node, here, is_divided, masks
        for (child, _), mask in zip(BRANCHES[node], masks):
            if child >= 0 and mask.any():
                waiting[child] = here[mask]


def mixed(columns: list[np.ndarray]) -> np.ndarray:
    """The shares of rows: those of the branches, weighted, from the leaves upwards."""
    below: dict[int, np.ndarray] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for node, here, is_divided, masks in reversed(list(passed(columns))):
            shares = np.empty((len(here), SHARES.shape[1]))
            sums, total = np.zeros((int(is_divided.sum()), SHARES.shape[1])), 0.0
            for (child, weight), mask in zip(BRANCHES[node], masks):
                if child < 0:
                    shares[mask] = SHARES[~child]
                    sums += weight * SHARES[~child]
                elif child in below:
                    shares[mask] = below[child]
                    sums += weight * below.pop(child)[is_divided[mask]]
                total += weight
            shares[is_divided] = sums / total
            below[node] = shares
    return below[0]
