"""Forests on every engine: margins bit for bit, labels, probabilities, all forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import treecompile
from tests.support.databases import DATABASES, SLOW
from tests.support.dialects import PARSED
from tests.support.forests import (
    balanced_trees,
    many_trees,
    random_forest,
    random_row,
)
from tests.support.samples import module_of
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.engines.addresses import ENGINES
from treecompile.engines.base import Engine
from treecompile.model import forests, ir
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.semantics import required_features
from treecompile.verify.execution import can_hold, run_sql
from treecompile.verify.reference import nearly
from treecompile.verify.verification import same, verify

MODELS, SLOW_MODELS, ROWS = 10, 4, 60
REFUSED = "adds up at most"


def program_of(forest: ir.Forest) -> ir.ForestProgram:
    return ir.ForestProgram("y", "none", forest)


def outputs_of(forest: ir.Forest) -> list[str]:
    more = ["probability"] if forests.has_probabilities(forest) else []
    return ["label", "margin", *more]


def expected(forest: ir.Forest, output: str, row: ir.Row) -> object:
    """What SQL must say about a row, from the reference for one row."""
    margins = forests.margins(forest, row)
    if output == "margin":
        return max(margins)
    if output == "label" and forest.labels:
        return forests.answer(forest, margins)
    if output == "label":
        number = forests.linked(forest, margins)[0]
    else:
        place = forests.place_of_label(forest, margins)
        number = forests.probabilities(forest, margins)[place]
    is_exact = forests.is_exact(forest)
    return number if is_exact else nearly(forest, number)


def check(
    engine: Engine, forest: ir.Forest, rows: Sequence[ir.Row], **options: Any
) -> int:
    """Run all outputs in one form; how many answers were compared."""
    required = required_features(forest)
    features = [forest.features[index] for index in required]
    held = [row for row in rows if can_hold(engine.dialect, row)]
    values = [tuple(row[index] for index in required) for row in held]
    compared = 0
    for output in outputs_of(forest):
        asked = EmitOptions(dialect=engine.dialect.key, output=output, **options)
        text = emit(program_of(forest), "sql", asked).text
        found = run_sql(text, features, values, engine)
        for row, answer in zip(held, found, strict=True):
            wanted = expected(forest, output, row)
            assert same(wanted, answer), (output, row, wanted, answer, text)
            compared += 1
    return compared


@pytest.mark.parametrize("form", ["expression", "select", "view"])
@pytest.mark.parametrize("name", DATABASES)
def test_random_forests_give_their_margins_everywhere(name: str, form: str) -> None:
    engine = DATABASES[name]()
    table = "" if form == "expression" else "t"
    compared = 0
    for seed in range(SLOW_MODELS if name in SLOW else MODELS):
        dice = Random(seed)
        forest = random_forest(dice)
        rows = list({random_row(dice, forest): None for _ in range(ROWS)})
        compared += check(engine, forest, rows, form=form, table=table)
    assert compared > 200


@pytest.mark.engine
@pytest.mark.parametrize("language", ["javascript"])
def test_random_forests_in_languages(language: str) -> None:
    for seed in range(20):
        program = program_of(random_forest(Random(seed)))
        report = verify(program, emit(program, language).text, budget=1_000)
        assert report.passed, (seed, report, report.mismatches[:2])
        assert report.as_emitted


@pytest.mark.parametrize("arithmetic", ir.Arithmetic)
@pytest.mark.parametrize("name", DATABASES)
def test_long_sums_keep_their_order(name: str, arithmetic: ir.Arithmetic) -> None:
    """250 trees: more than one expression can add up on some engines."""
    engine, dice = DATABASES[name](), Random(1)
    forest = many_trees(dice, 60 if name in SLOW else 250, arithmetic)
    rows = [random_row(dice, forest) for _ in range(20)]
    steps, forests = engine.dialect.steps, engine.dialect.forests
    casts_sums = arithmetic == "single" and not forests.single_sums
    is_short = len(forest.members) <= forests.trees // (2 if casts_sums else 1)
    for form in ("expression", "select"):
        table = "" if form == "expression" else "t"
        staged = forests.subquery or (table and (steps.without or steps.lateral))
        if staged or is_short:
            assert check(engine, forest, rows, form=form, table=table) >= 40
        else:
            with pytest.raises(TargetError, match=REFUSED):
                check(engine, forest, rows, form=form, table=table)


@pytest.mark.parametrize("name", [each for each in DATABASES if each not in SLOW])
def test_a_hundred_trees_of_32_leaves_run(name: str) -> None:
    """As many as people boost: 3,100 tests of the same columns."""
    engine, dice = DATABASES[name](), Random(7)
    forest = balanced_trees(dice, 100, 5)
    rows = [random_row(dice, forest) for _ in range(20)]
    assert check(engine, forest, rows, form="select", table="t") == 40


@pytest.mark.large
@pytest.mark.parametrize("arithmetic", ir.Arithmetic)
@pytest.mark.parametrize("name", ["sqlite", "duckdb", "postgres", "clickhouse"])
def test_fifteen_hundred_trees_run(name: str, arithmetic: ir.Arithmetic) -> None:
    engine, dice = DATABASES[name](), Random(2)
    forest = many_trees(dice, 1_500, arithmetic)
    rows = [random_row(dice, forest) for _ in range(10)]
    assert check(engine, forest, rows, form="select", table="t") == 20


@pytest.mark.library
@pytest.mark.parametrize("name", PARSED)
def test_other_dialects_are_read_as_they_are_meant(name: str) -> None:
    import sqlglot

    read = 0
    for seed in range(12):
        forest = random_forest(Random(seed))
        for output in outputs_of(forest):
            for form in ("expression", "select"):
                table = "t" if form == "select" else ""
                options = EmitOptions(
                    dialect=name, output=output, form=form, table=table, comments=False
                )
                try:
                    text = emit(program_of(forest), "sql", options).text
                except TargetError:
                    continue
                if form == "expression":
                    text = f"SELECT {text} FROM t"
                plain = re.sub(r"(\d)[df]\b", r"\1", text)  # of Oracle's numbers
                sqlglot.parse_one(plain.rstrip(";\n"), read=name)
                read += 1
    assert read > 20


# ---------------------------------------------------------------- mutants


def ensemble() -> ir.Forest:
    return many_trees(Random(3), 12, ir.Arithmetic.SINGLE)


def mutants(forest: ir.Forest) -> dict[str, ir.Forest]:
    """What a careless translation gets wrong."""
    first, second, *rest = forest.members
    started = tuple(value + 1.0 for value in forest.start)
    return {
        "order of trees": replace(forest, members=(*rest, second, first)),
        "double for single": replace(forest, arithmetic=ir.Arithmetic.DOUBLE),
        "base last": replace(forest, start=(0.0,), offset=forest.start),
        "another base": replace(forest, start=started),
        "a tree is lost": replace(forest, members=forest.members[1:]),
        "default side": _with_tests(
            forest, lambda t: replace(t, missing=not t.missing)
        ),
        "< for <=": _with_tests(forest, _below),
    }


def _below(test: ir.Condition) -> ir.Condition:
    from math import inf, nextafter

    assert isinstance(test.value, float)
    return replace(test, value=nextafter(test.value, -inf))


def _with_tests(forest: ir.Forest, changed: Any) -> ir.Forest:
    """The forest with another test at the root of its third tree."""
    member = forest.members[2]
    root = member.tree.nodes[0]
    assert isinstance(root, ir.Split)
    branches = tuple(replace(b, when=changed(b.when)) for b in root.branches)
    nodes = (replace(root, branches=branches), *member.tree.nodes[1:])
    other = replace(member, tree=replace(member.tree, nodes=nodes))
    return replace(forest, members=(*forest.members[:2], other, *forest.members[3:]))


@pytest.mark.parametrize("fault", mutants(ensemble()))
@pytest.mark.parametrize("target", ["python", "duckdb", "sqlite"])
def test_a_wrong_sum_is_found(target: str, fault: str) -> None:
    right, wrong = ensemble(), mutants(ensemble())[fault]
    options, to = EmitOptions(), "python"
    if target != "python":
        options, to = EmitOptions(dialect=target, output="margin"), "sql"
    text = emit(program_of(wrong), to, options).text
    assert not verify(program_of(right), text, budget=4_000).passed
    assert verify(program_of(wrong), text, budget=4_000).passed


@pytest.mark.parametrize("seed", range(12))
def test_values_by_position_have_the_answers_of_the_forest(seed: int) -> None:
    dice = Random(seed)
    forest = random_forest(dice)
    module = module_of(emit(program_of(forest), "python").text)
    places = required_features(forest)
    assert list(module.FEATURES) == [forest.features[place].name for place in places]
    for _ in range(40):
        row = random_row(dice, forest)
        expected = forests.answer(forest, forests.margins(forest, row))
        found, margins = module.decide(*[row[place] for place in places])
        several = isinstance(margins, tuple)
        sums = margins if several else (margins,)
        assert sums == forests.margins(forest, row)
        if forest.labels:
            assert found == expected
        else:
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-44, nan_ok=True)


def test_values_of_a_forest_in_the_wrong_places_are_found() -> None:
    program = program_of(ensemble())
    text = emit(program, "python").text
    assert verify(program, text, budget=4_000).passed
    for start in ("\ndef decide(", "    return decide("):
        broken = exchanged(text, start)
        assert not verify(program, broken, budget=4_000).passed, start


def exchanged(text: str, start: str) -> str:
    """The text in which the first two values after a place are exchanged."""
    value = r"(?:row\[[^]]+\]|\w+)"
    pattern = rf"({re.escape(start)}\s*)({value})((?:: [\w |]+)?,\s*)({value})"
    broken, count = re.subn(pattern, r"\1\4\3\2", text)
    assert count == 1
    return broken


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "rule"}, "a forest has no rules: learn one tree"),
        ({"output": "margin", "label": "yes"}, "one margin for both labels"),
        ({"output": "probability", "label": "maybe"}, "is not a label"),
    ],
)
def test_what_a_forest_does_not_have(options: dict[str, Any], message: str) -> None:
    forest = many_trees(Random(0), 2, ir.Arithmetic.DOUBLE)
    forest = replace(forest, labels=("no", "yes"), cut=0.0, link=ir.Link.LOGISTIC)
    with pytest.raises(OptionError, match=message):
        emit(program_of(forest), "sql", EmitOptions(**options))


def test_targets_without_forests_are_named() -> None:
    forest = many_trees(Random(0), 2, ir.Arithmetic.DOUBLE)
    with pytest.raises(TargetError, match="cannot become svg: use python"):
        emit(program_of(forest), "svg")


def test_32_bits_without_a_type_need_a_query() -> None:
    forest = many_trees(Random(0), 3, ir.Arithmetic.SINGLE)
    options = EmitOptions(dialect="bigquery")
    with pytest.raises(TargetError, match="32-bit numbers, which BigQuery does not"):
        emit(program_of(forest), "sql", options)
    query = emit(
        program_of(forest), "sql", replace(options, form="select", table="t")
    ).text
    assert query.count("536870913") == 6  # twice for each tree


def test_a_sum_that_is_too_long_says_what_to_do() -> None:
    forest = many_trees(Random(0), 600, ir.Arithmetic.DOUBLE)
    with pytest.raises(TargetError, match="600 trees, .* at most 350: use form=select"):
        emit(program_of(forest), "sql", EmitOptions(dialect="clickhouse"))


# ---------------------------------------------------------------- other forms


@pytest.mark.parametrize(
    "name", [each for each in DATABASES if each in ENGINES and each not in SLOW]
)
def test_several_outputs_and_dbt(name: str) -> None:
    engine = DATABASES[name]()
    forest = replace(
        many_trees(Random(4), 30, ir.Arithmetic.SINGLE),
        labels=("it's", "b"),
        cut=0.25,
        link=ir.Link.LOGISTIC,
        zero_is_missing=(1,),
    )
    program = program_of(forest)
    forms = [
        EmitOptions(form="select", table="t", output="label,margin,probability"),
        EmitOptions(form="dbt", table="t", output="probability", label="b"),
        EmitOptions(output="margin"),
    ]
    for options in forms:
        text = emit(program, "sql", replace(options, dialect=name)).text
        report = verify(program, text, url=engine.url, budget=400)
        assert report.passed, (options, report, report.mismatches[:2])
        assert report.rows > 100


def test_a_forest_scores_a_table(tmp_path: Path) -> None:
    import duckdb

    forest = many_trees(Random(5), 20, ir.Arithmetic.SINGLE)
    rows = [random_row(Random(n), forest) for n in range(50)]
    path = tmp_path / "rows.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE given (x DOUBLE, y DOUBLE, z DOUBLE)")
        connection.executemany("INSERT INTO given VALUES (?, ?, ?)", rows)
    model = treecompile.Model(program_of(forest))
    table = treecompile.Table(f"duckdb://{path}", "given")
    model.score(table, "scored", output="margin")
    with duckdb.connect(str(path)) as connection:
        found = connection.execute("SELECT x, y, z, margin FROM scored").fetchall()
    assert len(found) == len(rows)
    for *row, margin in found:
        assert forests.margins(forest, tuple(row)) == (margin,)
    with pytest.raises(OptionError, match="evaluate needs the rows of a forest"):
        model.evaluate(table)
