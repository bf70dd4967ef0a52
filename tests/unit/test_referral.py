"""Models that refer rows to a human: where, by which label, and with which figures."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.random_models import random_body, random_row
from treecompile.emit.compiler import emit
from treecompile.inspect.quality import quality_line
from treecompile.model.errors import OptionError
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.ir import ClassQuality, Program, Tree
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    is_unknown,
    predict,
    required_features,
)
from treecompile.rules.options import ReferOptions
from treecompile.rules.referral import refer
from treecompile.verify.verification import verify

PENGUINS = "examples/penguins/penguins.csv"
REFER = ("missing", "unseen", "below=0.9", "fewer=20")


def penguins(*when: str, **options: object) -> treecompile.Model:
    known = {"target": "species", "na_value": "NA", **options}
    return treecompile.learn(PENGUINS, refer=when, **known)  # type: ignore[arg-type]


def referring(program: Program, *when: str) -> Program:
    return refer(program, ReferOptions(when, "refer it")).program


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("when", [("missing",), ("unseen",), ("missing", "unseen")])
def test_unknown_values_are_referred_and_all_others_answered(
    seed: int, when: tuple[str, ...]
) -> None:
    random = Random(seed)
    body = random_body(random)
    if not body.labels or not isinstance(body.labels[0], str):
        return
    made = referring(Program("y", "test", body), *when).body
    tested = required_features(body)
    for _ in range(30):
        row = random_row(random, body)
        absent = [i for i in tested if row[i] is None or row[i] != row[i]]
        unseen = [
            i
            for i in tested
            if i not in absent and is_unknown(body.features[i], row[i])
        ]
        answer = predict(made, row)
        if not absent and not unseen:
            assert answer == predict(body, row)
        elif answer != "refer it":
            # Nothing on the way asked for it, or it is not of the kind asked for.
            assert isinstance(made, Tree) or not (absent and "missing" in when)


def test_missing_and_unseen_are_two_reasons() -> None:
    rows = {"colour": ["red", "blue"] * 10, "y": ["a", "b"] * 10}
    model = treecompile.learn(pd.DataFrame(rows), target="y")
    frame = pd.DataFrame({"colour": ["red", "green", None]})
    found = {
        when: list(model.refer(*when.split()).predict(frame))
        for when in ("missing", "unseen", "missing unseen")
    }
    assert found["missing"][0] == found["unseen"][0] == "a"
    assert found["missing"][1] != "refer"
    assert found["missing"][2] == "refer"
    assert found["unseen"][1] == "refer"
    assert found["unseen"][2] != "refer"
    assert found["missing unseen"] == ["a", "refer", "refer"]


@pytest.mark.parametrize("rules", ["tree", "flat", "c45rules"])
def test_what_refers_is_verified_and_survives_its_file(rules: str) -> None:
    model = penguins()
    if rules == "flat":
        model = model.rules()
    if rules == "c45rules":
        model = model.prune(training=PENGUINS, na_value="NA")
    program = model.refer(*REFER).program
    assert program.body.labels[-1] == "refer"
    assert loads(dumps(program)) == program
    for target in ("python", "sql"):
        text = emit(program, target).text
        assert verify(program, text, budget=3000).passed


def test_no_weak_leaf_answers() -> None:
    program = penguins(*REFER).program
    assert program.training is not None
    tallies = program.training.rules
    for rule, tally in zip(outcomes(program.body).values(), tallies, strict=True):
        if rule.value != "refer":
            assert tally.decided >= 20
            assert 1 - tally.errors / tally.decided >= 0.9
        assert sum(rule.stats.weights) > 0  # type: ignore[union-attr]


def test_the_counts_of_weak_leaves_are_exact_without_their_rows() -> None:
    """Those of the rows that were moved are those that counting them again gives."""
    moved = penguins().refer("below=0.95", "fewer=10").program
    counted = penguins("below=0.95", "fewer=10").program
    assert moved.body == counted.body
    assert moved.training is not None
    assert counted.training is not None
    assert moved.training.quality == counted.training.quality
    assert moved.training.rules == counted.training.rules


def test_referred_rows_are_neither_right_nor_wrong_in_the_report() -> None:
    program = penguins("fewer=20").program
    assert program.training is not None
    quality = program.training.quality
    assert isinstance(quality, ClassQuality)
    matrix = np.array(quality.confusion)
    assert matrix[-1].sum() == 0  # no row is known to be `refer`
    away, total, right = matrix[:, -1].sum(), matrix.sum(), np.trace(matrix)
    assert 0 < away < total
    rest = f"{100 * right / (total - away):.1f} % of the others are right"
    assert f"({100 * away / total:.1f} % referred, {rest})" in quality_line(program)
    document = emit(program, "markdown").text
    assert f"Referred to a human: {away} cases" in document
    assert "**refer to a human (species = refer)**" in document


def test_a_referred_row_is_certain_to_be_referred() -> None:
    model = penguins("missing")
    row = {"island": None, "bill_length_mm": None, "sex": None}
    frame = pd.DataFrame([{"flipper_length_mm": None, **row}])
    shares = model.predict_proba(frame)
    assert list(shares.iloc[0]) == [0.0, 0.0, 0.0, 1.0]


def test_the_options_are_in_the_model() -> None:
    options = dict(penguins("missing", "fewer=5").program.options)
    assert options["refer"] == "missing, fewer=5"
    assert options["refer_label"] == "refer"


@pytest.mark.parametrize(
    ("when", "label", "said"),
    [
        (("sometimes",), "refer", "expected missing, unseen, below=SHARE or fewer"),
        (("below",), "refer", "expected missing, unseen, below=SHARE or fewer"),
        (("missing=1",), "refer", "expected missing, unseen, below=SHARE or fewer"),
        (("below=2",), "refer", "below=2': expected a number from 0 to 1"),
        (("below=nan",), "refer", "below=nan': expected a number from 0 to 1"),
        (("fewer=1.5",), "refer", "fewer=1.5': expected a whole number"),
        (("missing", "missing"), "refer", "refer='missing' is given twice"),
        (("missing",), "Adelie", "'Adelie' is a label of the model: choose another"),
        (("missing",), 3, "the labels are texts"),
    ],
)
def test_mistakes_are_named(when: tuple[str, ...], label: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        penguins().refer(*when, label=label)


def test_the_label_has_the_type_of_the_others() -> None:
    frame = pd.DataFrame({"x": range(40), "y": [1, 2] * 20})
    numbers = treecompile.learn(frame, target="y")
    with pytest.raises(OptionError, match="integers: add refer_label=-1"):
        numbers.refer("missing")
    assert numbers.refer("missing", label="-1").program.body.labels == (1, 2, -1)
    truths = treecompile.learn(frame.assign(y=frame.y == 1), target="y")
    with pytest.raises(OptionError, match="there is no third"):
        truths.refer("missing")
    values = treecompile.learn(frame, target="y", task="regress")
    with pytest.raises(OptionError, match="predicts numbers"):
        values.refer("missing")


def test_a_model_learns_to_refer_once() -> None:
    with pytest.raises(OptionError, match="refers rows already"):
        penguins("missing").refer("unseen", label="human")


def test_referred_rows_are_only_counted() -> None:
    """No row has this answer: "0 of 6 cases" would say that all were wrong."""
    model = penguins("below=0.9", "fewer=20")
    shown = [model.show(), model.draw(), model.rules().show(), model.emit("sql")]
    for text in (*shown, model.emit("python")):
        assert "0 of" not in text
    assert "-> refer  (R" in shown[0]


def test_edited_rules_still_refer(tmp_path: Path) -> None:
    text = penguins("missing", "below=0.9").emit("markdown")
    edited = tmp_path / "EDITED.md"
    start = text.index("```rules")
    block = text[start:].replace("bill_length_mm <= 42.3", "bill_length_mm <= 42.5", 1)
    edited.write_text(text[:start] + block)
    model = treecompile.build(edited, tmp_path / "out", rows=PENGUINS).model
    assert "% referred" in quality_line(model.program)
    row = {"flipper_length_mm": None, "bill_length_mm": 40.0, "sex": "male"}
    frame = pd.DataFrame([{**row, "island": "Dream"}])
    shares = model.predict_proba(frame).iloc[0]
    assert shares["refer"] == 1.0
