"""Distil: a tree learned from a forest's answers, measured on rows it has not seen."""

from __future__ import annotations

from collections import Counter
from math import isnan, nan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.commands import good, run
from tests.support.forests import random_forest, random_row, stump, tennis_forest
from tests.support.samples import ROOT, TENNIS
from treecompile import Model, OptionError, Table
from treecompile.api.distilled import telling
from treecompile.model import forests, ir
from treecompile.model.file import dumps, loads, sha256
from treecompile.model.forests import LeafNode, SplitNode, member
from treecompile.model.semantics import predict, required_features

X = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
Z = ir.Feature("z", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
COLOUR = ir.Feature(
    "colour", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("blue", "green", "red")
)
ABOVE_3 = ir.Condition(0, ir.Op.GT, 3.0, False)
LABELS = ("no", "yes")
PENGUINS = ROOT / "examples" / "penguins"


def program(forest: ir.Forest, **more: Any) -> ir.ForestProgram:
    return ir.ForestProgram("y", "LightGBM binary", forest, **more)


def labelled() -> ir.ForestProgram:
    """ "yes" if x is above 3."""
    return program(stump(X, ABOVE_3, (1.0, -1.0), LABELS))


def numbers() -> ir.ForestProgram:
    return program(stump(X, ABOVE_3, (10.5, -2.0)))


def frame(rows: int = 200) -> pd.DataFrame:
    return pd.DataFrame({"x": [place % 8 for place in range(rows)]})


def held_out_rows(rows: int, share: float, seed: int) -> list[int]:
    """The places that are held out, as the documents say."""
    order = np.random.default_rng(seed).permutation(rows)
    return sorted(order[: round(rows * share)].tolist())


def row_of(body: ir.AnyBody, values: dict[str, Any]) -> ir.Row:
    cells = (values.get(feature.name) for feature in body.features)
    return tuple(
        None if cell is None or (isinstance(cell, float) and isnan(cell)) else cell
        for cell in cells
    )


def by_forest(forest: ir.Forest, row: ir.Row) -> ir.Label:
    return forests.answer(forest, forests.margins(forest, row))


# ---------------------------------------------------------------- one tree


def test_a_forest_of_one_tree_is_found_again() -> None:
    made = treecompile.distil(labelled(), frame())
    assert made.fidelity == 1.0
    assert made.held_out == 67
    assert made.witnesses == ()
    assert made.accuracy is None
    assert made.model.n_leaves == 2
    body = made.model.program.body
    assert body.features == (X,)
    assert body.labels == LABELS
    assert [predict(body, (value,)) for value in (3.0, 4.0)] == ["no", "yes"]


def test_numbers_are_found_again() -> None:
    made = treecompile.distil(numbers(), frame())
    assert (made.fidelity, made.rmse) == (1.0, 0.0)
    assert made.model.program.body.labels == ()
    assert [predict(made.model.program.body, (value,)) for value in (3.0, 4.0)] == [
        *(-2.0, 10.5)
    ]
    with pytest.raises(AttributeError, match="predicts labels"):
        _ = treecompile.distil(labelled(), frame()).rmse


def test_the_model_says_what_it_stands_in_for() -> None:
    forest = labelled()
    made = treecompile.distil(forest, frame(), max_leaves=5)
    found = made.model.program
    assert found.algorithm == "cart, distilled from LightGBM binary"
    options = dict(found.options)
    assert options["forest_sha256"] == sha256(forest)
    assert options["max_leaves"] == 5
    assert loads(dumps(found)) == found
    document = made.model.emit("markdown")
    assert "It was learned with CART and is shown as 2 rules" in document
    assert f"a forest (LightGBM binary, SHA-256 {sha256(forest)})" in document
    assert "### Held-out data, compared with the answers of the forest" in document
    assert "forest_sha256" not in document.partition("## Features")[0]
    assert "As the forest answers these" in made.model.emit("html")
    assert made.model.importances == {"x": 1.0}


def test_measured_on_known_answers_it_compares_with_those(tmp_path: Path) -> None:
    treecompile.distil(labelled(), frame()).model.save(tmp_path / "m.json")
    rows = frame().assign(y="no")
    built = treecompile.build(tmp_path / "m.json", tmp_path / "out", rows=rows)
    document = built.paths["RULES.md"].read_text()
    assert "It imitates a forest" in document
    assert "compared with the answers" not in document
    assert "right in 100 of 200 cases" in document


# ---------------------------------------------------------------- what it learns from


def test_a_model_is_taken_too() -> None:
    model = Model(labelled())
    assert treecompile.distil(model, frame()).fidelity == 1.0


def test_columns_that_the_forest_does_not_test_are_not_used() -> None:
    nodes: list[SplitNode | LeafNode]
    nodes = [SplitNode(ABOVE_3, 1, 2), LeafNode((1.0,)), LeafNode((-1.0,))]
    forest = ir.Forest(
        (X, Z, COLOUR), LABELS, (member((X, Z, COLOUR), (0,), nodes),), (0.0,), cut=0.0
    )
    rows = frame()
    answer = np.where(rows.x > 3, 1.0, 0.0)
    # The target, z and another column give the answer away, and x only partly.
    rows = rows.assign(z=answer, y=np.where(answer > 0, "yes", "no"), other=answer)
    made = treecompile.distil(program(forest), rows, max_depth=1)
    body = made.model.program.body
    assert body.features == (X, Z, COLOUR)
    assert required_features(body) == (0,)
    known = made.model.program.training
    assert known is not None
    assert known.columns[1] == ir.ColumnSummary(0, 0.0, 1.0)
    assert known.columns[2].missing == known.rows  # there is no such column


def test_categories_missing_and_unseen_values() -> None:
    test = ir.Condition(0, ir.Op.IN, ("blue", "red"), True)
    forest = program(stump(COLOUR, test, (1.0, -1.0), LABELS))
    colours = ["blue", "green", "red", None, "pink", "green"] * 40
    rows = pd.DataFrame({"colour": colours})
    made = treecompile.distil(forest, rows)
    body = made.model.program.body
    assert body.features == (COLOUR,)
    assert [predict(body, (value,)) for value in ("blue", "green", "red", None)] == [
        *("yes", "no", "yes", "yes")
    ]
    assert any("'colour' has categories that the forest" in n for n in made.model.notes)
    pairs = held_out_rows(240, 1 / 3, 0)
    pink = [place for place in pairs if colours[place] == "pink"]
    own = predict(body, ("pink",))  # the forest says "no"
    assert made.fidelity == 1 - len(pink) * (own != "no") / len(pairs)
    if own != "no":
        assert made.witnesses[0].row == {"colour": "pink"}


def test_texts_that_mean_missing_for_the_forest_do_so_for_the_tree(
    tmp_path: Path,
) -> None:
    test = ir.Condition(0, ir.Op.GT, 3.0, True)
    forest = program(stump(X, test, (1.0, -1.0), LABELS), na_values=("NA",))
    lines = ["x", *(["1", "NA", "5", "?"] * 30)]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    made = treecompile.distil(forest, tmp_path / "data.csv", na_value="?")
    assert made.fidelity == 1.0
    assert made.model.program.na_values == ("NA", "?")


def test_labels_that_no_row_gets_stay_labels() -> None:
    made = treecompile.distil(labelled(), pd.DataFrame({"x": [1.0, 2.0] * 40}))
    assert made.model.program.body.labels == LABELS
    assert made.model.n_leaves == 1
    assert made.fidelity == 1.0
    constant = treecompile.distil(numbers(), pd.DataFrame({"x": [1.0, 2.0] * 40}))
    assert isnan(constant.fidelity)
    assert "R squared undefined" in repr(constant)


def test_the_tree_has_30_leaves_unless_its_size_is_given() -> None:
    dice = Random(5)
    xs = pd.DataFrame({"x": [dice.random() for _ in range(600)]})
    cuts = [step / 60 for step in range(1, 60)]
    members = []
    for place, cut in enumerate(cuts):
        test = ir.Condition(0, ir.Op.GT, cut, False)
        values = (-1.0) ** place
        nodes: list[SplitNode | LeafNode]
        nodes = [SplitNode(test, 1, 2), LeafNode((values,)), LeafNode((0.0,))]
        members.append(member((X,), (0,), nodes))
    forest = program(ir.Forest((X,), LABELS, tuple(members), (0.0,), cut=0.5))
    assert treecompile.distil(forest, xs, prune="none").model.n_leaves == 30
    assert treecompile.distil(forest, xs, max_leaves=7).model.n_leaves <= 7
    free = treecompile.distil(forest, xs, prune="none", max_leaves=None)
    assert free.model.n_leaves > 30
    by_c45 = treecompile.distil(forest, xs, algorithm="c45").model
    assert by_c45.program.algorithm == "c45, distilled from LightGBM binary"


# ---------------------------------------------------------------- what is measured


@pytest.mark.parametrize("seed", range(40))
def test_figures_are_those_of_both_models_on_the_held_out_rows(seed: int) -> None:
    """Every figure again, row by row, by the reference evaluators."""
    dice = Random(seed)
    forest = random_forest(dice)
    names = [feature.name for feature in forest.features]
    rows = [random_row(dice, forest) for _ in range(150)]
    table = pd.DataFrame({n: [r[i] for r in rows] for i, n in enumerate(names)})
    table = table.astype(
        {f.name: object for f in forest.features if f.kind is not ir.Kind.NUMERIC}
    )
    known: list[ir.Label | None] = [
        dice.choice([*forest.labels, None]) if forest.labels else dice.gauss(0, 5)
        for _ in rows
    ]
    table["y"] = pd.Series(known, dtype=object if forest.labels else float)
    share, form = dice.choice([1 / 3, 0.5]), dice.choice([None, "flat"])
    made = treecompile.distil(
        program(forest), table, held_out=share, seed=seed, rules=form
    )
    held_out = held_out_rows(150, share, seed)
    body = made.model.program.body
    theirs = [by_forest(forest, rows[place]) for place in held_out]
    ours = [predict(body, rows[place]) for place in held_out]
    assert made.held_out == len(held_out)
    if forest.labels:
        same = [a == b for a, b in zip(theirs, ours, strict=True)]
        assert made.fidelity == pytest.approx(sum(same) / len(same))
        pairs = Counter(zip(theirs, ours, strict=True))
        for each in made.witnesses:
            assert each.rows == pairs[each.forest, each.model]
        right = [
            (a == known[p], b == known[p])
            for p, a, b in zip(held_out, theirs, ours, strict=True)
            if known[p] is not None
        ]
        assert made.accuracy == pytest.approx(tuple(np.mean(right, axis=0)))
    else:
        errors = np.array(theirs, float) - np.array(ours, float)
        assert made.rmse == pytest.approx(float(np.sqrt((errors**2).mean())))
        actual = np.array([known[place] for place in held_out], float)
        wanted = [
            float(np.sqrt(((np.array(some, float) - actual) ** 2).mean()))
            for some in (theirs, ours)
        ]
        assert made.accuracy == pytest.approx(tuple(wanted))
    tested = {names[index] for index in required_features(forest)}
    for each in made.witnesses:
        assert each.number - 1 in held_out
        row = rows[each.number - 1]
        assert each.row.keys() == tested
        assert all(
            each.row[n] == v for n, v in zip(names, row, strict=True) if n in tested
        )
        assert each.forest == by_forest(forest, row) != each.model == predict(body, row)
    assert len(made.witnesses) == min(
        5, sum(a != b for a, b in zip(theirs, ours, strict=True))
    )


def test_the_most_frequent_pair_comes_first() -> None:
    ours = np.array([0, 0, 0, 1, 1, 2, 2])
    theirs = np.array([0, 1, 2, 2, 2, 1, 2])
    # 1 and 2 part in rows 3 and 4; the others once each.
    assert telling(("a", "b", "c"), theirs, ours) == [3, 1, 5, 2, 4]
    far = np.array([1.0, 5.0, 2.0, 2.0])
    assert telling((), far, np.array([1.0, 2.0, 9.0, 1.0])) == [2, 1, 3]


def test_a_target_that_cannot_be_read_is_no_obstacle() -> None:
    forest = program(stump(X, ABOVE_3, (1.0, -1.0), (0, 1)))
    made = treecompile.distil(forest, frame().assign(y="maybe"))
    assert made.accuracy is None
    assert any("the accuracy against 'y' is not known" in n for n in made.model.notes)
    unknown = treecompile.distil(labelled(), frame().assign(y="maybe"))
    assert unknown.accuracy is None


def test_reduced_error_and_validation_do_not_prune_by_held_out_rows() -> None:
    rows = frame()
    held_out = set(held_out_rows(200, 1 / 3, 0))
    for options in ({"prune": "reduced-error"}, {"rules": "validation"}):
        given: dict[str, Any] = {**options, "validation_fraction": 0.25}
        made = treecompile.distil(labelled(), rows, **given)
        assert made.fidelity == 1.0
        assert "expect" not in made.model.emit("markdown")
        # Other answers on the held-out rows change nothing but the figures.
        changed = rows.assign(
            x=[9 if p in held_out else x for p, x in enumerate(rows.x)]
        )
        other = treecompile.distil(labelled(), changed, **given)
        assert other.model.program.body == made.model.program.body


def test_it_shows_itself() -> None:
    made = treecompile.distil(labelled(), frame().assign(y="yes"))
    assert repr(made).splitlines() == [
        "2 leaves, depth 1, learned from the answers of LightGBM binary (1 tree) to 133"
        " rows",
        "fidelity: 100.0 %, the forest's answer for 67 of 67 held-out rows;"
        f" {100 * share_of_yes(200):.1f} % by always answering {common(200)}",
        f"accuracy: forest {100 * yes(200):.1f} %, tree {100 * yes(200):.1f} %, on 67"
        " held-out rows with a known y",
    ]
    assert "<p>fidelity: 100.0 %" in made._repr_html_()


def yes(rows: int) -> float:
    return float(np.mean([p % 8 > 3 for p in held_out_rows(rows, 1 / 3, 0)]))


def share_of_yes(rows: int) -> float:
    return max(yes(rows), 1 - yes(rows))


def common(rows: int) -> str:
    return "yes" if yes(rows) > 0.5 else "no"


# ---------------------------------------------------------------- the command


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("forest.json").write_text(dumps(tennis_forest()))
    frame().to_csv("data.csv", index=False)
    Path("x.json").write_text(dumps(labelled()))


@pytest.mark.usefixtures("_folder")
def test_the_command() -> None:
    result = good("distil", PENGUINS / "forest.json", PENGUINS / "penguins.csv")
    lines = result.stderr.splitlines()
    assert result.stdout == ""
    assert [line.partition(":")[0] for line in lines[2:5]] == [
        *("fidelity", "accuracy", "where they differ, for example")
    ]
    assert sum(line.startswith("  row ") for line in lines) == 5
    assert lines[-1] == "wrote model.json"
    made = treecompile.load("model.json")
    found = made.program
    assert found.target == "sex"
    forest = treecompile.model.file.read_any_program(PENGUINS / "forest.json")
    same = treecompile.distil(forest, PENGUINS / "penguins.csv")
    assert same.model.sha256 == made.sha256
    quiet = good("distil", "x.json", "data.csv", "-q", "-o", "-")
    assert quiet.stderr == ""
    assert loads(quiet.stdout).target == "y"


REFUSED = [
    ("m.json data.csv", "distil needs a forest, and m.json is a tree (5 leaves"),
    ("r.json data.csv", "distil needs a forest, and r.json is a list of rules (5 rul"),
    ("x.json tennis.csv", "no column 'x'"),
    ("x.json nowhere.csv", "cannot read 'nowhere.csv'"),
    ("x.json . ", "distil needs the rows in memory"),
    ("x.json data.csv --held-out 1", "--held-out 1: expected a number between 0 and 1"),
    ("x.json data.csv --held-out 0", "--held-out 0: expected a number between 0 and 1"),
    ("x.json data.csv --held-out nan", "--held-out nan: expected a number between"),
    ("x.json data.csv --held-out 1e-9", "--held-out 1e-09 holds out none of 200 rows"),
    ("x.json one.csv", "--held-out 0.333 holds out none of 1 rows"),
    ("x.json data.csv --rules validation", "--rules validation needs rows to prune"),
    ("x.json data.csv --prune reduced-error", "--prune reduced-error needs rows to"),
    ("n.json data.csv --rules c45rules", "--rules c45rules is for labels, and the"),
    ("n.json data.csv --algorithm c45", "c45 predicts labels, and the target 'y'"),
    ("x.json data.csv --algorithm c5", "--algorithm 'c5': expected id3, c45 or cart"),
    ("x.json data.csv --target y", "No such option '--target'"),
    ("x.json data.csv -o data.csv", ""),
    ("x.json data.csv --json -o -", "--json and -o - both write to standard output"),
]


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize(("line", "said"), REFUSED)
def test_what_is_refused(line: str, said: str) -> None:
    Path("tennis.csv").write_text(TENNIS.read_text())
    Path("one.csv").write_text("x\n1\n")
    Path("n.json").write_text(dumps(numbers()))
    good("learn", "tennis.csv", "--target", "play", "-q", "-o", "m.json")
    good("rules", "m.json", "-q", "-o", "r.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    result = run("distil", *line.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {said}"), result.stderr
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_what_python_refuses(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="distil needs the rows in memory"):
        treecompile.distil(labelled(), Table("duckdb://x.db", "t"))
    with pytest.raises(OptionError, match="expected one of flat"):
        treecompile.distil(labelled(), frame(), rules="all")
    with pytest.raises(OptionError, match="held_out"):
        treecompile.distil(labelled(), frame(), held_out=nan)
    with pytest.raises(TypeError, match="unexpected keyword argument 'target'"):
        treecompile.distil(labelled(), frame(), target="y")  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="is a tree"):
        treecompile.distil(treecompile.learn(TENNIS, target="play"), TENNIS)
