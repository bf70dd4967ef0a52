"""Random models and rows: semantics, rules, Python and every database must agree."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.databases import DATABASES, SLOW
from tests.random_models import SEVERAL, random_program, random_row
from treecompile.compiler import emit, flatten
from treecompile.errors import TargetError
from treecompile.extract import extract, outcomes
from treecompile.ir import ClassCounts, Program, Row, Rule, Tree
from treecompile.lower import EmitOptions
from treecompile.lower.sql_names import Quoting
from treecompile.semantics import decider, predict, probabilities
from treecompile.targets import Dialect
from treecompile.verify.engines import PythonAnswer, run_python, run_sql, same
from treecompile.verify.runs import can_hold

MODELS, ROWS = 200, 50
BATCH = 20  # models for each test, so that the work spreads over the cores

SLOW_MODELS = 2  # of each batch, where a query takes long


def sample(seed: int, rows: int = ROWS) -> tuple[Program, list[Row], list[Rule]]:
    """A model, rows, and the rule that decides each by the semantics."""
    random = Random(seed)
    program = random_program(random, SEVERAL)
    body = program.body
    drawn = [random_row(random, body) for _ in range(rows)]
    decided = outcomes(body)
    return program, drawn, [decided[decider(body, row)] for row in drawn]


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
    dialect: Dialect, program: Program, rows: list[Row], rules: list[Rule]
) -> tuple[list[Row], list[Rule]] | None:
    """What of a sample the database can hold; None if not even the model."""
    body = program.body
    texts = [c for feature in body.features for c in feature.categories]
    if not can_hold(dialect, (*texts, *body.labels)):
        return None
    pairs = zip(rows, rules, strict=True)
    kept = [(row, rule) for row, rule in pairs if can_hold(dialect, row)]
    return [row for row, _ in kept], [rule for _, rule in kept]


def check_python(program: Program, rows: list[Row], rules: list[Rule]) -> int:
    """Both styles: labels, rules and probabilities."""
    for style in ("standard", "numpy"):
        text = emit(program, "python", EmitOptions(style=style)).text
        answers = run_python(text, program.body.features, rows)
        for row, rule, answer in zip(rows, rules, answers, strict=True):
            assert isinstance(answer, PythonAnswer)
            assert same(rule.value, answer.label), (style, row)
            assert rule.id == answer.rule, (style, row)
            if isinstance(rule.stats, ClassCounts):
                assert answer.probabilities == probabilities(rule.stats), (style, row)
    return 2 * len(rows)


def check_sql(engine: str, program: Program, rows: list[Row], rules: list[Rule]) -> int:
    """Labels and rules on one database."""
    database = DATABASES[engine]()
    dialect = database.dialect
    kept = held(dialect, program, rows, rules)
    if kept is None:
        return 0
    rows, rules = kept
    columns = renamed(program, dialect)
    for output in ("label", "rule"):
        options = EmitOptions(dialect=dialect.key, output=output, columns=columns)
        text = emit(program, "sql", options).text
        found = run_sql(text, program.body.features, rows, database, columns)
        for row, rule, answer in zip(rows, rules, found, strict=True):
            expected = rule.id if output == "rule" else rule.value
            assert same(expected, answer), (engine, row)
    return 2 * len(rows)


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
def test_rules_and_python_agree_with_the_semantics(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, rows, rules = sample(seed)
        answers = [rule.value for rule in rules]
        if isinstance(program.body, Tree):
            extracted = extract(program.body)
            assert [predict(extracted, row) for row in rows] == answers
        flat = flatten(program).body
        assert [predict(flat, row) for row in rows] == answers
        assert check_python(program, rows, rules) == 2 * ROWS


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
@pytest.mark.parametrize("engine", DATABASES)
def test_databases_agree_with_the_semantics(engine: str, batch: int) -> None:
    compared, models = 0, SLOW_MODELS if engine in SLOW else BATCH
    for seed in range(batch * BATCH, batch * BATCH + models):
        compared += check_sql(engine, *sample(seed))
    assert compared > models * ROWS // 2
