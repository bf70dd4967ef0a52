"""Rules against what c4.5rules of the reference program, release 8, printed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from tests.support.c45_reference import CF, SETS
from tests.support.reference import read_table, results
from treecompile.api.model import Model
from treecompile.learning.options import LearnOptions
from treecompile.learning.training import learn
from treecompile.measure.statistics import added_errors, figures
from treecompile.model.ir import ClassCounts, Condition, Feature, Op, Rule, RuleSet
from treecompile.model.semantics import members
from treecompile.tables.options import DataOptions

COUNTS = {"golf": 4, "labor-neg": 4, "vote": 7, "hypo": 8, "monk1": 12}


@cache
def pruned(name: str) -> Model:
    given = read_table(name)
    columns = DataOptions("class", task="classify", labels=tuple(given.labels))
    options = LearnOptions(algorithm="c45", prune="none")
    tree = Model(learn(given.train, columns, options).program)
    return tree.rules().prune(training=given.train)


def rules_of(model: Model) -> RuleSet:
    assert isinstance(model.program.body, RuleSet)
    return model.program.body


def shown(condition: Condition, feature: Feature) -> tuple[str, str, object]:
    if condition.op is Op.IN:
        (value,) = members(condition)
        return feature.name, "in", [value]
    assert isinstance(condition.value, float)
    return feature.name, str(condition.op), condition.value


def accuracy(rule: Rule, labels: tuple[object, ...]) -> float:
    """Per cent of the cases, by the pessimistic error."""
    assert isinstance(rule.stats, ClassCounts)
    cases = rule.stats.weight
    errors = cases - rule.stats.weights[labels.index(rule.value)]
    added = float(added_errors(np.array(cases), np.array(errors), CF))
    return float(f"{100 * (1 - (errors + added) / cases):.1f}")


every_set = pytest.mark.parametrize("name", SETS)


@every_set
def test_the_rules_are_as_printed(name: str) -> None:
    printed = results("c45_rules")[name]
    assert len(printed["rules"]) == COUNTS[name]
    expected = [
        (
            sorted((t["attribute"], t["op"], t["value"]) for t in rule["tests"]),
            rule["class"],
            rule["accuracy"],
        )
        for rule in printed["rules"]
        if not rule["dropped"]
    ]
    body = rules_of(pruned(name))
    assert body.default.value == printed["default"]
    found = [
        (
            sorted(shown(c, body.features[c.feature]) for c in rule.conditions),
            rule.value,
            accuracy(rule, body.labels),
        )
        for rule in body.rules
    ]
    assert found == expected
    numbers = range(1, len(expected) + 1)
    assert [rule.id for rule in body.rules] == [f"R{number}" for number in numbers]
    assert not any(c.missing for rule in body.rules for c in rule.conditions)


@every_set
def test_errors_and_uses_are_as_printed(name: str) -> None:
    """In all, and for each rule that decides a case."""
    printed, given, model = results("c45_rules")[name], read_table(name), pruned(name)
    parts = [(given.train, printed["training"])]
    assert (given.test is None) == (printed["test"] is None)
    if given.test is not None:
        parts.append((given.test, printed["test"]))
    for frame, expected in parts:
        wrong = int((model.predict(frame) != frame["class"]).sum())
        assert wrong == expected["errors"]
        counted = model.evaluate(frame).tallies[:-1]
        found = [(t.decided, int(t.errors)) for t in counted if t.decided]
        assert found == [(rule["used"], rule["wrong"]) for rule in expected["rules"]]


def test_golf_is_as_in_the_text_book() -> None:
    body = rules_of(pruned("golf"))
    assert [accuracy(rule, body.labels) for rule in body.rules] == [
        *(70.7, 63.0, 63.0, 50.0)
    ]
    assert body.default.value == "Play"


def test_a_missing_value_meets_no_condition() -> None:
    model = pruned("golf")
    nothing = pd.DataFrame(
        {f.name: [None] for f in rules_of(model).features}, dtype=object
    )
    assert model.predict(nothing).tolist() == ["Play"]


def test_what_is_left_when_a_rule_is_reached() -> None:
    model = pruned("golf")
    assert model.program.training is not None
    found = figures(model.program.body, model.program.training.rules, (9, 5))
    assert [entry.left for entry in found] == [14, 10, 7, 4, 2]
    assert found[0].lift == pytest.approx(14 / 9)
