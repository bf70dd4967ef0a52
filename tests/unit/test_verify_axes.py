"""The values that `verify` tries: beside every threshold, in every type of number."""

from __future__ import annotations

from ctypes import c_float
from dataclasses import replace
from decimal import Decimal
from math import floor, inf, isfinite, isnan, nan, nextafter
from random import Random

import pytest

from tests.support.region_samples import CUTS, FEATURES, random_condition
from tests.support.rule_lists import above, at_most, rule_set
from treecompile.emit.sql.dialect import NumberTypes
from treecompile.model.ir import Feature, Kind, RuleSet, Value, ValueType
from treecompile.model.semantics import holds
from treecompile.regions.region import Region
from treecompile.verify.axes import (
    DOUBLES,
    PYTHON_INTEGERS,
    Axis,
    CategoryAxis,
    Grid,
    NumberAxis,
    doubles_beside,
    integers_beside,
    of_dialect,
    twins,
)
from treecompile.verify.constants import Constants
from treecompile.verify.random_rows import RandomRows

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "blue", "green"))
BIG = 1.7976931348623157e308


def test_a_double_and_its_neighbours() -> None:
    assert doubles_beside(1.0) == (1.0 - 2**-53, 1.0, 1.0 + 2**-52)
    assert doubles_beside(0.0) == (-5e-324, 0.0, 5e-324)


@pytest.mark.parametrize("cut", [0.0, 0.5, 3.0, -2.5, -3.0, 2.0**53 - 1, 1e15])
def test_the_integers_on_both_sides_of_a_threshold(cut: float) -> None:
    below = floor(cut)
    assert integers_beside(cut) == [below - 1, below, below + 1, below + 2]


@pytest.mark.parametrize("cut", [2.0**60 + 512, -(2.0**60) - 512, 2.0**53, 2.0**100])
def test_the_integers_that_are_rounded_across_a_threshold(cut: float) -> None:
    """The last integer whose double is not above the threshold, and the next."""
    exact = int(cut)
    last = exact
    step = 1 << 60
    while step:  # the greatest integer that is rounded to the threshold
        if float(last + step) <= cut:
            last += step
        step >>= 1
    tried = integers_beside(cut)
    assert {exact - 1, exact, exact + 1, last, last + 1} <= set(tried)
    assert tried == sorted(tried)
    if abs(cut) == 2.0**60 + 512:  # where doubles have one distance on both sides
        assert 2 * exact - last in tried


def test_the_greatest_doubles_have_integers_beside_them() -> None:
    assert int(BIG) in integers_beside(BIG)
    assert int(-BIG) in integers_beside(-BIG)
    cut = BIG / 2  # the greatest with another double as far above it
    middle = int(cut) + int(nextafter(cut, inf) - cut) // 2
    assert float(middle - 1) == cut < float(middle + 1)
    assert {middle, middle + 1} <= set(integers_beside(cut))


TYPES = dict(of_dialect(NumberTypes("BIGINT", "DECIMAL(38, 10)", "REAL")))


def test_a_dialect_has_some_of_the_types() -> None:
    assert list(TYPES) == ["BIGINT", "DECIMAL(38, 10)", "REAL"]
    assert list(dict(of_dialect(NumberTypes(single="FLOAT4")))) == ["FLOAT4"]
    assert all(probes.always == (None,) for probes in TYPES.values())


def test_integers_of_a_column_have_64_bits() -> None:
    beside = TYPES["BIGINT"].beside
    assert list(beside(2.5)) == [1, 2, 3, 4]
    assert max(v for v in beside(2.0**63) if isinstance(v, int)) == 2**63 - 1
    assert list(beside(1e30)) == []


@pytest.mark.parametrize("cut", [0.1, -0.1, 0.3, 1 / 3, 123456.789, 9.9e24])
def test_decimals_lie_on_both_sides(cut: float) -> None:
    low, high = TYPES["DECIMAL(38, 10)"].beside(cut)
    assert isinstance(low, Decimal)
    assert isinstance(high, Decimal)
    assert low <= Decimal(cut) <= high
    assert high - low == (0 if low == Decimal(cut) else Decimal("1e-10"))
    assert low.as_tuple().exponent == -10


def test_decimals_do_not_reach_far() -> None:
    assert list(TYPES["DECIMAL(38, 10)"].beside(1e25)) == []
    assert list(TYPES["DECIMAL(38, 10)"].beside(-1e25)) == []


@pytest.mark.parametrize("cut", [0.1, -0.1, 1 / 3, 1e30, 3.0])
def test_singles_lie_on_both_sides(cut: float) -> None:
    tried = [v for v in TYPES["REAL"].beside(cut) if isinstance(v, float)]
    assert all(c_float(value).value == value for value in tried)
    assert c_float(cut).value in tried
    assert min(tried) <= cut <= max(tried)
    assert max(tried) - min(tried) <= abs(cut) * 2**-22
    assert len(set(tried)) > 1


def test_singles_have_no_infinity() -> None:
    assert list(TYPES["REAL"].beside(1e39)) == []


def test_texts_that_look_alike() -> None:
    assert list(twins("Red")) == ["rED", "Red ", " Red"]
    assert list(twins("1 ")) == ["1  ", " 1 ", "1"]
    assert list(twins(1)) == []
    assert list(twins(None)) == []


# ---------------------------------------------------------------- axes


def axis_of(*cuts: float) -> NumberAxis:
    return NumberAxis([*(v for c in cuts for v in doubles_beside(c)), *DOUBLES.always])


@pytest.mark.parametrize("seed", range(40))
def test_a_region_of_numbers_has_the_values_that_satisfy(seed: int) -> None:
    random = Random(seed)
    some = random.sample(CUTS[:-1], random.randint(1, 4))
    axis = axis_of(*some)
    assert axis.doubles == sorted(axis.doubles)
    assert len(axis.values) == len(axis.known) + 2
    for _ in range(10):
        test = replace(random_condition(random, X), feature=0)
        region = axis.where(test)
        truth = [holds(test, X, value) for value in axis.values]
        assert [region.overlaps(axis.at(v)) for v in axis.values] == truth
        assert region.is_empty == (not any(truth))
        both = axis.everything.meet(region)
        assert both == region
        if not region.is_empty:
            check_picks([v for v, t in zip(axis.values, truth, strict=True) if t], axis)


def check_picks(values: list[Value], axis: NumberAxis | CategoryAxis) -> None:
    """Of all values with the same region, only these are picked, and each may be."""
    region = axis.at(values[0])
    for value in values[1:]:
        united = region.unite(axis.at(value))
        if united is None:
            return
        region = united
    dice = Random(1)
    picked = drawn(axis, region, 60 * len(values), dice)
    inside = {_shown(v) for v in axis.values if region.overlaps(axis.at(v))}
    assert picked <= inside
    if len(values) < 8:
        assert picked == inside


def drawn(axis: Axis, region: Region, count: int, dice: Random) -> set[str]:
    """The values of a region that chance chooses."""
    grid = Grid(rule_set(((), "yes"), features=1), Constants())
    grid.axes = [axis]
    rows = RandomRows(grid, dice).in_boxes([((region,), None)] * count)
    return {_shown(value) for (value,) in rows}


def _shown(value: Value) -> str:
    return repr(value)


@pytest.mark.parametrize("feature", FEATURES[1:], ids=lambda f: str(f.name))
def test_a_region_of_categories_has_the_values_that_satisfy(feature: Feature) -> None:
    values = [*feature.categories, None]
    axis = CategoryAxis(feature, [*values, *values])
    assert axis.values == tuple(values)
    random = Random(0)
    for _ in range(20):
        test = random_condition(random, feature)
        region = axis.where(test)
        truth = [holds(test, feature, v) for v in values]
        assert [region.overlaps(axis.at(v)) for v in values] == truth
        if any(truth):
            picked = drawn(axis, region, 60, random)
            true = {_shown(v) for v, t in zip(values, truth, strict=True) if t}
            assert picked <= true
            if len(true) < 6:
                assert picked == true


def test_the_grid_has_the_edges_of_the_model_and_of_the_artefact() -> None:
    rules = rule_set(((at_most(0, 5.0), above(1, inf, True)), "yes"))
    grid = Grid(rules, Constants(numbers=frozenset({7})))
    first, second, third = (axis.values for axis in grid.axes)
    for cut in (5.0, 7.0):
        assert set(doubles_beside(cut)) <= set(first)
    for values in (first, second, third):
        assert {-inf, inf, None} <= set(values)
        assert any(isinstance(v, float) and isnan(v) for v in values)
    assert {v for v in second if isinstance(v, float) and isfinite(v)} == set(
        doubles_beside(7.0)
    )
    alone = Grid(rules, Constants())
    assert set(doubles_beside(0.0)) <= set(alone.axes[2].values)
    whole = Grid(rules, Constants(), PYTHON_INTEGERS)
    assert whole.axes[0].values == (4, 5, 6, 7, None)
    endless = rule_set(((above(1, -inf),), "yes"))  # no integer lies beside it
    found = Grid(endless, Constants(), PYTHON_INTEGERS).axes[1].values
    assert found == (*integers_beside(0.0), None)
    assert nextafter(0.0, 1.0) in alone.axes[1].values
    assert nan not in alone.axes[1].values[:-1]


def test_the_grid_of_categories() -> None:
    body = RuleSet(
        (COLOUR,), ("no", "yes"), (), rule_set(((), "yes"), features=1).default
    )
    grid = Grid(body, Constants(strings=frozenset({"pink"})))
    values = grid.axes[0].values
    assert values[:3] == ("red", "blue", "green")
    assert {"RED", "red ", " red", "pink", "unseen", None} <= set(values)
    dice = Random(0)
    places = [(grid.everything, None)] * 500
    rows = set(RandomRows(grid, dice).in_boxes(places))
    assert rows == {(value,) for value in values}
