"""Dialects of databases that the tests cannot run: sqlglot must read what we mean.

sqlglot knows the grammar of each dialect, its quotes and escapes, but not what a
query means. So what it has read is compared: names, texts, numbers, nesting.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from tests.support.dialects import PARSED
from tests.support.parsed import (
    SUFFIX,
    answers,
    columns,
    parse,
    read_texts,
    subnormal,
    texts,
    thresholds,
)
from tests.support.random_models import (
    SEVERAL,
    large_tree,
    random_program,
)
from tests.support.samples import every_type
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.model.ir import Program, Tree
from treecompile.model.semantics import required_features
from treecompile.verify.execution import can_hold

MODELS = 60


def nesting(tree: Any) -> int:
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        depth += isinstance(node, exp.Case)
        deepest = max(deepest, depth)
        waiting += [(child, depth) for child in node.iter_expressions()]
    return deepest


def test_every_dialect_is_run_or_parsed() -> None:
    assert set(PARSED) == {
        *("mysql", "bigquery", "snowflake", "redshift", "databricks"),
        *("tsql", "oracle", "trino"),
    }


@pytest.mark.parametrize("name", PARSED)
def test_what_is_read_is_what_was_meant(name: str) -> None:
    dialect = read_dialect(name)
    read, all_names = 0, set[str]()
    for seed in range(MODELS):
        program = random_program(Random(seed), SEVERAL)
        body = program.body
        known = [c for feature in body.features for c in feature.categories]
        if not can_hold(dialect, (*known, *body.labels)):
            continue
        others = columns(program, dialect)
        if name == "tsql" and any(map(subnormal, (*thresholds(body), *answers(body)))):
            continue
        output = "rule" if seed % 2 else "label"
        options = EmitOptions(dialect=name, columns=others, output=output)
        tree = parse(emit(program, "sql", options).text, name)
        assert isinstance(tree, exp.Select)
        assert len(tree.expressions) == 1
        # Rules of a list that no row reaches are left out, and tests behind which all
        # answers are equal; no ids of rules are.
        if isinstance(body, Tree) and output == "rule":
            wanted = {*texts(body, dialect)} - {*answers(body)}
            assert read_texts(tree) >= wanted, seed
        names = {column.name for column in tree.find_all(exp.Column)}
        names -= {"NAN"}
        features = (body.features[place].name for place in required_features(body))
        # A test that always or never holds names no column.
        assert names <= {others.get(feature, feature) for feature in features}, seed
        all_names |= names
        assert nesting(tree) <= dialect.limits.nesting
        read += 1
    assert read > MODELS // 3
    assert len(all_names) > 30


@pytest.mark.parametrize("name", PARSED)
def test_selects_and_views_are_read(name: str) -> None:
    for form, kind in (("select", exp.Select), ("view", exp.Create)):
        options = EmitOptions(dialect=name, form=form, table="s.t", name="v")
        text = emit(every_type(), "sql", options).text
        tree = sqlglot.parse_one(SUFFIX.sub("", text), dialect=name)
        assert isinstance(tree, kind)
        select = tree.find(exp.Select)
        assert select is not None
        star, answer = select.expressions
        assert star.is_star
        assert isinstance(star, exp.Star) == (name != "oracle")  # where it is "t".*
        assert answer.alias == "prediction"
        read = {table.name for table in tree.find_all(exp.Table)}
        assert read - {"v"} == {"t"}


@pytest.mark.parametrize("name", PARSED)
def test_several_outputs_are_read(name: str) -> None:
    options = EmitOptions(dialect=name, form="select", table="t", output="rule,label")
    text = emit(every_type(), "sql", options).text
    tree = sqlglot.parse_one(SUFFIX.sub("", text), dialect=name)
    star, *answers = tree.expressions
    assert star.is_star
    assert [answer.alias for answer in answers] == ["rule", "prediction"]
    tests = [str(case.args["ifs"][0].this) for case in tree.find_all(exp.Case)]
    assert sum("number" in test for test in tests) == 2


@pytest.mark.parametrize("name", PARSED)
@pytest.mark.parametrize("chain", [True, False])
def test_large_trees_stay_within_the_limits(name: str, chain: bool) -> None:
    dialect = read_dialect(name)
    program = Program("y", "random", large_tree(400, chain=chain))
    text = emit(program, "sql", EmitOptions(dialect=name)).text
    tree = parse(text, name)
    assert nesting(tree) <= dialect.limits.nesting
    arms = max(len(case.args["ifs"]) for case in tree.find_all(exp.Case))
    assert arms > 300 if chain else arms > 5
