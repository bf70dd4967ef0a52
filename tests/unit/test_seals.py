"""Seals: equal for what means the same, different if a reader would notice."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import inf
from random import Random

import pytest

from tests.support.random_models import random_program
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Program,
    Rule,
    RuleSet,
    ValueType,
)
from treecompile.model.paths import DEFAULT_ID
from treecompile.rules.extract import extract
from treecompile.rules.language import document
from treecompile.rules.language.printer import print_rules
from treecompile.rules.seals import seals

HEAT = Feature("heat", Kind.NUMERIC, ValueType.FLOAT)
WIND = Feature("wind", Kind.CATEGORICAL, ValueType.STR, ("calm", "storm"))
SIZE = Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L"))
COUNTS = ClassCounts((2.0, 1.0))


def warm(over: float = 20.0, *, missing: bool = False) -> Condition:
    return Condition(0, Op.GT, over, missing)


def listed(*conditions: Condition, value: str = "yes", id: str = "R1") -> Program:
    default = Rule(DEFAULT_ID, (), "no", COUNTS, 3.0)
    rule = Rule(id, conditions, value, COUNTS, 3.0)
    body = RuleSet((HEAT, WIND, SIZE), ("no", "yes"), (rule,), default)
    return Program("play", "c45", body)


def seal(program: Program, rule: str = "R1") -> str:
    return seals(program)[rule]


CALM = Condition(1, Op.IN, ("calm",), missing=False)
SMALL = Condition(2, Op.LE, "S", missing=False)


def test_a_seal_has_sixteen_digits_and_the_default_has_one() -> None:
    found = seals(listed(warm()))
    assert list(found) == ["R1", DEFAULT_ID]
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in found.values())


def test_a_seal_is_the_same_in_every_release() -> None:
    text = (
        '["heat", ">", 20.0, false]\n["wind", "in", ["calm"], false]\n["play", "yes"]'
    )
    expected = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert seal(listed(warm(), CALM)) == expected


def test_zero_has_one_sign() -> None:
    assert seal(listed(warm(-0.0))) == seal(listed(warm(0.0)))


@pytest.mark.parametrize(
    "same",
    [
        listed(CALM, warm()),  # the order of the conditions
        listed(warm(3.0), CALM, warm()),  # a test that the other one implies
        listed(warm(), Condition(1, Op.IN, ("calm", "calm"), missing=False)),
        replace(listed(warm(), CALM), algorithm="rules", na_values=("?",)),
    ],
)
def test_what_means_the_same_has_the_same_seal(same: Program) -> None:
    assert seal(same) == seal(listed(warm(), CALM))


def test_ids_places_and_counts_do_not_matter() -> None:
    program = listed(warm(), CALM)
    assert isinstance(program.body, RuleSet)
    (rule,) = program.body.rules
    other = Rule("R1", (SMALL,), "no", COUNTS, 1.0)
    moved = replace(rule, id="R7", stats=ClassCounts((9.0, 9.0)), weight=0.0)
    body = replace(program.body, rules=(other, moved))
    assert seal(replace(program, body=body), "R7") == seal(program)


@pytest.mark.parametrize(
    "other",
    [
        listed(warm(20.000000000000004), CALM),
        listed(warm(missing=True), CALM),
        listed(warm(inf), CALM),
        listed(warm()),
        listed(CALM),
        listed(warm(), CALM, SMALL),
        listed(warm(), Condition(1, Op.NOT_IN, ("storm",), missing=False)),
        listed(warm(), CALM, value="no"),
        replace(listed(warm(), CALM), target="Play"),
    ],
)
def test_what_a_reader_would_notice_changes_the_seal(other: Program) -> None:
    assert "R1" not in seals(other) or seal(other) != seal(listed(warm(), CALM))


def test_labels_of_different_types_have_different_seals() -> None:
    found = set()
    for label in (1, 1.0, True, "1"):
        default = Rule(DEFAULT_ID, (), label, ClassCounts((1.0,)), 1.0)
        body = RuleSet((), (label,), (), default)
        found |= set(seals(Program("x", "c45", body)).values())
    assert len(found) == 4


def test_the_order_of_an_ordinal_matters() -> None:
    program = listed(SMALL)
    assert isinstance(program.body, RuleSet)
    turned = replace(SIZE, categories=("M", "S", "L"))
    body = replace(program.body, features=(HEAT, WIND, turned))
    assert seal(replace(program, body=body)) != seal(program)


@pytest.mark.parametrize("seed", range(60))
def test_a_tree_its_rules_and_its_text_have_the_same_seals(seed: int) -> None:
    program = random_program(Random(seed))
    found = seals(program)
    assert seals(replace(program, body=extract(program.body))) == found
    compiled = document.loads(print_rules(program)).program
    assert seals(compiled) == found
