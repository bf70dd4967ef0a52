"""The rows that `verify` tries, and what it expects for each."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import inf, nan, nextafter, prod
from random import Random
from typing import Any

import pytest

from tests.support.differential import sample
from tests.support.rule_lists import above, at_most, rule_set
from tests.support.samples import balanced, chain, every_type, stump
from tests.support.small_models import every_row, small_rules
from treecompile.emit.compiler import emit
from treecompile.model import batch
from treecompile.model.ir import (
    Feature,
    Kind,
    Label,
    Program,
    Row,
    RuleSet,
    Tree,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider
from treecompile.verify.axes import PYTHON_INTEGERS, Grid
from treecompile.verify.cells import CONSTANTS, Probing, probe_rows
from treecompile.verify.constants import Constants, as_double
from treecompile.verify.reference import Reference, encoded
from treecompile.verify.verification import same, verify

# ---------------------------------------------------------------- expected answers


@pytest.mark.parametrize("seed", range(60))
def test_the_reference_says_what_the_semantics_say(seed: int) -> None:
    program, rows, answers = sample(seed)
    labels = program.body.labels
    wanted: list[tuple[str, int | None]] = [("rule", None), ("label", None)]
    if labels:
        wanted += [("probability", None), ("probability", 0)]
    reference = Reference(program, tuple(wanted))
    for row, known in zip(rows, answers, strict=True):
        cell = reference.cell(row)
        expected: list[object] = [known.rule, known.value]
        if labels:
            expected += [known.shares[labels.index(known.value)], known.shares[0]]
        assert repr(reference.answer(cell)) == repr(tuple(expected))


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_judged_as_the_semantics_judge_them(seed: int) -> None:
    program, rows, answers = sample(seed)
    reference = Reference(program, (("rule", None), ("label", None)))
    expected = [repr((known.rule, known.value)) for known in answers]
    assert list(map(repr, reference.judge(rows))) == expected
    assert reference.entered == {reference.cell(row) for row in rows}


@pytest.mark.parametrize("seed", range(20))
def test_the_first_rule_is_found(seed: int) -> None:
    rules, rows = small_rules(Random(seed)), list(every_row())
    found = batch.deciders(rules, encoded(rules, rows), len(rows))
    assert found.tolist() == [decider(rules, row) for row in rows]


def test_numbers_of_every_type_are_compared_as_doubles() -> None:
    """Integers beyond 2**53 and decimals are rounded to the nearest double."""
    values: list[Any] = [
        *(2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63), 10**30, 10**400, -(10**400)),
        *(Decimal("0.1"), Decimal("1e-400"), 0.5, inf, -inf, -0.0, nan, None, True),
    ]
    tree = stump(0.5).body
    (column,) = encoded(tree, [(value,) for value in values])
    assert column is not None
    for value, found in zip(values, column.tolist(), strict=True):
        if value is None or value != value:
            assert found != found
        else:
            assert repr(found) == repr(as_double(value))


def test_a_wrong_decision_over_columns_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = stump(0.5)
    reference = Reference(program, (("label", None),))
    rows = probe_rows(reference.body).rows
    right = batch.deciders(reference.body, encoded(reference.body, rows), len(rows))
    wrong = right.copy()
    wrong[-1] = next(place for place in set(right.tolist()) if place != right[-1])
    monkeypatch.setattr(batch, "deciders", lambda *_: wrong)
    with pytest.raises(AssertionError, match="batch and semantics differ"):
        list(reference.judge(rows))


def long_chain(tests: int) -> Program:
    """A tree as deep as it has tests."""
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    conditions = tuple(at_most(0, float(edge)) for edge in range(tests))
    return chain((x,), conditions, ("low", "high"))


def as_program(rules: RuleSet) -> Program:
    return replace(stump(0.5), body=rules)


def single_leaf() -> Program:
    tree = stump(0.5).body
    assert isinstance(tree, Tree)
    return replace(stump(0.5), body=replace(tree, nodes=tree.nodes[1:2]))


@pytest.mark.parametrize(
    ("program", "most"),
    [
        (single_leaf(), 2_000),
        (stump(0.5), 2_000),
        (long_chain(150), 200_000 // 150),
        (as_program(rule_set(*[((at_most(0, 1.0),) * 3, "yes")] * 50)), 1_333),
        (as_program(rule_set(*[((at_most(0, 1.0),), "yes")] * 50)), 2_000),
        (as_program(rule_set(*[((at_most(0, 1.0),), "yes")] * 20_000)), 50),
    ],
)
def test_as_many_rows_as_take_little_time_are_decided_one_by_one(
    program: Program, most: int
) -> None:
    assert Reference(program)._most_checked() == most


@pytest.mark.parametrize(
    ("rows", "checked"), [(60, 60), (2_000, 2_000), (2_001, 1_001), (5_000, 1_667)]
)
def test_all_of_few_rows_and_a_part_of_many_are_decided_one_by_one(
    rows: int, checked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference(stump(0.5), (("label", None),))
    met = []

    def cell(row: Row) -> int:
        met.append(row)
        return decider(reference.body, row)

    monkeypatch.setattr(reference, "cell", cell)
    values = [(place / rows,) for place in range(rows)]
    assert len(list(reference.judge(values))) == rows
    assert len(met) == checked


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        ("a", "a", True),
        ("a", "A", False),
        (1, 1, True),
        (1, 1.0, False),
        (1.0, 1, False),
        (1, True, False),
        (True, True, True),
        (True, 1, True),  # a database without booleans
        (False, 0, True),
        (True, 0, False),
        (True, 2, False),
        (True, 1.0, False),
        (True, "true", False),
        (0.1, 0.1, True),
        (0.1, nextafter(0.1, 1.0), False),
        (nan, nan, True),
        (nan, None, False),
        (nan, 0.0, False),
        (0.0, nan, False),
        ("a", None, False),
    ],
)
def test_answers_are_compared_with_their_types(
    expected: Label, actual: object, is_same: bool
) -> None:
    assert same(expected, actual) is is_same


# ---------------------------------------------------------------- rows


def test_all_combinations_are_tried_up_to_the_budget() -> None:
    rules = rule_set(
        ((at_most(0, 5.0), above(2, 1.0)), "yes"), ((above(2, 7.0),), "no")
    )
    grid = Grid(rules, Constants())
    number = prod(len(grid.axes[index].values) for index in (0, 2))
    whole = probe_rows(rules, budget=number)
    assert whole.complete
    assert len(whole.rows) == number
    pairs = {(repr(row[0]), repr(row[2])) for row in whole.rows}
    assert len(pairs) == number
    # The feature that no rule tests has all kinds of values.
    assert len({repr(row[1]) for row in whole.rows}) > 3
    less = probe_rows(rules, budget=number - 1)
    assert not less.complete
    assert len(less.rows) < number
    assert less.covered == less.edges > 0
    assert less.cells == 3


def large() -> Tree:
    """A tree of 64 leaves over one number: too many edges for a small budget."""
    body = balanced(6).body
    assert isinstance(body, Tree)
    return body


@pytest.mark.parametrize("budget", [1, 10, 63, 100, 150])
def test_a_small_budget_is_kept(budget: int) -> None:
    found = probe_rows(large(), budget=budget)
    assert not found.complete
    assert 0 < len(found.rows) <= budget
    assert found.cells == 64
    assert found.covered <= found.edges
    assert len({decider(large(), row) for row in found.rows}) >= min(budget // 3, 20)


def test_a_budget_for_all_edges_covers_all_of_them() -> None:
    body = every_type().body
    found = probe_rows(body, budget=200)
    assert not found.complete
    assert found.covered == found.edges
    assert {decider(body, row) for row in found.rows} == set(outcomes(body))
    edges = {
        0: (2.5, nextafter(2.5, inf), -inf, inf, None),
        1: ("a", "A", " b", "z", "unseen", None),
        2: (1, 2, 9, 0, None),
        3: (False, True, None),
        4: ("low", "mid", "high", "unseen", None),
    }
    for index, values in edges.items():
        assert set(values) <= {row[index] for row in found.rows}


def test_errors_between_equal_answers_do_not_count() -> None:
    """If all leaves answer alike, no value shows an error."""
    body = every_type().body
    whole = probe_rows(body, budget=300)
    found = probe_rows(body, budget=300, answer=lambda leaf: "same")
    assert (found.edges, found.covered) == (0, 0)
    halves = probe_rows(body, budget=300, answer=lambda leaf: leaf == 1)
    assert 0 < halves.edges == halves.covered < whole.edges


def test_the_numbers_tried_have_the_type_asked_for() -> None:
    found = probe_rows(large(), budget=150, numbers=PYTHON_INTEGERS)
    assert all(row[0] is None or type(row[0]) is int for row in found.rows)


def test_constants_of_the_artefact_are_tried_in_every_cell() -> None:
    rules = [((above(0, float(n)), at_most(0, n + 1.0)), "yes") for n in range(20)]
    body = rule_set(*rules, features=2)
    added = Constants(numbers=frozenset({1000.25}))
    found = probe_rows(body, added, budget=3000)
    assert {1000.25, nextafter(1000.25, inf)} <= {row[0] for row in found.rows}
    probing = Probing(body, Grid(body, added), 3000, Random(0), lambda rule: rule)
    assert set(probing.fitting(1)) == {
        nextafter(1000.25, -inf),
        1000.25,
        nextafter(1000.25, inf),
    }
    many = Constants(numbers=frozenset(n / 4 for n in range(1, 200)))
    probing = Probing(body, Grid(body, many), 3000, Random(0), lambda rule: rule)
    assert len(probing.fitting(0)) == 3 * CONSTANTS


@pytest.mark.parametrize("seed", range(12))
def test_rules_that_a_row_can_reach_are_entered(seed: int) -> None:
    rules = small_rules(Random(seed))
    reachable = {decider(rules, row) for row in every_row()}
    found = probe_rows(rules, budget=150)
    assert len(found.rows) <= 150
    entered = {decider(rules, row) for row in found.rows}
    assert entered == reachable
    if not found.complete:
        assert found.cells == len(reachable)


# ---------------------------------------------------------------- reports


def test_a_report_counts_what_was_tried() -> None:
    program = every_type()
    text = emit(program, "sql").text
    report = verify(program, text, budget=200)
    assert report.passed
    assert report.engine == "sqlite"
    assert not report.complete
    assert report.entered == report.cells == 6
    assert report.covered == report.edges > 0
    assert report.rows > 200  # and the runs with other types of columns
    wrong = verify(program, text.replace("'grade'", "'rest'"), budget=200)
    assert not wrong.passed
    assert {m.expected for m in wrong.mismatches} == {"grade"}
    assert {m.actual for m in wrong.mismatches} == {"rest"}
    assert list(wrong.mismatches[0].row) == [f.name for f in program.body.features]
    broken = verify(program, text.replace("CASE", "CASES"), budget=200)
    assert not broken.passed
    assert broken.refused
    assert not broken.mismatches


def test_python_is_tried_with_integers_too() -> None:
    program = stump(2.0**53)
    text = emit(program, "python").text
    report = verify(program, text)
    assert report.passed
    assert report.complete
    assert report.rows == 7 + 5  # doubles and the integers beside 2**53
    # Without the conversion to a double, an integer is compared exactly.
    assert "x.__class__ is not float" in text
    loose = text.replace("x.__class__ is not float", "type(x) not in (float, int)")
    found = verify(program, loose)
    assert {m.row["x"] for m in found.mismatches} == {2**53 + 1}


# Added to a module: its other functions as they were, and another `decide`.
SEPARATE = """
_decide = decide
def predict(row):
    return _decide(*[row[name] for name in FEATURES])[0]
"""


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("def decide(*values): return _decide(*values)", ""),
        ("del decide", "decide"),
        (
            "def decide(a, b, *others): return _decide(b, a, *others)",
            "expected a number",
        ),
        (
            "def decide(a, b, c, d, e): return _decide(a, e, c, d, b)",
            "predict and its other forms disagree on",
        ),
        (
            "def decide(a, *v): return _decide(a or 0.0, *v)",
            "decide does not refuse [] as the value of 'number'",
        ),
        (
            "def decide(*v): return _decide(*v[:-1], v[-1] or None)",
            "decide does not refuse [] as the value of 'grade'",
        ),
        (
            "_rules = RULES\n"
            "def explain(row): return _rules[_decide(*row.values())[1]]\n"
            "def decide(*v): return _decide(*v)[0], 'R1'",
            "predict and its other forms disagree on",
        ),
        (
            "def predict(row): return _decide(*[row[n] or None if n == 'grade' else"
            " row[n] for n in FEATURES])[0]",
            "predict does not refuse [] as the value of 'grade'",
        ),
    ],
)
def test_values_by_position_are_tried_too(added: str, said: str) -> None:
    program = every_type()
    report = verify(program, emit(program, "python").text + SEPARATE + added)
    assert said in report.refused
    assert report.passed == (not said)


# Until then, 2,000 such rows were tried in predict_many and in predict.
