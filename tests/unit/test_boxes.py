"""What a search through rules costs is counted, and what it cannot hold is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.rule_lists import at_most, rule_set
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition, Feature, Kind, Op, RuleSet, ValueType
from treecompile.regions import compact
from treecompile.regions.boxes import SearchBudget
from treecompile.regions.compact import is_searchable


def categorical(count: int) -> Feature:
    names = tuple(map(str, range(count)))
    return Feature(f"of {count}", Kind.CATEGORICAL, ValueType.STR, names)


@pytest.mark.parametrize("steps", [0, -1])
def test_a_search_without_a_step_is_refused(steps: int) -> None:
    with pytest.raises(OptionError, match=f"budget={steps}: expected 1 or more"):
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
