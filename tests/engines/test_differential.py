"""Random models and rows: semantics, rules, Python, SQLite and DuckDB must all agree."""

from __future__ import annotations

from random import Random

import pytest

from tests.random_models import SEVERAL, random_program, random_row
from treecompile.compiler import emit, flatten
from treecompile.extract import extract, outcomes
from treecompile.ir import ClassCounts, Program, Row, Tree
from treecompile.lower import EmitOptions
from treecompile.semantics import decider, predict, probabilities
from treecompile.verify.engines import Database, run_python, run_sql, same

MODELS, ROWS = 200, 50
BATCH = 20  # models for each test, so that the work spreads over the cores


def sample(seed: int) -> tuple[Program, list[Row]]:
    random = Random(seed)
    # No engine but Python has names with NUL characters or none at all.
    names = tuple(name for name in SEVERAL if "\0" not in name)
    program = random_program(random, names)
    return program, [random_row(random, program.body) for _ in range(ROWS)]


@pytest.mark.parametrize("batch", range(MODELS // BATCH))
def test_rules_python_and_sql_agree_with_the_semantics(batch: int) -> None:
    compared = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, rows = sample(seed)
        body = program.body
        decided = outcomes(body)
        rules = [decided[decider(body, row)] for row in rows]
        if isinstance(body, Tree):
            assert [predict(extract(body), row) for row in rows] == [
                rule.value for rule in rules
            ]
        flat = flatten(program).body
        assert [predict(flat, row) for row in rows] == [rule.value for rule in rules]

        answers = run_python(emit(program, "python").text, body.features, rows)
        for row, rule, answer in zip(rows, rules, answers, strict=True):
            assert same(rule.value, answer.label), (seed, row)
            assert rule.id == answer.rule, (seed, row)
            if isinstance(rule.stats, ClassCounts):
                assert answer.probabilities == probabilities(rule.stats), (seed, row)
        for engine in ("sqlite", "duckdb"):
            for output in ("label", "rule"):
                options = EmitOptions(dialect=engine, output=output)
                text = emit(program, "sql", options).text
                found = run_sql(text, body.features, rows, Database.named(engine))
                for row, rule, answer in zip(rows, rules, found, strict=True):
                    expected = rule.id if output == "rule" else rule.value
                    assert same(expected, answer), (seed, engine, row)
                    compared += 1
    assert compared == BATCH * ROWS * 4
