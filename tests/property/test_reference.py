"""What `verify` expects of a model is what the model answers."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_row, random_rules
from treecompile.model.semantics import decider
from treecompile.verify.reference import RuleFinder


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_rules_are_found_as_the_semantics_finds_them(seed: int) -> None:
    random = Random(seed)
    rules = random_rules(random)
    finder = RuleFinder(rules)
    for _ in range(30):
        row = random_row(random, rules)
        assert finder.first(row) == decider(rules, row)
