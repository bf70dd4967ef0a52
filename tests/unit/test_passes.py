"""Passes by example: a case is a file in `tests/cases/<pass>/`.

A case says in a comment what it shows, declares the features, then gives rules and,
behind `# output`, the rules that the pass makes of them:

    # The higher of two lower bounds stays.
    x: numeric
    size: ordinal S M L
    colour: categorical red green

    R1
        x > 3
        x > 5 or missing
    # output
    R1
        x > 5
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treecompile.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Rule,
    RuleSet,
    ValueType,
)
from treecompile.passes import RULE_PASSES
from treecompile.semantics import members
from treecompile.words import number

CASES = Path(__file__).parent.parent / "cases"
FEATURE = re.compile(r"(\w+): (numeric|ordinal|categorical)((?: \w+)*)")
CONDITION = re.compile(r"    (\w+) (<=|>|in|not in) (.+?)( or missing)?")


def read_features(lines: list[str]) -> tuple[Feature, ...]:
    features = []
    for line in lines:
        match = FEATURE.fullmatch(line)
        assert match, f"not a feature: {line!r}"
        name, kind, categories = match[1], Kind(match[2]), tuple(match[3].split())
        value_type = ValueType.FLOAT if kind is Kind.NUMERIC else ValueType.STR
        features.append(Feature(name, kind, value_type, categories))
    return tuple(features)


def read_condition(line: str, features: tuple[Feature, ...]) -> Condition:
    match = CONDITION.fullmatch(line)
    assert match, f"not a condition: {line!r}"
    where = [feature.name for feature in features].index(match[1])
    value: str | float | tuple[str, ...] = match[3]
    if features[where].kind is Kind.NUMERIC:
        value = float(match[3])
    elif features[where].kind is Kind.CATEGORICAL:
        assert match[3][0] + match[3][-1] == "{}", f"not a set: {line!r}"
        value = tuple(match[3].strip("{}").split())
    return Condition(where, Op(match[2]), value, missing=match[4] is not None)


def read_rules(lines: list[str], features: tuple[Feature, ...]) -> RuleSet:
    counts = ClassCounts((1.0,))
    rules: list[Rule] = []
    for line in lines:
        if not line.startswith(" "):
            rules.append(Rule(line, (), "label", counts, 1.0))
            continue
        last = rules.pop()
        tests = (*last.conditions, read_condition(line, features))
        rules.append(Rule(last.id, tests, "label", counts, 1.0))
    default = Rule("default", (), "label", counts, 0.0)
    return RuleSet(features, ("label",), tuple(rules), default)


def written(rules: RuleSet) -> list[str]:
    lines = []
    for rule in rules.rules:
        lines.append(rule.id)
        for test in rule.conditions:
            feature = rules.features[test.feature]
            if feature.kind is Kind.CATEGORICAL:
                value = "{" + " ".join(map(str, members(test))) + "}"
            elif isinstance(test.value, float):
                value = number(test.value)
            else:
                value = str(test.value)
            missing = " or missing" if test.missing else ""
            lines.append(f"    {feature.name} {test.op} {value}{missing}")
    return lines


@pytest.mark.parametrize(
    "path",
    sorted(CASES.glob("*/*.txt")),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_case(path: Path) -> None:
    given, marker, output = path.read_text(encoding="utf-8").partition("# output\n")
    assert marker, "a case has a line '# output'"
    assert given.startswith("# "), "a case says first what it shows"
    lines = [line for line in given.splitlines() if not line.startswith("#")]
    head = lines.index("")
    features = read_features(lines[:head])
    rules = read_rules(lines[head + 1 :], features)
    by_name = {rule_pass.__name__: rule_pass for rule_pass in RULE_PASSES}
    result = by_name[path.parent.name](rules)
    assert written(result) == output.splitlines()
    assert (result.features, result.labels) == (rules.features, rules.labels)
    assert result.default == rules.default


def test_every_pass_has_cases_and_every_folder_a_pass() -> None:
    names = {rule_pass.__name__ for rule_pass in RULE_PASSES}
    assert {path.parent.name for path in CASES.glob("*/*.txt")} == names
    assert {path.name for path in CASES.iterdir()} == names
