"""Rows in every form that Python has them in: the answers are those to a frame."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.random_models import random_program, random_row
from tests.support.samples import ROOT
from treecompile import DataError, Model
from treecompile.model.semantics import predict

PENGUINS = ROOT / "examples" / "penguins" / "penguins.csv"


@pytest.fixture(scope="module")
def penguins() -> pd.DataFrame:
    return pd.read_csv(PENGUINS)


@pytest.fixture(scope="module")
def model(penguins: pd.DataFrame) -> Model:
    return treecompile.learn(penguins, target="species")


def row(**changed: Any) -> dict[str, Any]:
    usual = {"island": "Biscoe", "bill_length_mm": 50.0, "flipper_length_mm": 190}
    return {**usual, "sex": None, **changed}


# ---------------------------------------------------------------- one row


def test_one_row_has_one_answer(model: Model) -> None:
    assert model.predict(row()) == "Gentoo"
    assert model.predict(row(island="Dream")) == "Chinstrap"
    assert model.predict(pd.Series(row())) == "Gentoo"
    assert model.predict_proba(row()) == model.explain(row()).probabilities
    assert sum(model.predict_proba(row()).values()) == pytest.approx(1)


def test_an_answer_is_a_plain_value() -> None:
    for labels in ([True, False], [3, 7], [0.5, 1.5], ["no", "yes"]):
        frame = pd.DataFrame({"x": [1, 1, 9, 9], "y": np.repeat(labels, 2)})
        tree = treecompile.learn(frame, target="y", task="classify")
        found = tree.predict({"x": 9})
        assert (found, type(found)) == (labels[1], type(labels[1]))
    numbers = pd.DataFrame({"x": [1, 1, 9, 9], "y": [0.5, 0.5, 2.5, 2.5]})
    assert treecompile.learn(numbers, target="y").predict({"x": 9}) == 2.5


def test_one_row_of_a_table_is_explained(model: Model, penguins: pd.DataFrame) -> None:
    expected = repr(model.explain(row()))
    one = pd.DataFrame([row()])
    names = [feature.name for feature in model.program.body.features]
    values = [row().get(name) for name in names]
    forms: Any = (pd.Series(row()), one, [row()], [values])
    for form in forms:
        assert repr(model.explain(form)) == expected
        assert model.draw(row=form) == model.draw(row=row())
    with pytest.raises(DataError, match="expected one row, not 344: choose one"):
        model.explain(penguins)
    assert model.explain({**row(), "note": "x"}).row["note"] == "x"


# ---------------------------------------------------------------- many rows


def test_every_form_of_a_table_has_the_same_answers(
    model: Model, penguins: pd.DataFrame
) -> None:
    expected = model.predict(penguins)
    names = [feature.name for feature in model.program.body.features]
    features = penguins[names]
    forms: dict[str, Any] = {
        "mappings": penguins.to_dict("records"),
        "rows of the frame": [each for _, each in penguins.iterrows()],
        "lists": features.to_numpy(dtype=object).tolist(),
        "tuples": tuple(features.itertuples(index=False, name=None)),
        "array": features.to_numpy(dtype=object),
    }
    for form, data in forms.items():
        assert model.predict(data).tolist() == expected.tolist(), form
        shares = model.predict_proba(data)
        assert shares.equals(model.predict_proba(penguins)), form
    assert model.predict([]).tolist() == []


def test_an_array_of_numbers() -> None:
    array = np.random.default_rng(0).normal(size=(80, 3))
    frame = pd.DataFrame(array, columns=["a", "b", "c"]).assign(y=array[:, 1] > 0)
    tree = treecompile.learn(frame, target="y")
    array[3] = np.nan
    expected = tree.predict(pd.DataFrame(array, columns=["a", "b", "c"])).tolist()
    for data in (array, array.astype(object), array.tolist()):
        assert tree.predict(data).tolist() == expected
    integers = tree.predict(np.array([[0, 5, 0], [0, -5, 0]]))
    assert integers.tolist() == [True, False]


@pytest.mark.parametrize("seed", range(30))
def test_random_models_answer_as_they_mean(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    body, tried = program.body, Model(program)
    names = [feature.name for feature in body.features]
    rows = [random_row(random, body) for _ in range(20)]
    mappings = [dict(zip(names, each, strict=True)) for each in rows]
    expected = [predict(body, each) for each in rows]
    assert tried.predict(mappings).tolist() == expected
    assert tried.predict([list(each) for each in rows]).tolist() == expected
    assert [tried.predict(each) for each in mappings] == expected
    for each in mappings if body.labels else ():
        shares = tried.explain(each).probabilities
        assert tried.predict_proba(each) == pytest.approx(shares)


def test_missing_unseen_and_odd_values_mean_the_same(model: Model) -> None:
    odd: list[dict[str, Any]] = [
        row(sex=np.nan, flipper_length_mm=pd.NA),
        row(island="Atlantis"),
        row(island=None, bill_length_mm=None),
        row(bill_length_mm=10**400),
        row(bill_length_mm=np.float32(43.3), flipper_length_mm=True),
    ]
    expected = model.predict(pd.DataFrame(odd, dtype=object)).tolist()
    assert model.predict(odd).tolist() == expected
    assert [model.predict(each) for each in odd] == expected
    assert [model.explain(each).answer for each in odd] == expected


def test_texts_that_mean_missing(penguins: pd.DataFrame) -> None:
    marked = penguins.fillna({"sex": "?"})
    tree = treecompile.learn(marked, target="species", na_value="?")
    given = row(bill_length_mm=43.0, sex="?")
    assert tree.predict(given) == tree.predict(row(bill_length_mm=43.0))
    assert tree.explain(given).answer == tree.predict(given)
    here = row(bill_length_mm=43.0, sex="none")
    assert tree.predict(here, na_value="none") == tree.predict(given)


def test_integers_name_columns() -> None:
    frame = pd.DataFrame({0: np.arange(20.0), 1: np.arange(20) > 9})
    tree = treecompile.learn(frame, target=1)  # type: ignore[arg-type]
    assert tree.predict({0: 15.0}) is True
    assert tree.predict(frame.to_dict("records")).tolist() == frame[1].tolist()


# ---------------------------------------------------------------- polars


@pytest.mark.library
def test_frames_of_polars_are_frames(
    model: Model, penguins: pd.DataFrame, tmp_path: Path
) -> None:
    import polars

    frame = polars.read_csv(PENGUINS, null_values="NA", infer_schema_length=None)
    found = treecompile.learn(frame, target="species")
    assert (
        found.program.body == treecompile.learn(penguins, target="species").program.body
    )
    assert found.evaluate(frame).accuracy == found.evaluate(penguins).accuracy
    made = treecompile.build(frame, tmp_path, target="species", estimate=False)
    assert made.model.sha256 == found.sha256
    assert model.predict(frame).tolist() == model.predict(penguins).tolist()
    assert repr(model.explain(frame[:1])) == repr(model.explain(penguins[:1]))


# ---------------------------------------------------------------- errors


def test_an_absent_column_is_named(model: Model) -> None:
    without = {k: v for k, v in row().items() if k != "island"}
    said = "the row has no column 'island': add it, as None if it is missing"
    for act in (model.predict, model.predict_proba, model.explain):
        with pytest.raises(DataError, match=said):
            act(without)
    with pytest.raises(DataError, match="row 2 has no column 'island'"):
        model.predict([row(), without])
    with pytest.raises(DataError, match=r"\(did you mean 'Island'\?\)"):
        model.predict({**without, "Island": "Dream"})


def test_another_width_is_refused(model: Model) -> None:
    said = "and the model has 7 .'island', .*: give these, in this order"
    with pytest.raises(DataError, match=f"the array has 2 columns, {said}"):
        model.predict(np.zeros((3, 2)))
    with pytest.raises(DataError, match=f"row 2 has 1 value, {said}"):
        model.predict([[0] * 7, [0]])
    with pytest.raises(DataError, match=r"the array has the shape \(7,\): expected"):
        model.predict(np.zeros(7))
    with pytest.raises(
        DataError, match="row 1 is of type int: expected a list of rows"
    ):
        model.predict([0] * 7)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="row 2 is of type dict"):
        model.predict([[0] * 7, row()])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a table is a file or a DataFrame, not set"):
        model.predict({1, 2})  # type: ignore[call-overload]


def test_a_mapping_of_columns_is_refused(model: Model) -> None:
    with pytest.raises(DataError, match="'island', and a mapping is one row"):
        model.predict(row(island=["Biscoe", "Dream"]))


def test_values_of_another_type_are_refused(model: Model) -> None:
    with pytest.raises(DataError, match="row 2: 'bill_length_mm' is 'long'"):
        model.predict([row(), row(bill_length_mm="long")])
    with pytest.raises(DataError, match="'island' is 3: expected a string"):
        model.predict(row(island=3))
