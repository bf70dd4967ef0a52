"""How the features of a level are counted: by a query for each, or all by one.

Rows are counted by keys, whole numbers in which node, code and class are packed, and in
one query the feature as well. A database that reads its rows quickly takes a query for
each feature; where a query is dear, all features stand below one another in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np

from treecompile.learners.stretches import Array
from treecompile.stores.base import Store


@dataclass(frozen=True, slots=True)
class Asked:
    """What is counted of a feature."""

    key: str  # a whole number from 0 on; NULLs are not counted
    size: int  # which all keys are below
    number: str = ""  # of which the least and the greatest are asked as well


def count_keys(
    store: Store, rows: str, asked: Sequence[Asked], sums: Sequence[str] = ("count(*)",)
) -> list[list[Array]]:
    """For each feature: its keys, what is summed, and the ends of its numbers, if any.

    `rows` is what stands behind FROM, with its condition; the sums may mention `y`.
    """
    stacked = store.phrases.stacked
    if stacked is None or len(asked) == 1:
        return [_one(store, rows, each, sums) for each in asked]
    return _all(store, partial(stacked, rows), asked, sums)


def _one(store: Store, rows: str, asked: Asked, sums: Sequence[str]) -> list[Array]:
    wanted = [f"{asked.key} AS k", *sums]
    if asked.number:
        wanted += [f"min({asked.number})", f"max({asked.number})"]
    return store.arrays(f"SELECT {', '.join(wanted)} FROM {rows} GROUP BY k")


def _all(
    store: Store,
    stacked: Callable[[Sequence[tuple[str, str]]], str],
    asked: Sequence[Asked],
    sums: Sequence[str],
) -> list[list[Array]]:
    starts = list(accumulate((each.size for each in asked), initial=0))
    none = f"CAST(NULL AS {store.dialect.types.number})"
    stack = [
        (f"{start} + {each.key}", each.number or none)
        for start, each in zip(starts, asked, strict=False)
    ]
    keys, *found = store.arrays(
        f"SELECT k, {', '.join(sums)}, min(x), max(x) FROM {stacked(stack)} GROUP BY k"
    )
    keys = keys.astype(np.int64)
    order = np.argsort(keys, kind="stable")
    keys, found = keys[order], [column[order] for column in found]
    ends = np.searchsorted(keys, starts)
    answers = []
    for each, start, first, last in zip(asked, starts, ends, ends[1:], strict=False):
        columns = [column[first:last] for column in found]
        if not each.number:
            columns = columns[:-2]
        answers.append([keys[first:last] - start, *columns])
    return answers
