"""Runs the steps of a decision as the guard clauses that they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.emit.steps import Step
from treecompile.model.ir import Feature, Row
from treecompile.model.semantics import holds


def run(steps: Sequence[Step], features: Sequence[Feature], row: Row) -> int:
    """The outcome for a row."""
    return run_counting(steps, features, row)[0]


def run_counting(
    steps: Sequence[Step], features: Sequence[Feature], row: Row
) -> tuple[int, int]:
    """The outcome for a row, and the number of tests up to it."""
    position, depth, tests = 0, 0, 0
    while True:
        step = steps[position]
        assert step.depth <= depth + 1, "a block opens one level at a time"
        if step.depth == depth:
            passed = True
            for test in step.tests:
                tests += 1
                if not holds(test, features[test.feature], row[test.feature]):
                    passed = False
                    break
            if passed and step.outcome is not None:
                return step.outcome, tests
            depth += passed
        position += 1  # over a nested block whose guard does not hold
        while steps[position].depth > depth:
            position += 1
        assert steps[position].depth == depth, "a block ends with a step without tests"
