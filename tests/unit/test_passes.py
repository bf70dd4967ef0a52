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

A rule may say what it answers and rests on: `R1 -> b 1 3` answers b, with one case of
a and three of b; `borrowed` behind it means that these are not its own cases. Bare, a
rule answers a with one case of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Rule,
    RuleSet,
    ValueType,
)
from treecompile.model.semantics import members
from treecompile.model.words import number
from treecompile.rules.passes import PRUNED_PASSES, RULE_PASSES, SIMPLIFYING_PASSES

BY_NAME = {
    rule_pass.__name__: rule_pass
    for rule_pass in (*RULE_PASSES, *SIMPLIFYING_PASSES, *PRUNED_PASSES)
}
CASES = Path(__file__).parent.parent / "cases"
FEATURE = re.compile(r"(\w+): (numeric|ordinal|categorical|boolean)((?: \w+)*)")
RULE = re.compile(r"(\w+)(?: -> (a|b) (\d+) (\d+)( borrowed)?)?")
LABELS = ("a", "b")
BOOLEANS = {"false": False, "true": True}
CONDITION = re.compile(r"    (\w+) (<=|>|in|not in) (.+?)( or missing)?")


def read_features(lines: list[str]) -> tuple[Feature, ...]:
    features = []
    for line in lines:
        match = FEATURE.fullmatch(line)
        assert match, f"not a feature: {line!r}"
        name, categories = match[1], tuple(match[3].split())
        if match[2] == "boolean":
            booleans = tuple(BOOLEANS[category] for category in categories)
            features.append(Feature(name, Kind.CATEGORICAL, ValueType.BOOL, booleans))
            continue
        kind = Kind(match[2])
        value_type = ValueType.FLOAT if kind is Kind.NUMERIC else ValueType.STR
        features.append(Feature(name, kind, value_type, categories))
    return tuple(features)


def read_condition(line: str, features: tuple[Feature, ...]) -> Condition:
    match = CONDITION.fullmatch(line)
    assert match, f"not a condition: {line!r}"
    where = [feature.name for feature in features].index(match[1])
    value: str | float | tuple[str | bool, ...] = match[3]
    if features[where].kind is Kind.NUMERIC:
        value = float(match[3])
    elif features[where].kind is Kind.CATEGORICAL:
        assert match[3][0] + match[3][-1] == "{}", f"not a set: {line!r}"
        value = tuple(match[3].strip("{}").split())
        if features[where].type is ValueType.BOOL:
            value = tuple(BOOLEANS[str(item)] for item in value)
    return Condition(where, Op(match[2]), value, missing=match[4] is not None)


def read_rule(line: str) -> Rule:
    match = RULE.fullmatch(line)
    assert match, f"not a rule: {line!r}"
    if match[2] is None:
        return Rule(line, (), "a", ClassCounts((1.0, 0.0)), 1.0)
    counts = ClassCounts((float(match[3]), float(match[4])))
    return Rule(match[1], (), match[2], counts, 0.0 if match[5] else counts.weight)


def read_rules(lines: list[str], features: tuple[Feature, ...]) -> RuleSet:
    rules: list[Rule] = []
    for line in lines:
        if not line.startswith(" "):
            rules.append(read_rule(line))
            continue
        tests = (*rules[-1].conditions, read_condition(line, features))
        rules[-1] = replace(rules[-1], conditions=tests)
    default = Rule("default", (), "a", ClassCounts((1.0, 0.0)), 0.0)
    return RuleSet(features, LABELS, tuple(rules), default)


def headline(rule: Rule) -> str:
    assert isinstance(rule.stats, ClassCounts)
    if (rule.value, rule.stats.weights, rule.weight) == ("a", (1.0, 0.0), 1.0):
        return rule.id
    counts = " ".join(map(number, rule.stats.weights))
    return f"{rule.id} -> {rule.value} {counts}{'' if rule.weight else ' borrowed'}"


def value_text(category: object) -> str:
    text = str(category)
    return text.lower() if isinstance(category, bool) else text


def written(rules: RuleSet) -> list[str]:
    lines = []
    for rule in rules.rules:
        lines.append(headline(rule))
        for test in rule.conditions:
            feature = rules.features[test.feature]
            if feature.kind is Kind.CATEGORICAL:
                value = (
                    "{"
                    + " ".join(
                        str(c).lower() if isinstance(c, bool) else str(c)
                        for c in members(test)
                    )
                    + "}"
                )
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
    result = BY_NAME[path.parent.name](rules)
    assert written(result) == output.splitlines()
    assert (result.features, result.labels) == (rules.features, rules.labels)
    assert result.default == rules.default


def test_every_pass_has_cases_and_every_folder_a_pass() -> None:
    names = set(BY_NAME)
    assert {path.parent.name for path in CASES.glob("*/*.txt")} == names
    assert {path.name for path in CASES.iterdir()} == {*names, "fuzz"}
