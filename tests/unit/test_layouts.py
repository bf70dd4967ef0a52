"""Rules one after the other, or nested: the same answers, and bounds on their cost."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import large_tree, random_body, random_row
from tests.support.rule_lists import above, at_most, random_list, rule_set
from tests.support.samples import TENNIS, balanced, every_type
from tests.support.small_models import every_row, small_body
from tests.support.steps import run, run_counting
from treecompile import learn
from treecompile.emit.compiler import emit
from treecompile.emit.layouts import (
    READABLE,
    LanguageCosts,
    choose,
    cost_of_list,
    least_tests,
    list_steps,
    listed,
    most_tests,
)
from treecompile.emit.options import AUTO, DECISION, LAYOUTS, LIST, EmitOptions
from treecompile.emit.sql import lower as sql
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.steps import decision_steps
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import Body, Leaf, Program, RuleSet, Tree
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider
from treecompile.rules.extract import extract
from treecompile.verify.verification import verify


def program_of(body: Body) -> Program:
    return Program("y", "test", body)


def chain(rules: int) -> RuleSet:
    """x <= 0, x <= 1, ...: no order asks less."""
    return rule_set(*(((at_most(0, float(n)),), "yes") for n in range(rules)))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_a_list_decides_as_the_model_does(seed: int) -> None:
    random = Random(seed)
    body = random_body(random)
    steps = list(list_steps(body))
    assert {step.depth for step in steps} == {0}
    assert [step.tests == () for step in steps].index(True) == len(steps) - 1
    for _ in range(20):
        row = random_row(random, body)
        assert run(steps, body.features, row) == decider(body, row)


def test_a_list_has_the_rules_of_the_document_in_their_order() -> None:
    body = learn(TENNIS, target="play").program.body
    said = [outcomes(body)[step.outcome or 0].id for step in list_steps(body)]
    assert said == [rule.id for rule in extract(body).rules]
    document = emit(learn(TENNIS, target="play").program, "markdown").text
    places = [document.index(f"{identity}:") for identity in said]
    assert places == sorted(places)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_no_row_needs_more_or_fewer_tests_than_the_bounds_say(seed: int) -> None:
    body, costs = small_body(Random(seed)), LanguageCosts()
    rules = listed(body)
    nested, flat = list(decision_steps(body)), list(list_steps(body))
    fewest = least_tests(nested, costs)
    places = [step.outcome for step in flat]
    most = dict(zip(places, most_tests(rules, body.features, costs), strict=True))
    for row in every_row(body.features):
        outcome, tests = run_counting(flat, body.features, row)
        assert tests <= most[outcome]
        same, tests = run_counting(nested, body.features, row)
        assert same == outcome
        assert tests >= fewest[outcome]


def test_the_bounds_of_a_small_list() -> None:
    rules = rule_set(
        ((at_most(0, 1.0), at_most(1, 1.0)), "yes"),
        ((above(0, 1.0),), "no"),  # excludes the first rule by its first test
        ((at_most(1, 2.0), above(2, 0.0)), "yes"),  # excludes no rule
    )
    # R1: 2. R2: 1 + 1. R3: 2 + 1 + 2. The default: 2 + 1 + 2.
    assert list(most_tests(listed(rules), rules.features, LanguageCosts())) == [
        2,
        2,
        5,
        5,
    ]


def test_the_rows_of_each_rule_weigh_its_tests() -> None:
    tree = balanced(3)
    equal = cost_of_list(tree, listed(tree.body), LanguageCosts())
    assert isinstance(tree.body, Tree)
    _, *others = outcomes(tree.body)
    nodes = list(tree.body.nodes)
    for place in others:
        leaf = nodes[place]
        assert isinstance(leaf, Leaf)
        nodes[place] = replace(leaf, weight=0.0)
    only_first = replace(tree, body=replace(tree.body, nodes=tuple(nodes)))
    # x <= 0.5 is one test in the list, and the last of three in the tree.
    assert cost_of_list(only_first, listed(only_first.body), LanguageCosts()) == 1 / 3
    assert equal > 1


def test_what_is_read_before_the_first_test_costs_the_same_in_both() -> None:
    tree = balanced(3)
    rules = listed(tree.body)
    costs = [
        cost_of_list(tree, rules, LanguageCosts(reading)) for reading in (0, 3, 1000)
    ]
    assert costs == sorted(costs, reverse=True)
    assert 1 < costs[-1] < 1.01


def test_accepting_a_missing_value_costs_a_test_in_sql() -> None:
    flagged = rule_set(
        ((at_most(0, 1.0, True),), "yes"), ((at_most(1, 1.0, True),), "no")
    )
    rules, costs = listed(flagged), LanguageCosts(missing=1)
    assert list(most_tests(rules, flagged.features, costs)) == [2, 4, 4]
    assert least_tests(list_steps(flagged), costs) == {0: 1, 1: 3, 2: 4}


def test_a_chain_becomes_a_list_and_a_large_tree_does_not() -> None:
    assert choose(program_of(chain(4)), AUTO, LanguageCosts()).name == LIST
    large = choose(program_of(large_tree(200)), AUTO, LanguageCosts())
    assert large.name == DECISION
    assert re.fullmatch(
        r"as a list \(--layout list\), a row may need \d\d\.\d times as many tests",
        large.why,
    )


def test_a_list_that_nobody_reads_is_nested() -> None:
    tree = large_tree(READABLE + 1, chain=True)
    assert (
        choose(program_of(tree), AUTO, LanguageCosts()).why
        == f"there are more than {READABLE} rules"
    )
    assert choose(program_of(tree), LIST, LanguageCosts()).name == LIST


def test_a_list_that_cannot_be_nested_stays_a_list() -> None:
    rules = program_of(random_list(50, 12, 3))
    for asked in (AUTO, DECISION):
        found = choose(rules, asked, LanguageCosts())
        assert found.name == LIST
        assert "a nested decision would need over" in found.note("the SQL")


def test_a_single_leaf_has_nothing_to_lay_out() -> None:
    alone = program_of(rule_set())
    for asked in LAYOUTS:
        assert len(list(choose(alone, asked, LanguageCosts()).steps(alone.body))) == 1


def test_the_artefact_and_a_note_say_which_was_taken() -> None:
    program = learn(TENNIS, target="play").program
    for layout in (LIST, DECISION):
        for target in ("sql", "python"):
            artefact = emit(program, target, EmitOptions(layout=layout))
            head = artefact.text[:1000].lower()
            assert f"layout {layout}" in head
    (said,) = emit(program_of(chain(3)), "sql").notes
    assert said == "the SQL uses the layout list: 4 rules, one after the other"


@pytest.mark.parametrize("layout", [LIST, DECISION])
@pytest.mark.parametrize(
    "options",
    [
        EmitOptions(),
        EmitOptions(output="rule", comments=False),
        EmitOptions(output="probability"),
        EmitOptions(form="view", table="t"),
        EmitOptions(form="select", table="t", output="label,probability,rule"),
        EmitOptions(dialect="duckdb", form="dbt", table="t", output="label,rule"),
    ],
    ids=lambda each: f"{each.dialect} {each.form} {each.output}",
)
def test_every_form_is_verified_in_both_layouts(
    options: EmitOptions, layout: str
) -> None:
    program = every_type()
    text = emit(program, "sql", replace(options, layout=layout)).text
    engine = options.dialect
    output = "" if options.comments else options.output
    report = verify(program, text, engine, output=output, budget=500)
    assert report.passed, report
    assert not report.refused


@pytest.mark.parametrize("layout", [LIST, DECISION])
@pytest.mark.parametrize("target", ["sql", "python"])
def test_an_added_branch_is_found_in_both_layouts(target: str, layout: str) -> None:
    program = learn("examples/penguins/penguins.csv", target="species").program
    text = emit(program, target, EmitOptions(layout=layout)).text
    assert verify(program, text, budget=2000).passed
    if target == "sql":
        arm = "CASE\n  WHEN CAST(body_mass_g AS REAL) = 43.3 THEN 'Gentoo'\n"
        broken = text.replace("CASE\n", arm, 1)
    else:
        guard = '    if body_mass_g == 43.3:\n        return "Gentoo"\n'
        first = re.search(r"    if (?!type).*:\n        return", text)
        assert first
        broken = text.replace(first[0], f"{guard}{first[0]}", 1)
    assert broken != text
    assert not verify(program, broken, budget=2000).passed


def test_a_list_that_the_database_does_not_allow_is_nested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = program_of(
        rule_set(*(((at_most(0, float(n)), at_most(1, 1.0)), "yes") for n in range(3)))
    )
    assert "layout list" in emit(program, "sql").text
    usual = read_dialect("sqlite")
    for limits in ({"tests": 1}, {"arms": 1}, {"text": 200, "beyond": ""}):
        strict = replace(usual, limits=replace(usual.limits, **limits))
        monkeypatch.setattr(sql, "read_dialect", lambda name, own=strict: own)
        with pytest.raises(TargetError):
            emit(program, "sql", EmitOptions(layout=LIST))
    strict = replace(usual, limits=replace(usual.limits, tests=1))
    monkeypatch.setattr(sql, "read_dialect", lambda name: strict)
    assert "layout decision" in emit(program, "sql").text


def test_a_layout_is_for_code_of_guards() -> None:
    model = learn(TENNIS, target="play")
    with pytest.raises(OptionError, match="layout is for python or sql, not mark"):
        model.emit("markdown", layout="list")
    with pytest.raises(OptionError, match="layout='flat': expected one of list, dec"):
        model.emit("sql", layout="flat")
