"""The search among all doubles, against one double at a time."""

from __future__ import annotations

from math import inf, nextafter
from random import Random

import numpy as np
import pytest

from treecompile.importers.sklearn.doubles import (
    AROUND,
    LARGEST,
    doubles,
    narrow,
    neighbours,
    ordinals,
)
from treecompile.model.arrays import Floats, Mask, Positions

SPECIAL = [0.0, 5e-324, -5e-324, 1.0, -1.0, 2.0**-1022, -LARGEST, LARGEST, 206.5]


def random_doubles(random: Random, count: int) -> list[float]:
    return [
        random.uniform(-1, 1) * 10.0 ** random.randint(-300, 300) for _ in range(count)
    ]


def test_ordinals_are_in_the_order_of_doubles() -> None:
    values = np.array(sorted({*SPECIAL, *random_doubles(Random(0), 200)}))
    places = ordinals(values)
    assert (np.diff(places.astype(object)) > 0).all()
    assert doubles(places).tolist() == values.tolist()
    above = [nextafter(value, inf) for value in values[:-1]]
    assert doubles(places[:-1] + 1).tolist() == above
    assert ordinals(np.array([-0.0, 0.0])).tolist() == [0, 0]


@pytest.mark.parametrize("most", [1, 2, 63])
def test_the_edge_is_found_wherever_it_is(most: int) -> None:
    random = Random(most)
    edges = np.array([*SPECIAL[:-3], *random_doubles(random, 50)])
    low, high = np.full(len(edges), -LARGEST), np.full(len(edges), LARGEST)
    asked = 0

    def is_as_low(places: Positions, values: Floats) -> Mask:
        nonlocal asked
        asked += 1
        found: Mask = values <= edges[places]
        return found

    low, high = narrow(low, high, is_as_low, most)
    assert low.tolist() == edges.tolist()
    assert high.tolist() == [nextafter(edge, inf) for edge in edges]
    assert asked <= 65 / np.log2(most + 1) + 1


def test_nothing_is_asked_of_neighbours() -> None:
    def never(places: Positions, values: Floats) -> Mask:
        raise AssertionError

    low, high = np.array([1.0, 3.0]), np.array([nextafter(1.0, inf), 3.0])
    found = narrow(low, high, never)
    assert [each.tolist() for each in found] == [low.tolist(), high.tolist()]


def test_the_doubles_around_a_value() -> None:
    found = neighbours(np.array([206.5, 0.0]))
    assert len(found) == 2 * (2 * AROUND + 1)
    assert (np.diff(found) > 0).all()
    assert {206.5, nextafter(206.5, inf), nextafter(206.5, -inf)} <= set(found.tolist())
    assert {-5e-324, 0.0, 5e-324} <= set(found.tolist())
    assert max(neighbours(np.array([LARGEST]))) == LARGEST
