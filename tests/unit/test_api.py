"""The Python interface: the same verbs as the commands, on frames and files."""

from __future__ import annotations

import doctest
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.samples import ROOT, TENNIS, module_of
from treecompile import DataError, ModelFileError, OptionError, TargetError
from treecompile.api import verbs
from treecompile.model.ir import ClassQuality


@pytest.fixture(scope="module")
def tennis() -> treecompile.Model:
    return treecompile.learn(TENNIS, target="play")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.read_csv(TENNIS)


def test_a_frame_and_its_file_give_the_same_tree(
    tennis: treecompile.Model, frame: pd.DataFrame, tmp_path: Path
) -> None:
    tabs, parquet = tmp_path / "tennis.tsv", tmp_path / "tennis.parquet"
    frame.to_csv(tabs, sep="\t", index=False)
    frame.to_parquet(parquet)
    for data in (frame, str(TENNIS), tabs, parquet):
        model = treecompile.learn(data, target="play")
        assert model.program.body == tennis.program.body


def test_the_size_of_a_tree_and_of_its_rules(tennis: treecompile.Model) -> None:
    assert (tennis.n_nodes, tennis.n_leaves, tennis.depth) == (8, 5, 2)
    rules = tennis.rules()
    assert (rules.n_nodes, rules.n_leaves, rules.depth) == (6, 5, 2)
    leaf = treecompile.learn(TENNIS, target="play", max_depth=0)
    assert (leaf.n_nodes, leaf.n_leaves, leaf.depth) == (1, 1, 0)
    assert repr(tennis).startswith("<treecompile.Model tree for 'play': 5 leaves")


def test_predict_keeps_the_index(
    tennis: treecompile.Model, frame: pd.DataFrame
) -> None:
    shuffled = frame.sample(frac=1, random_state=3)
    shuffled.index = pd.Index([f"day {i // 2}" for i in range(len(shuffled))])
    found = tennis.predict(shuffled[["wind", "humidity", "outlook"]])
    assert found.name == "prediction"
    assert found.index.equals(shuffled.index)
    assert found.tolist() == shuffled["play"].tolist()
    assert tennis.predict(TENNIS).tolist() == frame["play"].tolist()


@pytest.mark.parametrize(
    ("target", "task", "dtype"),
    [
        ([False, False, True, True], None, "bool"),
        ([3, 3, -7, -7], None, "int64"),
        ([0.5, 0.5, 1e300, 1e300], "classify", "float64"),
        ([0.5, 0.5, 1e10, 1e10], "regress", "float64"),
        (["no", "no", "yes", "yes"], None, "str"),
        ([10**30, 10**30, 1, 1], None, "object"),
    ],
)
def test_predictions_have_the_type_of_the_labels(
    target: list[object], task: str | None, dtype: str
) -> None:
    frame = pd.DataFrame({"x": [1, 2, 5, 6], "y": pd.Series(target)})
    model = treecompile.learn(frame, target="y", task=task)
    found = model.predict(frame)
    assert found.tolist() == target
    assert [type(value) for value in found.tolist()] == [type(v) for v in target]
    assert found.dtype == dtype
    none = model.predict(frame.iloc[:0])
    assert none.tolist() == []
    assert none.dtype == dtype


def test_probabilities_are_shares_of_the_leaf(frame: pd.DataFrame) -> None:
    model = treecompile.learn(frame, target="play", algorithm="id3", max_depth=1)
    found = model.predict_proba(frame.set_index("temperature"))
    assert found.columns.tolist() == ["no", "yes"]
    assert found.index.tolist() == frame["temperature"].tolist()
    expected = {"sunny": [3 / 5, 2 / 5], "cloudy": [0.0, 1.0], "rainy": [2 / 5, 3 / 5]}
    assert found.to_numpy().tolist() == [expected[o] for o in frame["outlook"]]
    numbers = pd.DataFrame({"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]})
    with pytest.raises(OptionError, match="no probabilities"):
        treecompile.learn(numbers, target="y").predict_proba(numbers)


def test_missing_and_unseen_values_are_predicted(tennis: treecompile.Model) -> None:
    odd = pd.DataFrame(
        {
            "outlook": ["fog", None, "sunny", "Sunny"],
            "humidity": ["normal", "normal", None, "normal"],
            "wind": ["strong", pd.NA, "strong", np.nan],
        }
    )
    assert tennis.predict(odd).tolist() == ["no", "yes", "no", "yes"]


def test_rules_decide_as_their_tree(
    tennis: treecompile.Model, frame: pd.DataFrame
) -> None:
    rules = tennis.rules()
    assert rules.predict(frame).equals(tennis.predict(frame))
    assert rules.predict_proba(frame).equals(tennis.predict_proba(frame))
    assert rules.sha256 != tennis.sha256
    assert rules.rules().sha256 == rules.sha256


def test_every_artefact_is_emitted_and_verified(
    tennis: treecompile.Model, frame: pd.DataFrame
) -> None:
    text = tennis.emit()
    assert text == tennis.emit("python")
    rows = frame.to_dict("records")
    assert module_of(text).predict_many(rows) == frame["play"].tolist()
    texts = [
        text,
        tennis.emit("sql"),
        tennis.emit("sql", dialect="duckdb", form="select", table="s.days"),
        tennis.emit("sql", form="view", table="days", name="play it", output="rule"),
        tennis.emit("sql", output="probability", label="yes"),
    ]
    for artefact in texts:
        report = tennis.verify(artefact)
        assert report.passed, report
        assert report.complete
        assert report.rows > 100
    renamed = tennis.emit("sql", columns={"wind": "Wind speed"})
    assert "`Wind speed`" in renamed
    assert tennis.verify(renamed).passed
    assert tennis.emit("markdown").startswith("# ")
    assert all(tennis.sha256 in artefact for artefact in texts)


def test_verify_shows_the_rows_that_differ(tennis: treecompile.Model) -> None:
    broken = tennis.emit("sql").replace("'strong'", "'storm'")
    report = tennis.verify(broken)
    assert not report.passed
    for mismatch in report.mismatches:
        assert mismatch.row["wind"] in ("strong", "storm")
        assert {mismatch.expected, mismatch.actual} == {"no", "yes"}


def test_a_saved_model_comes_back_the_same(
    tennis: treecompile.Model, tmp_path: Path
) -> None:
    for model in (tennis, tennis.rules()):
        path = tmp_path / "new folder" / "model.json"
        model.save(path)
        again = treecompile.load(path)
        assert again.program == model.program
        assert again.sha256 == model.sha256
        assert again.emit("python") == model.emit("python")
        saved = path.read_bytes()
        again.save(str(path))
        assert path.read_bytes() == saved
    path.write_bytes(saved[:-30])
    with pytest.raises(ModelFileError, match=r"model\.json"):
        treecompile.load(path)


def test_an_interrupted_save_leaves_the_old_file(
    tennis: treecompile.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tennis.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
    assert path.read_text() == "old"


def test_evaluate_counts_what_is_right(
    tennis: treecompile.Model, frame: pd.DataFrame
) -> None:
    changed = frame.assign(play=frame["play"].where(frame["wind"] != "strong", "yes"))
    result = tennis.evaluate(changed)
    assert result.quality == ClassQuality(((2, 0), (3, 9)))
    by_rule = {entry.rule.id: (entry.rows, entry.right) for entry in result.rules}
    assert by_rule["R2"] == (2, 0)
    assert by_rule["R5"] == (2, 2)


def test_notes_say_what_was_chosen_and_what_is_odd(frame: pd.DataFrame) -> None:
    odd = frame.assign(empty=None, sport="tennis")
    notes = treecompile.learn(odd, target="play").notes
    assert "algorithm: c45" in notes
    for start in (
        "task: classify (target 'play'",
        "column 'empty' has no known value",
    ):
        assert any(note.startswith(start) for note in notes), start
    told = treecompile.learn(frame, target="play", task="classify", algorithm="id3")
    assert told.notes == ()


def test_options_have_the_names_of_the_command_line(frame: pd.DataFrame) -> None:
    marked = frame.replace({"wind": {"weak": "?"}})
    model = treecompile.learn(
        marked,
        target="play",
        na_value="?",
        ignore="temperature",
        labels=("yes", "no"),
        ordinal={"humidity": ["normal", "high"]},
        algorithm="cart",
        validation=marked,
        min_leaf=2,
    )
    body = model.program.body
    assert [feature.name for feature in body.features] == [
        *("outlook", "humidity", "wind")
    ]
    assert body.labels == ("yes", "no")
    assert body.features[1].categories == ("normal", "high")
    assert model.program.training is not None
    assert model.program.training.columns[2].missing == 8
    assert model.program.training.validation == model.program.training.quality
    assert dict(model.program.options) == {"min_leaf": 2}


def test_errors_are_typed_and_name_the_cause(
    tennis: treecompile.Model, frame: pd.DataFrame
) -> None:
    with pytest.raises(DataError, match="did you mean 'play'"):
        treecompile.learn(frame, target="paly")
    with pytest.raises(DataError, match="not list"):
        treecompile.learn([1, 2], target="play")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="min_leaf=0"):
        treecompile.learn(frame, target="play", min_leaf=0)
    with pytest.raises(DataError, match="'wind'"):
        tennis.predict(frame.drop(columns="wind"))
    with pytest.raises(DataError, match="row 1: 'wind' is 1"):
        tennis.predict(frame.assign(wind=1))
    with pytest.raises(TargetError, match="did you mean 'markdown'"):
        tennis.emit("markdwon")
    with pytest.raises(treecompile.EngineError, match="'oracel'"):
        tennis.verify(tennis.emit("sql"), "oracel")
    for error in (DataError, OptionError, TargetError, ModelFileError):
        assert issubclass(error, treecompile.TreecompileError)


def test_the_examples_in_the_docstrings_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for module in (treecompile, verbs):
        result = doctest.testmod(module)
        assert result.attempted > 1
        assert result.failed == 0


def test_the_public_names_are_all_there() -> None:
    assert {"Model", "learn", "load", "TreecompileError"} <= set(treecompile.__all__)
    for name in treecompile.__all__:
        assert getattr(treecompile, name) is not None
    with pytest.raises(AttributeError, match="lern"):
        getattr(treecompile, "lern")  # noqa: B009


def test_integers_name_columns() -> None:
    numbers = np.arange(20.0)
    table = pd.DataFrame({0: numbers, 1: -numbers, 2: 1 + numbers % 2, 3: numbers > 9})
    options: Any = {"ignore": 1, "weights": 2, "algorithm": "cart"}
    model = treecompile.learn(table, target=3, **options)  # type: ignore[arg-type]
    assert model.program.target == "3"
    assert [feature.name for feature in model.program.body.features] == ["0"]
    assert model.predict(table).tolist() == (numbers > 9).tolist()
    named = treecompile.learn(
        table, target=np.int64(3), ignore=["0", 2], costs={1: 2.0}  # type: ignore[arg-type, list-item, dict-item]
    )
    assert [feature.name for feature in named.program.body.features] == ["1"]
    with pytest.raises(DataError, match="no column '7': the columns are '0', '1'"):
        treecompile.learn(table, target=7)  # type: ignore[arg-type]
