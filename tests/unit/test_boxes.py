"""What a search through rules costs is counted, and what it cannot hold is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rule_lists import at_most, rule_set
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition, Feature, Kind, Op, RuleSet, ValueType
from treecompile.regions import boxes, compact
from treecompile.regions.boxes import COLUMN, WIDE, Boxes, SearchBudget
from treecompile.regions.compact import is_searchable
from treecompile.regions.space import Space

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
TESTS = [(Condition(n, Op.IN, ("0",), False),) for n in range(2)]


def categorical(count: int) -> Feature:
    names = tuple(map(str, range(count)))
    return Feature(f"of {count}", Kind.CATEGORICAL, ValueType.STR, names)


@pytest.mark.parametrize(
    ("counts", "width"),
    [
        ((2, 3), 1),
        ((2, WIDE - 1), 1),
        ((2, WIDE), 2),
        ((WIDE, 2), 2),
        ((3 * WIDE, WIDE), 4),
    ],
)
def test_the_work_of_a_split(counts: tuple[int, int], width: int) -> None:
    """It is counted in rules; the more categories, the longer one takes."""
    found = Boxes(Space(tuple(map(categorical, counts))), TESTS)
    assert found.work(found.start()) == 3 * width + 2 * COLUMN


def test_work_is_counted_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Boxes(Space((X,)), [(at_most(0, 5.0),)])
    problem = found.start()
    work = found.work(problem)
    for rules, steps in ((work + 1, 1), (work, 2), (work // 2, 3), (10, 4)):
        monkeypatch.setattr(boxes, "RULES", rules)
        assert found.steps(problem) == steps


@pytest.mark.parametrize("steps", [0, -1])
def test_a_search_without_a_step_is_refused(steps: int) -> None:
    with pytest.raises(OptionError, match=f"--budget {steps}: expected 1 or more"):
        SearchBudget(steps)
    assert SearchBudget(1).spend()
    assert not SearchBudget(1).spend(2)


# ---------------------------------------------------------------- memory


def test_the_regions_of_all_rules_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = (at_most(0, 5.0), at_most(1, 5.0))
    rules = rule_set((tests, "yes"), (tests[:1], "no"), ((), "yes"))
    for most, is_enough in ((6, True), (5, False)):
        monkeypatch.setattr(compact, "MOST_REGIONS", most)
        assert is_searchable(rules) is is_enough


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.ORDINAL])
def test_each_set_of_categories_is_counted_once(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit for each category; numbers and ranks have none."""
    feature = replace(categorical(80), kind=kind)
    different = [(Condition(0, Op.IN, (name,), False),) for name in ("1", "2", "2")]
    rules: RuleSet = replace(
        rule_set(*((tests, "yes") for tests in different)), features=(feature,)
    )
    monkeypatch.setattr(compact, "MOST_SET_BYTES", 20)
    assert is_searchable(rules)
    monkeypatch.setattr(compact, "MOST_SET_BYTES", 19)
    assert is_searchable(rules) is (kind is Kind.ORDINAL)
