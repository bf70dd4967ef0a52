"""Small models whose answers are obvious, for tests of the artefacts."""

from __future__ import annotations

import types
from pathlib import Path

from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate

ROOT = Path(__file__).resolve().parents[2]
TENNIS = ROOT / "examples" / "tennis" / "tennis.csv"

NUMBER = Feature("number", Kind.NUMERIC, ValueType.FLOAT)
TEXT = Feature("text", Kind.CATEGORICAL, ValueType.STR, ("a", "b", "z"))
CODE = Feature("code", Kind.CATEGORICAL, ValueType.INT, (1, 2, 9))
FLAG = Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
GRADE = Feature("grade", Kind.ORDINAL, ValueType.STR, ("low", "mid", "high"))


def chain(
    features: tuple[Feature, ...],
    tests: tuple[Condition, ...],
    labels: tuple[Label, ...],
) -> Program:
    """The first test that holds decides: test n gives label n; if none holds, the last.

    If there are more tests than labels, the labels are used again from the first.
    """
    nodes: list[Node] = []
    for place, test in enumerate(tests):
        stats = leaf(labels, place).stats
        yes, no = len(nodes) + 1, len(nodes) + 2
        branches = (Branch(test, yes, 3.0), Branch(negate(test), no, 4.0))
        nodes += [Split(branches, stats, 0.5), leaf(labels, place)]
    nodes.append(leaf(labels, len(tests)))
    return Program("answer", "by hand", Tree(features, labels, tuple(nodes)))


def leaf(labels: tuple[Label, ...], place: int) -> Leaf:
    place %= len(labels)
    weights = tuple(3.0 if other == place else 0.0 for other in range(len(labels)))
    if place == 0:
        weights = (3.0, *(1.0 for _ in labels[1:2]), *weights[2:])
    return Leaf(labels[place], ClassCounts(weights), sum(weights))


def numeric() -> Program:
    """x <= 0.1 is "low", then y <= 2.5 (or missing) is "mid", the rest "high"."""
    x, y = (Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "xy")
    tests = (
        Condition(0, Op.LE, 0.1, missing=False),
        Condition(1, Op.LE, 2.5, missing=True),
    )
    return chain((x, y), tests, ("low", "mid", "high"))


def every_type() -> Program:
    """One test of each kind; a missing value passes the test of `number` only."""
    return chain(
        (NUMBER, TEXT, CODE, FLAG, GRADE),
        (
            Condition(0, Op.LE, 2.5, missing=True),
            Condition(1, Op.IN, ("a", "b"), missing=False),
            Condition(2, Op.IN, (1, 2), missing=False),
            Condition(3, Op.IN, (True,), missing=False),
            Condition(4, Op.LE, "mid", missing=False),
        ),
        ("number", "text", "code", "flag", "grade", "rest"),
    )


def stump(threshold: float, missing: bool = False) -> Program:
    """`x <= threshold` is "low", anything else "high"."""
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, threshold, missing)
    return chain((x,), (test,), ("low", "high"))


def balanced(depth: int) -> Program:
    """A full binary tree over one number: x from 0 to 2**depth - 1 is its own answer.

    Its thresholds lie halfway between the whole numbers, and a missing x goes right.
    """
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    size = 2**depth
    nodes: list[Node] = []
    for position in range(1, size):  # numbered as in a heap, the root being 1
        level = position.bit_length() - 1
        width = size >> level
        middle = (position - (1 << level)) * width + width // 2
        when = Condition(0, Op.LE, middle - 0.5, missing=False)
        low = Branch(when, 2 * position - 1, 1.0)
        high = Branch(negate(when), 2 * position, 1.0)
        nodes.append(Split((low, high), Moments(2.0, 0.5, 0.5), 0.5))
    nodes += [Leaf(float(n), Moments(1.0, float(n), 0.0), 1.0) for n in range(size)]
    return Program("itself", "by hand", Tree((x,), (), tuple(nodes)))


def module_of(text: str) -> types.ModuleType:
    """Load the text of a generated module."""
    module = types.ModuleType("generated")
    exec(compile(text, "generated.py", "exec"), module.__dict__)
    return module
