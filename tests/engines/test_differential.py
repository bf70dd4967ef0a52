"""Random models and rows: semantics, rules, Python and every database must agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import pytest

from tests.engines.databases import DATABASES, SLOW
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
from treecompile.lower.sql_names import Quoting
from treecompile.semantics import (
    decider,
    distribution,
    is_fractional,
    is_unknown,
    predict,
    probabilities,
    taken,
)
from treecompile.targets import Dialect
from treecompile.verify.engines import PythonAnswer, run_python, run_sql, same
from treecompile.verify.runs import can_hold

MODELS, ROWS = 200, 50
BATCH = 20  # models for each test, so that the work spreads over the cores

# Numbers from all over the range of doubles, whose sums are refused.
UNADDED = re.compile("beyond all doubles|smaller than PostgreSQL")
SLOW_MODELS = 2  # of each batch, where a query takes long


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
    program = random_program(random, SEVERAL)
    body = program.body
    drawn = [random_row(random, body) for _ in range(rows)]
    decided = outcomes(body)
    return program, drawn, [answer(body, decided, row) for row in drawn]


def renamed(program: Program, dialect: Dialect) -> dict[str, str]:
    """Other names for the columns whose names the database cannot hold."""
    quoting, others = Quoting(dialect), {}
    for place, feature in enumerate(program.body.features):
        try:
            quoting.name(feature.name)
        except TargetError:
            others[feature.name] = f"column {place}"
    return others


def held(
    dialect: Dialect, program: Program, rows: list[Row], answers: list[Answer]
) -> tuple[list[Row], list[Answer]] | None:
    """What of a sample the database can hold; None if not even the model."""
    body = program.body
    texts = [c for feature in body.features for c in feature.categories]
    if not can_hold(dialect, (*texts, *body.labels)):
        return None
    pairs = zip(rows, answers, strict=True)
    kept = [(row, answer) for row, answer in pairs if can_hold(dialect, row)]
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
    """Labels and rules on one database, and the shares of a tree that divides."""
    database = DATABASES[engine]()
    dialect = database.dialect
    kept = held(dialect, program, rows, answers)
    if kept is None:
        return 0
    rows, answers = kept
    columns = renamed(program, dialect)
    compared = 0
    for output in ("label", "rule", "probability") if rows else ():
        if output == "probability" and not (
            program.body.labels and is_fractional(program.body)
        ):
            continue
        options = EmitOptions(dialect=dialect.key, output=output, columns=columns)
        try:
            text = emit(program, "sql", options).text
        except TargetError as error:
            if UNADDED.search(str(error)):
                continue
            raise
        found = run_sql(text, program.body.features, rows, database, columns)
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
    compared, models = 0, SLOW_MODELS if engine in SLOW else BATCH
    for seed in range(batch * BATCH, batch * BATCH + models):
        compared += check_sql(engine, *sample(seed))
    assert compared > models * ROWS // 2
