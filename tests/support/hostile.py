"""Damaged files: every reader refuses them in one line, or reads a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from treecompile.model import forests, ir
from treecompile.model.errors import TreecompileError


def truncated(data: bytes, parts: int = 50) -> Iterator[bytes]:
    return (data[: len(data) * part // parts] for part in range(parts))


def mutated(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Copies with a few bytes changed, removed, doubled or moved."""
    dice = Random(seed)
    for _ in range(count):
        made = bytearray(data)
        for _ in range(dice.choice((1, 1, 2, 5))):
            place = dice.randrange(len(made))
            match dice.randrange(5):
                case 0:
                    made[place] = dice.randrange(256)
                case 1:
                    made[place] ^= 1 << dice.randrange(8)
                case 2:
                    del made[place : place + dice.randrange(1, 9)]
                case 3:
                    some = made[place : place + dice.randrange(1, 20)]
                    where = dice.randrange(len(made))
                    made[where:where] = some
                case _:
                    made[place] = dice.choice(b'0919-{}[],:".eE\xff\x00')
            if not made:
                break
        yield bytes(made)


def check_damaged(
    read: Callable[[bytes], ir.NotedForest], data: bytes, count: int, seed: int = 0
) -> tuple[int, int]:
    """How many damaged copies are read, and how many are refused."""
    good = bad = 0
    for damaged in (*truncated(data), *mutated(data, count, seed)):
        try:
            forest = read(damaged).program.body
        except TreecompileError as error:
            bad += 1
            message = str(error)
            assert message
            assert "\n" not in message
            continue
        good += 1
        assert forests.problem(forest) == ""
        row: Any = (None,) * len(forest.features)
        forests.answer(forest, forests.margins(forest, row))
    return good, bad
