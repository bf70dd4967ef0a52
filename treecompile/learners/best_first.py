"""The splits that best-first growth makes with a number of leaves.

Growing best first, the open node whose split gains most, weighted by its cases, is
split next, until the next split would make too many leaves. What a split is does not
depend on that order, so levels can grow as ever and the order be replayed over the
splits found so far. One that is not reached in time now will not be later: deeper
levels only add to those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush


def reached(
    most_leaves: int,
    decrease: Callable[[int], float | None],
    branches: Callable[[int], int],
    children: Callable[[int], Sequence[int] | None],
) -> set[int]:
    """The nodes to be split, the root being 0.

    `decrease` is that of a node's split, None where there is none; `children` are None
    where they are not known yet. Of equal decreases the node that was made first wins.
    """
    chosen: set[int] = set()
    queue: list[tuple[float, int, int]] = []
    made, leaves = 0, 1

    def offer(node: int) -> None:
        nonlocal made
        gained = decrease(node)
        if gained is not None:
            heappush(queue, (-gained, made, node))
        made += 1

    offer(0)
    while queue:
        _, _, node = heappop(queue)
        leaves += branches(node) - 1
        if leaves > most_leaves:
            break
        chosen.add(node)
        for child in children(node) or ():
            offer(child)
    return chosen
