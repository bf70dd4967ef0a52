"""Rules that nobody edited predict what the model predicts, for hostile models."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_body, random_program, random_tree
from treecompile.emit.compiler import emit
from treecompile.inspect.show import show
from treecompile.model.errors import RulesError
from treecompile.model.file.read import loads as load_model
from treecompile.model.file.write import dumps
from treecompile.model.ir import ClassCounts, Program, Row, Rule, RuleSet, Tree
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    decider,
    predict,
    probabilities,
    required_features,
)
from treecompile.rules.extract import extract, flatten
from treecompile.rules.language.document import loads
from treecompile.rules.language.printer import print_rules
from treecompile.rules.passes.merge import merge
from treecompile.verify.rows import probe_rows

SEEDS = st.integers(0, 2**32)


def decision(program: Program, rules: dict[int, Rule], row: Row) -> tuple[object, ...]:
    """What a row gets: the id of the rule, the answer, its type, probabilities."""
    rule = rules[decider(program.body, row)]
    shares = probabilities(rule.stats) if isinstance(rule.stats, ClassCounts) else ()
    return rule.id, type(rule.value), repr(rule.value), shares, rule.weight


def assert_same(first: Program, second: Program) -> None:
    rows = probe_rows(first.body, budget=400).rows
    ours, theirs = outcomes(first.body), outcomes(second.body)
    places = {feature.name: i for i, feature in enumerate(first.body.features)}
    kept = [places[feature.name] for feature in second.body.features]
    for row in rows:
        expected = decision(first, ours, row)
        other = tuple(row[place] for place in kept)
        assert decision(second, theirs, other) == expected, row


@given(SEEDS)
@settings(max_examples=120, deadline=None)
def test_the_round_trip_predicts_the_same(seed: int) -> None:
    program = random_program(Random(seed))
    text = print_rules(program)
    source = loads(text)
    assert source.target == program.target
    features, used = program.body.features, required_features(flatten(program.body))
    assert source.body.features == tuple(features[index] for index in used)
    assert source.body.labels == program.body.labels
    assert_same(program, source)
    assert print_rules(source) == text
    if isinstance(program.body, Tree):  # exactly one rule holds, so none is needed
        assert "otherwise" not in re.findall(r'"(?:[^"\\]|\\.)*"|\w+', text)
    assert load_model(dumps(source)) == source


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_round_trip_through_the_document(seed: int) -> None:
    program = random_program(Random(seed))
    document = emit(program, "markdown").text
    document.encode()
    source = loads(document, is_markdown=True)
    assert source.target == program.target
    assert source.body.labels == program.body.labels
    assert_same(program, source)
    assert print_rules(source) == print_rules(program)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_flattening_at_once_says_what_merging_says(seed: int) -> None:
    tree = random_tree(Random(seed))
    fast, slow = flatten(tree), merge(extract(tree))
    assert [rule.id for rule in fast.rules] == [rule.id for rule in slow.rules]
    assert fast.default == slow.default
    assert_same(Program("t", "x", slow), Program("t", "x", fast))
    assert_same(Program("t", "x", tree), Program("t", "x", fast))


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_damaged_text_is_refused_or_read(seed: int) -> None:
    """Whatever is struck, doubled or put in, the worst is a mistake with its place."""
    random = Random(seed)
    program = random_program(random)
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|[\w.]+|\s+|.', print_rules(program))
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(pieces))
        match random.randrange(4):
            case 0:
                pieces[place] = ""
            case 1:
                pieces[place] *= 2
            case 2:
                pieces[place] = random.choice(pieces)
            case 3:
                pieces[place] += random.choice(
                    ("if", "missing", "{", "]", '"', "@", "<", "of", ":")
                )
    made = read("".join(pieces))
    if isinstance(made, str):
        assert re.fullmatch(r"line \d+, column \d+: \S.*", made)
    else:
        assert load_model(dumps(made)) == made


def read(text: str) -> Program | str:
    """The program, or the mistake."""
    try:
        return loads(text)
    except RulesError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(3))
def test_na_values_are_kept(seed: int) -> None:
    body = random_body(Random(seed))
    program = Program("t", "x", body, na_values=("?", "not known", ""))
    assert loads(print_rules(program)).na_values == program.na_values


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_what_show_says_is_the_rule_language(seed: int) -> None:
    program = random_program(Random(seed))
    program = replace(program, body=flatten(program.body))
    declared = print_rules(program).partition("\n\n")[0]
    made = loads(f"{declared}\n{show(program)}")
    assert isinstance(made.body, RuleSet)
    assert isinstance(program.body, RuleSet)
    assert [rule.id for rule in made.body.rules] == [
        rule.id for rule in program.body.rules
    ]
    rows = probe_rows(program.body, budget=100).rows
    places = {feature.name: i for i, feature in enumerate(program.body.features)}
    kept = [places[feature.name] for feature in made.body.features]
    for row in rows:
        other = tuple(row[place] for place in kept)
        assert predict(made.body, other) == predict(program.body, row)
