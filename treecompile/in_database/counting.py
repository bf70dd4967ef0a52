"""How the features of a level are counted: by a query for each, or all by one.

Rows are counted by keys, whole numbers in which node, code and class are packed, and in
one query the feature as well. A database that reads its rows quickly takes a query for
each feature; where a query is dear, all features stand below one another in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from treecompile.learners.stretches import Array
from treecompile.stores.base import Stacked, Store


@dataclass(frozen=True, slots=True)
class Asked:
    """What is counted of a feature."""

    key: str  # a whole number from 0 on
    size: int  # which all keys are below
    sums: Sequence[str]  # what is asked of the rows of each key
    number: str = ""  # of which the least and the greatest are asked before those


def count_keys(
    store: Store, table: str, kept: Sequence[str], asked: Sequence[Asked]
) -> list[list[Array]]:
    """For each feature its keys, and for each of those what is asked.

    `table` is what stands behind FROM; the sums mention only the columns `kept` of it.
    """
    stacked = store.phrases.stacked
    if stacked is None or len(asked) == 1:
        return [_one(store, table, each) for each in asked]
    return _all(store, table, kept, asked, stacked)


def _one(store: Store, table: str, asked: Asked) -> list[Array]:
    wanted = [f"{asked.key} AS k", *_ends(asked.number), *asked.sums]
    return store.arrays(f"SELECT {', '.join(wanted)} FROM {table} GROUP BY k")


def _ends(number: str) -> list[str]:
    return [f"min({number})", f"max({number})"] if number else []


def _all(
    store: Store,
    table: str,
    kept: Sequence[str],
    asked: Sequence[Asked],
    stacked: Stacked,
) -> list[list[Array]]:
    starts = list(accumulate((each.size for each in asked), initial=0))
    none = f"CAST(NULL AS {store.dialect.types.number})"
    stack = [
        (f"{start} + {each.key}", each.number or none)
        for start, each in zip(starts, asked, strict=False)
    ]
    sums = list(dict.fromkeys(one for each in asked for one in each.sums))
    wanted = [*_ends("x"), *sums]
    keys, *found = store.arrays(
        f"SELECT k, {', '.join(wanted)} FROM {stacked(table, kept, stack)} GROUP BY k"
    )
    keys = keys.astype(np.int64)
    order = np.argsort(keys)
    keys = keys[order]
    answers = dict(zip(wanted, (column[order] for column in found), strict=True))
    bounds = np.searchsorted(keys, starts).tolist()
    return [
        [
            keys[first:last] - start,
            *(
                answers[one][first:last]
                for one in (*_ends(each.number and "x"), *each.sums)
            ),
        ]
        for each, start, first, last in zip(
            asked, starts, bounds, bounds[1:], strict=False
        )
    ]
