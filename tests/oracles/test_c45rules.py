"""c4.5rules against what the reference program printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest

from tests.oracles.c45_reference import CF, PRINTED, Problem, read_problem
from treecompile.api import Model
from treecompile.data import DataOptions
from treecompile.ir import ClassCounts, Condition, Feature, Op, Rule, RuleSet
from treecompile.learn_options import LearnOptions
from treecompile.learners.c45_errors import added_errors
from treecompile.rule_statistics import figures
from treecompile.semantics import members
from treecompile.training import learn
from treecompile.words import number

pytestmark = pytest.mark.skipif(
    not PRINTED.exists(), reason="the reference outputs are not here"
)

SETS = {"golf": 4, "labor-neg": 4, "vote": 7, "hypo": 8, "monk1": 12}
RULE = re.compile(
    r"^Rule (\d+):\n((?:    \t.*\n)*)\t->  class (.*)  \[([\d.]+)%\]$", re.MULTILINE
)
LINE = re.compile(r"^ +(\d+) +\d+ +[\d.]+% +(\d+) +(\d+) \(.*\)", re.MULTILINE)


@dataclass(frozen=True)
class Printed:
    number: str
    tests: tuple[str, ...]
    label: str
    accuracy: str  # per cent, by the pessimistic error


def read_printed(name: str) -> tuple[str, list[Printed], str]:
    """The whole text, the rules as listed, and the default."""
    text = (PRINTED / f"{name}.rules.txt").read_text("latin-1")
    listed = [
        Printed(n, tuple(line.strip() for line in tests.splitlines()), label, share)
        for n, tests, label, share in RULE.findall(text)
    ]
    (default,) = re.findall(r"^Default class: (.*)$", text, re.MULTILINE)
    return text, listed, default


@cache
def problem(name: str) -> Problem:
    return read_problem(name)


@cache
def pruned(name: str) -> Model:
    given = problem(name)
    columns = DataOptions("class", task="classify", labels=tuple(given.labels))
    options = LearnOptions(algorithm="c45", prune="none")
    tree = Model(learn(given.train, columns, options).program)
    return tree.rules().prune(training=given.train)


def rules_of(model: Model) -> RuleSet:
    assert isinstance(model.program.body, RuleSet)
    return model.program.body


def shown(condition: Condition, feature: Feature) -> str:
    if condition.op is Op.IN:
        (value,) = members(condition)
        return f"{feature.name} = {value}"
    assert isinstance(condition.value, float)
    return f"{feature.name} {condition.op} {number(condition.value)}"


def accuracy(rule: Rule, labels: tuple[object, ...]) -> str:
    assert isinstance(rule.stats, ClassCounts)
    cases = rule.stats.weight
    errors = cases - rule.stats.weights[labels.index(rule.value)]
    added = float(added_errors(np.array(cases), np.array(errors), CF))
    return f"{100 * (1 - (errors + added) / cases):.1f}"


every_set = pytest.mark.parametrize("name", SETS)


@every_set
def test_the_rules_are_as_printed(name: str) -> None:
    text, listed, default = read_printed(name)
    assert len(listed) == SETS[name]
    dropped = re.findall(r"^Drop rule (\d+)$", text, re.MULTILINE)
    expected = [rule for rule in listed if rule.number not in dropped]
    body = rules_of(pruned(name))
    assert body.default.value == default
    found = [
        (
            sorted(shown(c, body.features[c.feature]) for c in rule.conditions),
            rule.value,
            accuracy(rule, body.labels),
        )
        for rule in body.rules
    ]
    assert found == [(sorted(r.tests), r.label, r.accuracy) for r in expected]
    assert [rule.id for rule in body.rules] == [
        f"R{place}" for place in range(1, len(expected) + 1)
    ]
    assert not any(c.missing for rule in body.rules for c in rule.conditions)


@every_set
def test_errors_and_uses_are_as_printed(name: str) -> None:
    """Per rule as well: how many cases it decides, and how many of these wrongly."""
    text, _, _ = read_printed(name)
    errors = [int(n) for n in re.findall(r"^Tested \d+, errors (\d+)", text, re.M)]
    parts = text.split("Evaluation on ")[1:]
    model, given = pruned(name), problem(name)
    frames = [given.train] + ([] if given.test is None else [given.test])
    assert len(errors) == len(frames) == len(parts)
    for frame, wrong, part in zip(frames, errors, parts, strict=True):
        assert int((model.predict(frame) != frame["class"]).sum()) == wrong
        counted = model.evaluate(frame).tallies[:-1]
        found = [(t.decided, int(t.errors)) for t in counted if t.decided]
        # Where a rule was dropped, the last table counts.
        lines = LINE.findall(part.rpartition("Drop rule")[2])
        assert found == [(int(used), int(bad)) for _, used, bad in lines]


def test_golf_is_as_in_the_text_book() -> None:
    body = rules_of(pruned("golf"))
    assert [accuracy(rule, body.labels) for rule in body.rules] == [
        *("70.7", "63.0", "63.0", "50.0")
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
