"""Artefacts of a tree that divides missing values: what they say and refuse."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import black
import pytest
from click.testing import CliRunner

from tests.support.fractional import HEAT, SKY, counts, leaf, numbers, of, program, tree
from tests.support.random_models import large_tree
from tests.support.samples import ROOT, TENNIS, balanced, every_type, module_of
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.emit import templates
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Branch,
    Condition,
    Feature,
    Kind,
    Leaf,
    MissingPolicy,
    Op,
    Program,
    Row,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import distribution, negate, predict
from treecompile.verify.execution import run_sql
from treecompile.verify.python_process import run_python
from treecompile.verify.verification import verify

UNKNOWN: dict[str, Any] = {"sky": None, "heat": None}


def divided(given: Program) -> Program:
    """The same program, which divides missing values."""
    assert isinstance(given.body, Tree)
    return replace(given, body=replace(given.body, missing=MissingPolicy.FRACTIONAL))


def two_ways(cut: float, low: int, high: int, *weights: float) -> Split:
    test = Condition(0, Op.LE, cut, missing=True)
    branches = (
        Branch(test, low, weights[0]),
        Branch(negate(test), high, weights[1]),
    )
    return Split(branches, counts(1, 1), 0.0)


# ---------------------------------------------------------------- Python


def test_the_interface_of_the_module() -> None:
    module = module_of(emit(program(), "python").text)
    assert module.predict({"sky": "clear", "heat": 30}) == "no"
    assert module.predict({"sky": "clear", "heat": 30}, rule=True) == "R2"
    assert module.predict(UNKNOWN) == "yes"
    assert module.predict(UNKNOWN, rule=True) == "divided"
    no = (6 * 0.5 + 6 * (1 / 6)) / 12
    yes = (6 * 0.5 + 6 * (5 / 6)) / 12
    assert module.predict_proba(UNKNOWN) == {"no": no, "yes": yes}
    rows = [UNKNOWN, {"sky": "hail", "heat": nan}, {"sky": "dark", "heat": None}]
    assert module.predict_many(rows) == ["yes", "yes", "no"]


def test_a_value_that_is_not_asked_for_divides_nothing() -> None:
    module = module_of(emit(program(), "python").text)
    row = {"sky": "dark", "heat": None}
    assert module.predict(row, rule=True) == "R4"
    assert module.predict_proba(row) == {"no": 1.0, "yes": 0.0}
    assert module.explain(row) == "R4: if sky = dark then play = no (no case)"


def test_an_explanation_names_the_rules_with_their_shares() -> None:
    module = module_of(emit(program(), "python").text)
    assert module.explain({"sky": None, "heat": 30}).splitlines() == [
        "divided: play = no (58.3 %), shared by these rules; unknown: sky",
        "  50.0 % R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)",
        "  50.0 % R3: if sky = grey (or any other, or missing) then play = yes"
        " (5 of 6 cases)",
    ]
    # A branch that no case went down has no share and is not named.
    assert "R4" not in module.explain(UNKNOWN)
    assert "unknown: sky, heat" in module.explain(UNKNOWN)


def test_an_explanation_of_many_rules_is_cut_short() -> None:
    module = module_of(emit(divided(balanced(5)), "python").text)
    lines = module.explain({"x": None}).splitlines()
    head = "divided: itself = 15.5, shared by these rules; unknown: x"
    assert lines[0] == head
    assert len(lines) == 12
    assert lines[1] == "  3.1 % R1: if x <= 0.5 then itself = 0 (1 case, sd 0)"
    assert lines[-1] == "  and 22 more with smaller shares"


def test_a_part_of_a_row_may_come_where_no_row_can() -> None:
    """Below heat <= 1 the branch of heat > 5 takes none but parts of unknown heat."""
    given = of(
        two_ways(1.0, 1, 2, 1.0, 3.0),
        two_ways(5.0, 3, 4, 1.0, 1.0),
        leaf(3, 0),
        leaf(3, 0),
        leaf(0, 3),
    )
    module = module_of(emit(given, "python").text)
    assert "R2: if heat <= 1 (or missing) and heat > 5 then" in module.explain(
        {"heat": None}
    )
    assert module.predict_proba({"heat": None}) == {"no": 0.875, "yes": 0.125}


def test_a_leaf_answers_by_its_shares() -> None:
    """As the semantics do, whatever value it carries."""
    odd = Leaf("yes", counts(2, 1), 3.0)
    given = of(two_ways(1.0, 1, 2, 1.0, 1.0), odd, leaf(0, 1))
    assert predict(given.body, (0.0,)) == "no"
    text = emit(given, "python").text
    (answer,) = run_python(text, given.body.features, [(0.0,)])
    assert (answer.label, answer.rule) == ("no", "R1")
    assert verify(given, text).passed
    assert verify(given, emit(given, "sql").text).passed


def test_wrong_types_and_absent_columns_are_still_errors() -> None:
    module = module_of(emit(program(), "python").text)
    with pytest.raises(TypeError, match="'heat' is 'x': expected a number"):
        module.predict({"sky": None, "heat": "x"})
    with pytest.raises(KeyError, match="heat"):
        module.predict({"sky": None})


def test_a_single_leaf_has_nothing_to_divide() -> None:
    given = of(leaf(1, 2))
    text = emit(given, "python").text
    assert "divided" not in text
    assert module_of(text).predict({}) == "yes"
    assert verify(given, text).passed
    assert verify(given, emit(given, "sql", EmitOptions(output="rule")).text).passed


def test_the_text_is_as_black_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "BLACK_UP_TO", 0)
    many = replace(large_tree(30), missing=MissingPolicy.FRACTIONAL)
    for most in (1_000, 0):  # sentences as they are, and put together
        monkeypatch.setattr("treecompile.emit.explanations.SENTENCES", most)
        for given in (program(), divided(balanced(3)), Program("y", "z", many)):
            text = emit(given, "python").text
            assert text == black.format_str(text, mode=black.Mode())


# ---------------------------------------------------------------- SQL


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("form", ["expression", "select", "view"])
def test_every_form_and_output_of_sql(dialect: str, form: str) -> None:
    rows: list[Row] = [("clear", 30.0), (None, 30.0), ("hail", None), ("dark", None)]
    body = tree()
    shares = [distribution(body, row) for row in rows]
    expected = {
        ("label", ""): ["no", "no", "yes", "no"],
        ("rule", ""): ["R2", "divided", "divided", "R4"],
        ("probability", ""): [max(some) for some in shares],
        ("probability", "yes"): [some[1] for some in shares],
    }
    for (output, label), answers in expected.items():
        options = EmitOptions(
            dialect=dialect, form=form, table="t", output=output, label=label
        )
        text = emit(program(), "sql", options).text
        found = run_sql(text, body.features, rows, ENGINES[dialect])
        assert found == answers, (output, label)
        assert verify(program(), text).passed


def test_a_select_has_the_columns_of_its_table_and_one_more() -> None:
    import sqlite3

    options = EmitOptions(form="select", table="t")
    text = emit(program(), "sql", options).text
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER, sky TEXT, heat REAL)")
    found = connection.execute(text)
    names = [column[0] for column in found.description]
    assert names == ["id", "sky", "heat", "prediction"]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_columns_that_are_called_like_ours(dialect: str) -> None:
    names = ("v0_0", "X1")
    features = tuple(
        replace(f, name=n) for f, n in zip((SKY, HEAT), names, strict=True)
    )
    given = replace(program(), body=replace(tree(), features=features))
    for output in ("label", "probability", "rule"):
        text = emit(given, "sql", EmitOptions(dialect=dialect, output=output)).text
        assert verify(given, text).passed
    assert "tc_x0" in emit(given, "sql").text


def test_categories_over_several_lines_stay_as_they_are() -> None:
    sky = Feature("sky", Kind.CATEGORICAL, ValueType.STR, ("a\nb", "a\n  b", "c"))
    test = Condition(0, Op.IN, ("a\nb",), missing=False)
    branches = (Branch(test, 1, 2.0), Branch(negate(test), 2, 1.0))
    given = of(
        Split(branches, counts(1, 1), 0.0), leaf(1, 0), leaf(0, 1), features=(sky,)
    )
    for form in ("expression", "select"):
        text = emit(given, "sql", EmitOptions(form=form, table="t")).text
        assert verify(given, text).passed


def chain(depth: int, weight: float = 1.0) -> Program:
    nodes: list[Split | Leaf] = []
    for level in range(depth):
        split = two_ways(float(level), 2 * level + 1, 2 * level + 2, weight, 1.0)
        nodes += [split, leaf(1, 0)]
    return of(*nodes, leaf(0, 1))


def test_a_chain_is_added_up_in_stages() -> None:
    given = chain(300)
    text = emit(given, "sql", EmitOptions(output="probability", label="yes")).text
    assert text.count(" AS (\n") == 1 + 38  # eight sums in each but the first
    body = given.body
    assert isinstance(body, Tree)
    rows: list[Row] = [(None,), (0.0,), (299.5,)]
    expected = [distribution(body, row)[1] for row in rows]
    assert 0 < expected[0] < 1e-80
    assert run_sql(text, body.features, rows, ENGINES["sqlite"]) == expected


def dialect_with(folder: Path, *changes: tuple[str, str]) -> EmitOptions:
    """SQLite with other limits."""
    text = (ROOT / "templates/sql/dialects/sqlite.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{len(list(folder.iterdir()))}.toml"
    path.write_text(text, encoding="utf-8")
    return EmitOptions(dialect=str(path))


def test_what_sql_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    few = dialect_with(tmp_path, ("terms = 20000", "terms = 39"))
    with pytest.raises(TargetError, match="needs 40 sums .* limit for SQLite is 39"):
        emit(chain(20), "sql", few)
    assert emit(chain(19), "sql", few).text
    assert "divided" in emit(chain(20), "sql", replace(few, output="rule")).text
    narrow = dialect_with(tmp_path, ("columns = 1900", "columns = 2"))
    with pytest.raises(TargetError, match="needs 3 columns, but SQLite allows 2"):
        emit(chain(9), "sql", narrow)
    assert emit(chain(8), "sql", narrow).text
    short = dialect_with(tmp_path, ("stages = 500", "stages = 2"))
    with pytest.raises(TargetError, match="3 nested queries, but SQLite allows 2"):
        emit(chain(17), "sql", short)
    assert emit(chain(16), "sql", short).text
    text = (ROOT / "templates/sql/dialects/sqlite.toml").read_text(encoding="utf-8")
    none = dialect_with(tmp_path, (text[text.index("[sums]") :], ""))
    with pytest.raises(TargetError, match="does not divide missing values in SQLite"):
        emit(program(), "sql", none)
    labels = tuple(f"l{n}" for n in range(902))
    stats = replace(counts(1, 1), weights=(1.0,) * 902)
    nodes = (chain(1).body.nodes[0], *[Leaf("l0", stats, 1.0)] * 2)  # type: ignore[union-attr]
    body = Tree((HEAT,), labels, nodes, MissingPolicy.FRACTIONAL)
    with pytest.raises(
        TargetError, match="joins 901 conditions, but SQLite allows 900"
    ):
        emit(Program("y", "by hand", body), "sql")


def test_what_sql_cannot_add_up_is_refused_by_name() -> None:
    with pytest.raises(TargetError, match="exceed the largest double"):
        emit(numbers(1e308, -1e308), "sql")
    assert emit(numbers(1e307, -1e307), "sql").text
    postgres = EmitOptions(dialect="postgres")
    with pytest.raises(TargetError, match="too small for PostgreSQL"):
        emit(numbers(1e-308, 1.0), "sql", postgres)
    with pytest.raises(TargetError, match="too small for PostgreSQL"):
        emit(chain(1_100), "sql", postgres)
    assert emit(chain(1_000), "sql", postgres).text


# ---------------------------------------------------------------- commands


def test_build_verifies_a_model_that_divides(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["build", str(TENNIS), "--target", "play", "--out", str(out)]
    arguments += ["--predict-missing", "fractional", "--engine", "duckdb"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "verified predict.py on python" in result.stderr
    assert "verified predict.sql on sqlite" in result.stderr
    assert "verified the SQL for duckdb on duckdb" in result.stderr
    model = str(out / "model.json")
    result = CliRunner().invoke(main, ["verify", model, str(out / "predict.py")])
    assert result.exit_code == 0, result.output


def test_a_sample_says_what_it_is() -> None:
    from treecompile.cli.reports import verification

    given = divided(every_type())
    report = verify(given, emit(given, "python").text, budget=400)
    assert report.passed
    assert not report.complete
    assert report.entered == report.cells == 6 + 5  # the rules and the divisions
    assert report.divided > 100
    (line,) = verification("predict.py", report)
    assert f"edges met, {report.divided} rows with divided values" in line


def test_edge_rows_divide_too() -> None:
    found = Model(program()).edge_rows()
    assert ({"sky": None, "heat": None}, "yes") in found
    body = program().body
    assert all(answer == predict(body, tuple(row.values())) for row, answer in found)
