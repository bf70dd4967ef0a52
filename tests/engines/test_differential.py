"""Random models and rows: semantics, rules, Python and every database must agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import pytest

from tests.engines.databases import DATABASES
from tests.random_models import SEVERAL, random_program, random_row
from treecompile.compiler import emit, flatten
from treecompile.errors import TargetError
from treecompile.extract import extract, outcomes
from treecompile.ir import (
    Body,
    ClassCounts,
    Label,
    Program,
    Row,
    Rule,
    Split,
    Tree,
)
from treecompile.lower import EmitOptions
from treecompile.semantics import (
    decider,
    distribution,
    is_fractional,
    is_unknown,
    predict,
    probabilities,
    taken,
)
from treecompile.verify.engines import PythonAnswer, run_python, run_sql, same

MODELS, ROWS = 200, 50
BATCH = 20  # models for each test, so that the work spreads over the cores

# What no database can hold: names with NUL characters, or none at all; and what
# PostgreSQL cannot: NUL in a text, a name of more than 63 bytes.
NAMES = tuple(name for name in SEVERAL if "\0" not in name and len(name) < 60)


@dataclass(frozen=True)
class Answer:
    """What the semantics say about a row."""

    value: Label
    rule: str
    shares: tuple[float, ...]  # none for a regression


def answer(body: Body, decided: Mapping[int, Rule], row: Row) -> Answer:
    if isinstance(body, Tree) and is_fractional(body):
        mixed = distribution(body, row) if body.labels else ()
        name = "divided" if divides(body, row) else decided[decider(body, row)].id
        return Answer(predict(body, row), name, mixed)
    rule = decided[decider(body, row)]
    shares = probabilities(rule.stats) if isinstance(rule.stats, ClassCounts) else ()
    return Answer(rule.value, rule.id, shares)


def divides(tree: Tree, row: Row) -> bool:
    """Whether a row comes to a split on a value that is missing or unseen."""
    node = tree.nodes[0]
    while isinstance(node, Split):
        where = node.branches[0].when.feature
        if is_unknown(tree.features[where], row[where]):
            return True
        node = tree.nodes[taken(tree, node, row)]
    return False


def sample(seed: int, rows: int = ROWS) -> tuple[Program, list[Row], list[Answer]]:
    """A model, rows, and what the semantics say about each."""
    random = Random(seed)
    program = random_program(random, NAMES)
    body = program.body
    drawn = [random_row(random, body) for _ in range(rows)]
    decided = outcomes(body)
    return program, drawn, [answer(body, decided, row) for row in drawn]


def has_nul(value: object) -> bool:
    return isinstance(value, str) and "\0" in value


def without_nul(
    program: Program, rows: list[Row], answers: list[Answer]
) -> tuple[list[Row], list[Answer]] | None:
    """What of a sample PostgreSQL can hold; None if not even the model."""
    body = program.body
    texts = [c for feature in body.features for c in feature.categories]
    if any(map(has_nul, (*texts, *body.labels))):
        return None
    kept = [
        (row, answer)
        for row, answer in zip(rows, answers, strict=True)
        if not any(map(has_nul, row))
    ]
    return [row for row, _ in kept], [answer for _, answer in kept]


def check_python(program: Program, rows: list[Row], answers: list[Answer]) -> int:
    """Both styles: labels, rules and probabilities."""
    for style in ("standard", "numpy"):
        text = emit(program, "python", EmitOptions(style=style)).text
        found = run_python(text, program.body.features, rows)
        for row, expected, said in zip(rows, answers, found, strict=True):
            assert isinstance(said, PythonAnswer)
            assert same(expected.value, said.label), (style, row)
            assert expected.rule == said.rule, (style, row)
            assert expected.shares == said.probabilities, (style, row)
    return 2 * len(rows)


def check_sql(
    engine: str, program: Program, rows: list[Row], answers: list[Answer]
) -> int:
    """Labels and rules on one database; the shares too, where they are added up."""
    database = DATABASES[engine]()
    dialect = database.dialect.key
    if dialect == "postgres":
        held = without_nul(program, rows, answers)
        if held is None:
            return 0
        rows, answers = held
    compared = 0
    for output in ("label", "rule", "probability") if answers else ():
        if output == "probability" and not (
            program.body.labels and is_fractional(program.body)
        ):
            continue
        options = EmitOptions(dialect=dialect, output=output)
        try:
            text = emit(program, "sql", options).text
        except TargetError as error:
            if re.search("beyond all doubles|smaller than Postgre", str(error)):
                continue  # numbers from all over the range of doubles, added up
            raise
        found = run_sql(text, program.body.features, rows, database)
        for row, said, actual in zip(rows, answers, found, strict=True):
            expected = {"label": said.value, "rule": said.rule}.get(output)
            if output == "probability":
                expected = said.shares[program.body.labels.index(said.value)]
            assert same(expected, actual), (engine, output, row)
        compared += len(rows)
    return compared


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
def test_rules_and_python_agree_with_the_semantics(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, rows, answers = sample(seed)
        body = program.body
        if not is_fractional(body):  # the rules of such a tree are another model
            values = [answer.value for answer in answers]
            if isinstance(body, Tree):
                assert [predict(extract(body), row) for row in rows] == values
            flat = flatten(program).body
            assert [predict(flat, row) for row in rows] == values
        assert check_python(program, rows, answers) == 2 * ROWS


def test_many_rows_are_divided() -> None:
    rules = [answer.rule for seed in range(MODELS) for answer in sample(seed)[2]]
    assert rules.count("divided") > MODELS * ROWS // 20


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
@pytest.mark.parametrize("engine", DATABASES)
def test_databases_agree_with_the_semantics(engine: str, batch: int) -> None:
    compared = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        compared += check_sql(engine, *sample(seed))
    assert compared > BATCH * ROWS // 2
