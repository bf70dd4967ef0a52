"""Rule sets: those of a model, or over numeric features, written out or random."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Program,
    Rule,
    RuleSet,
    Tree,
    ValueType,
)
from treecompile.rules.extract import extract
from treecompile.rules.passes import apply_rule_passes

STATS = ClassCounts((1.0, 1.0))


def flatten(program: Program) -> Program:
    """The same decisions as an ordered list of simplified rules."""
    body = program.body
    rules = extract(body) if isinstance(body, Tree) else body
    return replace(program, body=apply_rule_passes(rules))


def rule_set(*rules: tuple[tuple[Condition, ...], str], features: int = 3) -> RuleSet:
    return RuleSet(
        tuple(Feature(f"x{i}", Kind.NUMERIC, ValueType.FLOAT) for i in range(features)),
        ("no", "yes"),
        tuple(
            Rule(f"R{number}", tests, value, STATS, 2.0)
            for number, (tests, value) in enumerate(rules, start=1)
        ),
        Rule("default", (), "no", STATS, 0.0),
    )


def at_most(feature: int, edge: float, missing: bool = False) -> Condition:
    return Condition(feature, Op.LE, edge, missing)


def above(feature: int, edge: float, missing: bool = False) -> Condition:
    return Condition(feature, Op.GT, edge, missing)


def random_list(count: int, features: int, each: int) -> RuleSet:
    """Unrelated random rules: no small tree is equivalent to them."""
    dice = Random(7)
    rules = []
    for _ in range(count):
        tests = tuple(
            dice.choice((at_most, above))(position, dice.random(), dice.random() < 0.5)
            for position in dice.sample(range(features), each)
        )
        rules.append((tests, dice.choice(("no", "yes"))))
    return rule_set(*rules, features=features)
