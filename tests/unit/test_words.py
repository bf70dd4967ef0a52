"""Phrases for people: exact, on one line, and clear about missing values."""

from __future__ import annotations

from math import inf

import pytest

from treecompile.model import words
from treecompile.model.ir import (
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Op,
    Program,
    Rule,
    RuleSet,
    Stats,
    Tree,
    ValueType,
)
from treecompile.rules.language.document import loads

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "green", "blue"))
ONLY = Feature("only", Kind.CATEGORICAL, ValueType.STR, ("red",))
FLAG = Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
SIZE = Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L"))


def number(op: Op, value: float, missing: bool = False) -> Condition:
    return Condition(0, op, value, missing)


def some(op: Op, *values: Category, missing: bool = False) -> Condition:
    return Condition(0, op, values, missing)


@pytest.mark.parametrize(
    ("feature", "conditions", "expected"),
    [
        (X, [number(Op.LE, 5.0)], "x <= 5"),
        (X, [number(Op.LE, 5.0, True)], "x <= 5 (or missing)"),
        (X, [number(Op.GT, 0.1)], "x > 0.1"),
        (X, [number(Op.GT, 5e-324, True)], "x > 5e-324 (or missing)"),
        (X, [number(Op.GT, -1.5), number(Op.LE, 1e22)], "-1.5 < x <= 1e+22"),
        (X, [number(Op.GT, inf, True)], "x is missing"),
        (X, [number(Op.LE, inf)], "x is known"),
        (
            X,
            [number(Op.LE, 9.0, True), number(Op.GT, 1.0, True)],
            "1 < x <= 9 (or missing)",
        ),
        (SIZE, [Condition(0, Op.LE, "M", False)], "size <= M"),
        (
            SIZE,
            [Condition(0, Op.GT, "S", True)],
            "size > S (or any other, or missing)",
        ),
        (
            SIZE,
            [Condition(0, Op.GT, "S", False), Condition(0, Op.LE, "L", False)],
            "S < size <= L",
        ),
        (COLOUR, [some(Op.IN, "red")], "colour = red"),
        (COLOUR, [some(Op.IN, "red", missing=True)], "colour = red (or missing)"),
        (COLOUR, [some(Op.IN, "red", "blue")], "colour in {red, blue}"),
        (COLOUR, [some(Op.IN, missing=True)], "colour is missing"),
        (COLOUR, [some(Op.NOT_IN)], "colour is known"),
        (COLOUR, [some(Op.NOT_IN, missing=True)], "colour not in {} (or missing)"),
        (COLOUR, [some(Op.NOT_IN, "red")], "colour != red"),
        (COLOUR, [some(Op.NOT_IN, "red", missing=True)], "colour != red (or missing)"),
        (COLOUR, [some(Op.NOT_IN, "red", "blue")], "colour = green (or any other)"),
        (
            COLOUR,
            [some(Op.NOT_IN, "red", "blue", missing=True)],
            "colour = green (or any other, or missing)",
        ),
        (
            COLOUR,
            [some(Op.NOT_IN, "red", "green", "blue")],
            "colour not in {red, green, blue}",
        ),
        (
            COLOUR,
            [some(Op.NOT_IN, "red", "green", "blue", missing=True)],
            "colour not in {red, green, blue} (or missing)",
        ),
        (ONLY, [some(Op.NOT_IN, "red")], "only != red"),
        (X, [number(Op.GT, 3.0), number(Op.GT, 5.0)], "x > 3 and x > 5"),
        (
            X,
            [number(Op.GT, 1.0), number(Op.GT, 2.0), number(Op.LE, 2.5)],
            "x > 1 and x > 2 and x <= 2.5",
        ),
        (X, [number(Op.LE, inf), number(Op.GT, 3.0)], "x is known and x > 3"),
        (
            X,
            [number(Op.GT, 1.0, True), number(Op.LE, 9.0)],
            "x > 1 (or missing) and x <= 9",
        ),
        (
            COLOUR,
            [some(Op.IN, "red", "blue"), some(Op.NOT_IN, "red")],
            "colour in {red, blue} and colour != red",
        ),
        (FLAG, [some(Op.IN, True)], "flag = true"),
        (FLAG, [some(Op.NOT_IN, True)], "flag = false (or any other)"),
    ],
)
def test_phrases(feature: Feature, conditions: list[Condition], expected: str) -> None:
    assert words.phrase(conditions, feature) == expected


def test_what_never_holds_does_not_sound_as_if_it_did() -> None:
    never = words.phrase([some(Op.IN)], COLOUR)
    unseen = words.phrase([some(Op.NOT_IN, "red", "green", "blue")], COLOUR)
    assert never != unseen


def test_unlike_conditions_never_read_alike() -> None:
    for feature in (COLOUR, ONLY):
        subsets: list[tuple[Category, ...]] = [()]
        for category in feature.categories:
            subsets += [(*subset, category) for subset in subsets]
        tests = [
            some(op, *subset, missing=flag)
            for op in (Op.IN, Op.NOT_IN)
            for subset in subsets
            for flag in (False, True)
        ]
        phrases = [words.phrase([test], feature) for test in tests]
        assert len(set(phrases)) == len(tests)


@pytest.mark.parametrize(
    ("stats", "weight", "answer", "expected"),
    [
        (ClassCounts((4.0, 1.0)), 5.0, "no", "4 of 5 cases"),
        (ClassCounts((0.0, 1.0)), 1.0, "yes", "1 of 1 case"),
        (ClassCounts((4.0, 1.0)), 5.0, "yes", "1 of 5 cases"),
        (ClassCounts((2.25, 0.5)), 2.75, "no", "2.2 of 2.8 cases"),
        (ClassCounts((4.0, 1.0)), 0.0, "no", "no case"),
        (Moments(12.0, 3.0, 1.08), 12.0, 3.0, "12 cases, sd 0.3"),
        (Moments(12.0, 3.0, None), 12.0, 3.0, "12 cases"),
        (Moments(1.0, 3.0, 0.0), 1.0, 3.0, "1 case, sd 0"),
        (Moments(3.0, 3.0, 1.0), 0.0, 3.0, "no case"),
    ],
)
def test_evidence(stats: Stats, weight: float, answer: Label, expected: str) -> None:
    labels = ("no", "yes") if isinstance(stats, ClassCounts) else ()
    tree = Tree((), labels, (Leaf(answer, stats, weight),))
    assert words.evidence_by_id(Program("play", "cart", tree))["R1"] == expected


def test_a_whole_rule() -> None:
    counts = ClassCounts((2.0, 0.0))
    wind = (
        Condition(1, Op.IN, ("red",), False),
        number(Op.GT, 1.0),
        number(Op.LE, 2.0),
    )
    rule = Rule("R3", wind, "no", counts, 2.0)
    default = Rule("default", (), "yes", ClassCounts((1.0, 1.0)), 0.0)
    rules = RuleSet((X, COLOUR), ("no", "yes"), (rule,), default)
    assert (
        words.sentence(rule, rules.features, "2 of 2")
        == "R3: if colour = red and 1 < x <= 2 then no [2 of 2]"
    )
    assert (
        words.sentence(default, rules.features, "no case")
        == "default: otherwise yes [no case]"
    )


@pytest.mark.parametrize(
    ("answer", "labels", "weights", "expected"),
    [
        ("yes", ("no", "yes"), (0.0, 4.0), "4 of 4"),
        ("no", ("no", "yes"), (3.0, 2.0), "3 of 5: 2 yes"),
        ("no", ("no", "yes"), (0.0, 2.0), "0 of 2: 2 yes"),
        ("b", ("a", "b", "or"), (0.25, 2.0, 1.0), '2 b, 0.25 a, 1 "or"'),
        (0, (0, 1, 2), (5.0, 1.0, 2.0), "5 of 8: 1 is 1, 2 are 2"),
        (True, (False, True), (1.0, 5.0), "5 of 6: 1 false"),
        ("b", ("a", "b"), (0.5, 0.0), "0.5 a"),
        ("a", ("a", "b"), (2.0**53, 0.0), "9007199254740992 a"),
    ],
)
def test_counts_behind_an_answer(
    answer: Label, labels: tuple[Label, ...], weights: tuple[float, ...], expected: str
) -> None:
    assert words.counts(answer, labels, weights) == expected
    declared = ", ".join(map(words.literal, labels))
    said = f"{words.shown(answer)} [{expected}]"
    body = loads(f"predict y: {declared} always {said}").body
    assert isinstance(body, RuleSet)
    assert body.rules[0].stats == ClassCounts(weights)
