"""Pruned rules as models: from the command line, from Python, emitted and verified."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.commands import contents, good, run
from tests.support.samples import TENNIS, every_type
from treecompile.api.model import Model
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import ClassQuality, RuleSet, Tree


def table(rows: int, seed: int) -> pd.DataFrame:
    """Noise on top of something that can be learned; some values are missing."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": random.normal(size=rows).round(2),
            "z": random.normal(size=rows).round(2),
            "colour": random.choice(["red", "green", "blue"], size=rows),
        }
    )
    for name in ("noise", "more", "most"):
        frame[name] = random.normal(size=rows).round(1)
    signal = (frame["x"] > 0) ^ (frame["colour"] == "red")
    frame["y"] = np.where(signal ^ (random.random(rows) < 0.25), "yes", "no")
    frame["n"] = (3.0 * signal + random.normal(size=rows)).round(2)
    frame.loc[random.random(rows) < 0.05, "x"] = np.nan
    return frame


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and a tree of labels and one of numbers that fit their noise."""
    path = tmp_path_factory.mktemp("filled")
    for name, seed in (("train", 1), ("valid", 2), ("test", 3)):
        table(300, seed).drop(columns="n").to_csv(path / f"{name}.csv", index=False)
        table(200, seed).drop(columns="y").to_csv(path / f"{name}_n.csv", index=False)
    for data, target, model in (("train", "y", "model"), ("train_n", "n", "n")):
        tree = treecompile.learn(path / f"{data}.csv", target=target, prune="none")
        tree.save(path / f"{model}.json")
    return path


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a copy of these."""
    monkeypatch.chdir(tmp_path)
    for path in filled.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def rules_of(path: str) -> RuleSet:
    body = treecompile.load(path).program.body
    assert isinstance(body, RuleSet)
    return body


MODES: dict[str, Any] = {"validation": "valid.csv", "training": "train.csv"}


@pytest.mark.parametrize("mode", MODES)
def test_rules_are_pruned_from_the_command_line(folder: Path, mode: str) -> None:
    said = good("rules", "model.json", f"--{mode}", MODES[mode]).stderr
    body = rules_of("rules.json")
    told = said.splitlines()[-1]
    assert told.startswith(f"{len(body.rules)} rules of at most ")
    assert told.endswith(": wrote rules.json")
    tree, rules = treecompile.load("model.json"), treecompile.load("rules.json")
    longest = max(len(rule.conditions) for rule in body.rules)
    assert 0 < longest < tree.depth
    test = pd.read_csv("test.csv", dtype_backend="numpy_nullable")
    right = [(m.predict(test) == test["y"]).mean() for m in (tree, rules)]
    assert right[1] > right[0]  # the tree fits the noise, the rules do not
    assert [rule.id for rule in body.rules] == [
        f"R{place}" for place in range(1, len(body.rules) + 1)
    ]
    for target, engine in (("python", "python"), ("sql", "sqlite")):
        assert rules.verify(rules.emit(target), engine, budget=2_000).passed
    assert dict(rules.program.options)["rules"] in ("validation", "c45rules")
    # The same from Python, and the same bytes again.
    other = tree.rules().prune(**{mode: MODES[mode]})
    assert other.sha256 == rules.sha256
    assert tree.prune(**{mode: MODES[mode]}).sha256 == rules.sha256


@pytest.mark.parametrize("form", ["flat", "validation", "c45rules"])
def test_build_makes_rules(folder: Path, form: str) -> None:
    options = ("--validation-fraction", "0.3", "--seed", "7", "--rules", form)
    said = good("build", "train.csv", "--target", "y", *options, "--out", "all").stderr
    assert said.count("verified") == 2
    body = rules_of("all/model.json")
    assert f"\n{len(body.rules)} rules of at most " in said
    again = good("build", "train.csv", "--target", "y", *options, "--out", "again")
    assert again.exit_code == 0
    assert contents(folder / "all") == contents(folder / "again")
    text = (folder / "all" / "RULES.md").read_text()
    if form == "flat":
        return
    assert "| Right in validation |" in text
    whose = {"validation": "validation", "c45rules": "training"}[form]
    assert f"| {whose} data, which also pruned the rules |" in text


def test_the_tree_is_grown_to_fit_before_its_rules_are_pruned(folder: Path) -> None:
    options = ("--rules", "c45rules", "--no-verify")
    line = ("build", "train.csv", "--target", "y", "--out", "all")
    said = good(*line, *options).stderr
    whole = f"{treecompile.load('model.json').n_leaves} leaves"
    assert whole in said
    pruned = ("--prune", "pessimistic", "--cf", "0.01")
    assert whole not in good(*line, *options, *pruned, "--force").stderr


def test_held_out_rows_do_not_prune_what_they_grew(folder: Path) -> None:
    """A fraction is held out before learning: as if there were two files."""
    line = ("--target", "y", "--rules", "validation", "--out", "all", "--no-verify")
    good("build", "train.csv", *line, "--validation-fraction", "0.4")
    held = treecompile.load("all/model.json").program.training
    assert held is not None
    assert held.rows == 180
    assert isinstance(held.validation, ClassQuality)
    assert sum(map(sum, held.validation.confusion)) == 120
    assert len(held.rules) == len(held.validation_rules)
    assert held.rules[0].decided + held.rules[-1].decided <= 180


def test_numbers_are_pruned_by_squared_error(folder: Path) -> None:
    good("rules", "n.json", "--validation", "valid_n.csv", "-q")
    tree, rules = treecompile.load("n.json"), treecompile.load("rules.json")
    test = pd.read_csv("test_n.csv")
    errors = [((m.predict(test) - test["n"]) ** 2).mean() for m in (tree, rules)]
    assert errors[1] < errors[0]
    answers = {leaf.value for leaf in tree.program.body.nodes if hasattr(leaf, "value")}  # type: ignore[union-attr]
    assert {rule.value for rule in rules_of("rules.json").rules} <= answers
    assert rules.verify(rules.emit(), budget=2_000).passed
    text = rules.emit("markdown")
    assert "| Rule | Decides in validation | Mean | Standard deviation |" in text


ERRORS: list[tuple[str, list[str]]] = [
    (
        "rules model.json --validation valid.csv --training train.csv",
        ["--validation or --training", "not both"],
    ),
    ("rules model.json --validation absent.csv", ["absent.csv"]),
    ("rules model.json --validation narrow.csv", ["'colour'"]),
    ("rules model.json --validation nowhere.csv", ["nowhere.csv", "no row"]),
    ("rules model.json --validation unlabelled.csv", ["no column 'y'"]),
    ("rules model.json --validation strange.csv", ["strange.csv", "'y'", "'no'"]),
    ("rules model.json --training narrow.csv", ["'colour'"]),
    ("rules n.json --training train_n.csv", ["for labels", "validation set"]),
    (
        "build train.csv --target y --rules validation --out all",
        ["validation=FILE", "validation_fraction"],
    ),
    ("build train_n.csv --target n --rules c45rules --out all", ["for labels"]),
    ("build train.csv --target y --rules best --out all", ["'best'", "c45rules"]),
]


@pytest.mark.parametrize(("line", "said"), ERRORS)
def test_an_error_is_one_line_and_exit_code_2(
    folder: Path, line: str, said: list[str]
) -> None:
    train = pd.read_csv("train.csv")
    train.drop(columns="colour").to_csv("narrow.csv", index=False)
    train[:0].to_csv("nowhere.csv", index=False)
    train.drop(columns="y").to_csv("unlabelled.csv", index=False)
    train.assign(y="maybe").to_csv("strange.csv", index=False)
    before = contents(folder)
    result = run(*line.split())
    assert result.exit_code == 2
    message = result.stderr.rstrip("\n").rpartition("\n")[2]
    assert message.startswith("Error: ")
    for part in said:
        assert part in message
    assert contents(folder) == before


def test_rows_with_unknown_labels_are_left_out_and_counted(folder: Path) -> None:
    valid = pd.read_csv("valid.csv")
    valid.loc[:9, "y"] = "maybe"
    valid.to_csv("some.csv", index=False)
    valid[10:].to_csv("rest.csv", index=False)
    said = good("rules", "model.json", "--validation", "some.csv").stderr
    assert "left out: 10 rows" in said
    good("rules", "model.json", "--validation", "rest.csv", "-o", "rest.json")
    assert rules_of("rest.json") == rules_of("rules.json")


def test_texts_that_mean_missing(folder: Path) -> None:
    valid = pd.read_csv("valid.csv", dtype=str, keep_default_na=False)
    valid["x"] = valid["x"].replace("", "?")
    valid.to_csv("marked.csv", index=False)
    refused = run("rules", "model.json", "--validation", "marked.csv")
    assert refused.exit_code == 2
    assert "say so with na_value" in refused.stderr
    marked = ("--validation", "marked.csv", "--na-value", "?", "-o", "marked.json")
    good("rules", "model.json", *marked)
    good("rules", "model.json", "--validation", "valid.csv")
    assert rules_of("marked.json") == rules_of("rules.json")


def test_the_training_set_is_recognised_by_its_rows(folder: Path) -> None:
    pd.read_csv("train.csv")[:200].to_csv("part.csv", index=False)
    said = good("rules", "model.json", "--training", "part.csv").stderr
    assert "learned from 300 rows, and this table has 200" in said


def test_rules_can_be_given_to_rules(folder: Path) -> None:
    good("rules", "model.json", "-q")
    flat = rules_of("rules.json")
    assert good("rules", "rules.json", "-o", "again.json").exit_code == 0
    assert rules_of("again.json") == flat
    good("rules", "rules.json", "--validation", "valid.csv", "-o", "pruned.json")
    assert rules_of("pruned.json") != flat
    good("rules", "pruned.json", "--training", "train.csv", "-o", "other.json")
    tree, loaded = treecompile.load("model.json"), treecompile.load("rules.json")
    # A list that was loaded is pruned as it stands, with the tests merged.
    assert loaded.prune("valid.csv").sha256 == treecompile.load("pruned.json").sha256
    assert isinstance(tree.program.body, Tree)


def test_prune_needs_one_set_of_rows() -> None:
    tennis = treecompile.learn(TENNIS, target="play")
    with pytest.raises(OptionError, match="give one of them"):
        tennis.prune()
    with pytest.raises(OptionError, match="give one of them"):
        tennis.rules().prune(TENNIS, training=TENNIS)
    with pytest.raises(DataError, match="'outlook'"):
        tennis.prune(pd.DataFrame({"play": ["no"]}))


def test_a_model_without_training_data_can_be_pruned() -> None:
    """Of an imported tree nothing is known but what it says."""
    program = every_type()
    assert program.training is None
    frame = pd.DataFrame(
        {
            feature.name: pd.Series(
                [1.0] * 3 if not feature.categories else [feature.categories[0]] * 3
            )
            for feature in program.body.features
        }
    )
    labels: Any = program.body.labels
    frame[program.target] = [labels[0]] * 3 if labels else [1.0] * 3
    assert Model(program).prune(frame).program.training is None


def test_simplified_rules_merge_siblings_and_their_probabilities() -> None:
    """Both sides of a split answer the same: one rule, with the cases of both."""
    x = [1.0] * 10 + [2.0] * 10 + [3.0] * 5
    frame = pd.DataFrame({"x": x, "y": ["a"] * 16 + ["b"] * 9})
    tree = treecompile.learn(frame, target="y", algorithm="cart", prune="none")
    assert tree.n_leaves == 3
    rules = tree.rules()
    assert rules.n_leaves == 2
    assert rules.sha256 != tree.sha256
    assert rules.predict(frame).equals(tree.predict(frame))
    assert tree.predict_proba(frame)["a"].unique().tolist() == [1.0, 0.6, 0.0]
    assert rules.predict_proba(frame)["a"].unique().tolist() == [0.8, 0.0]
    # The document and the code of the tree still have all of its rules.
    assert "| R3 b |" in tree.emit("markdown")
    assert "R3" not in rules.emit("python")
