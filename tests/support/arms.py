"""Runs the arms of a decision as the guard clauses that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treecompile.emit.lower import Arm, ArmTest
from treecompile.model.ir import Row, Rule, Value

FORMS: dict[str, Callable[[Any, Any], bool]] = {  # for a value that is not missing
    "at_most": lambda x, values: x <= values[0],
    "above": lambda x, values: x > values[0],
    "within": lambda x, values: x in values,
    "without": lambda x, values: x not in values,
    "missing": lambda x, values: False,
    "known": lambda x, values: True,
    "always": lambda x, values: True,
    "never": lambda x, values: False,
}


def passes(test: ArmTest, value: Value) -> bool:
    if value is None or value != value:
        return test.form.endswith("missing") or test.form == "always"
    return FORMS[test.form.removesuffix("_or_missing")](value, test.values)


def run(arms: Sequence[Arm], row: Row) -> tuple[Rule, ...]:
    """The rules that answer for a row."""
    return run_tracing(arms, row)[1]


def run_tracing(
    arms: Sequence[Arm], row: Row
) -> tuple[list[ArmTest], tuple[Rule, ...]]:
    """The tests that a row comes to, in their order, and the rules that answer."""
    depth, met = 0, []
    for arm in arms:
        if arm.depth != depth:  # in a block whose guard does not hold
            continue
        passed = True
        for test in arm.tests:
            met.append(test)
            passed = passes(test, row[test.feature])
            if not passed:
                break
        if passed and arm.rules:
            return met, arm.rules
        depth += passed
    raise AssertionError("a block ends with an arm without tests")
