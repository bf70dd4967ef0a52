"""Sums and means of segments against `math.fsum`, thresholds against parsing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from treecompile.learning.grow import segments as module
from treecompile.learning.grow.search import readable
from treecompile.learning.grow.segments import Segments
from treecompile.learning.grow.segments import exact_means as means
from treecompile.learning.grow.segments import exact_sums as sums
from treecompile.model.arrays import Floats

RANDOM = np.random.default_rng(0)
SIZE = 6_000
KINDS: dict[str, Floats] = {
    "normal": RANDOM.normal(size=SIZE),
    "squares": RANDOM.normal(size=SIZE) ** 2,
    "cents": np.round(RANDOM.normal(size=SIZE), 2),
    "whole": RANDOM.integers(-100, 100, SIZE).astype(np.float64),
    "far from zero": RANDOM.normal(size=SIZE) + 1e9,
    "halves": np.ldexp(RANDOM.integers(-3, 4, SIZE) * 1.0, RANDOM.integers(-60, 60)),
    "cancelling": RANDOM.choice([1e16, 1.0, -1e16, 0.5, 3e-17], SIZE),
    "all sizes": RANDOM.normal(size=SIZE) * 10.0 ** RANDOM.integers(-250, 250, SIZE),
    "subnormal": RANDOM.normal(size=SIZE) * 1e-320,
    "huge": RANDOM.normal(size=SIZE) * 1e300,
}


def parts(longest: int) -> Segments:
    lengths = RANDOM.integers(1, longest, SIZE)
    return Segments.of(lengths[: np.searchsorted(lengths.cumsum(), SIZE)])


@pytest.mark.parametrize("few", [0, SIZE])
@pytest.mark.parametrize("longest", [2, 3, 5, 40, 2_000])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_rounded_once(
    kind: str, longest: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEW_NUMBERS", few)
    segments = parts(longest)
    numbers = KINDS[kind][: segments.size]
    found, middle = sums(numbers, segments), means(numbers, segments)
    for place, (start, length) in enumerate(
        zip(segments.starts, segments.lengths, strict=True)
    ):
        mine = numbers[start : start + length].tolist()
        assert found[place] == math.fsum(mine)
        exact = sum(map(Fraction, mine)) / Fraction(int(length))
        assert abs(Fraction(float(middle[place])) - exact) <= Fraction(
            math.ulp(float(exact))
        )


def test_the_order_does_not_matter() -> None:
    for numbers in KINDS.values():
        shuffled = RANDOM.permutation(numbers)
        whole = Segments.of(np.array([SIZE]))
        assert sums(numbers, whole) == sums(shuffled, whole)
        assert means(numbers, whole) == means(shuffled, whole)


def test_thresholds_are_rounded_as_text_is_read() -> None:
    numbers = np.concatenate(
        [
            RANDOM.normal(size=2_000),
            RANDOM.normal(size=2_000) * 10.0 ** RANDOM.integers(-300, 300, 2_000),
            np.round(RANDOM.random(2_000) * 100, 1) / 2 + 21.55,
            (RANDOM.integers(0, 10**15, 2_000) + 0.5) / 10.0 ** RANDOM.integers(0, 15),
            10.0 ** np.arange(-8, 18) * (1 - 1e-15),
            [0.0, 1.0, 5e-324, 999999999999999.5, 9.999999999999995e14],
        ]
    )
    low, high = np.full(len(numbers), -np.inf), np.full(len(numbers), np.inf)
    expected = [float(f"{number:.15g}") for number in numbers]
    assert readable(numbers, low, high).tolist() == expected


def test_a_threshold_keeps_dividing() -> None:
    low = np.array([43.1, 0.1 + 0.2])
    high = np.array([43.2, math.nextafter(0.1 + 0.2, 1)])
    middle = np.array([43.150000000000006, 0.1 + 0.2])
    assert readable(middle, low, high).tolist() == [43.15, 0.30000000000000004]
