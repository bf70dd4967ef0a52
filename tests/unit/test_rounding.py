"""`--round`: answers with fewer decimals, in the model and so in every artefact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import treecompile
from tests.support.samples import balanced, stump
from treecompile.cli import main
from treecompile.model.errors import OptionError
from treecompile.model.ir import Label, Leaf, RuleSet, Tree
from treecompile.model.rounding import rounded
from treecompile.rules.extract import extract

FRAME = pd.DataFrame(
    {"x": [1.0, 2.0, 3.0, 4.0] * 3, "y": [1.23456, -0.001, 2.5, 0.125] * 3}
)


def learned(**options: Any) -> treecompile.Model:
    return treecompile.learn(FRAME, target="y", task="regress", **options)


def answers(model: treecompile.Model) -> list[Label]:
    nodes = model.program.body.nodes  # type: ignore[union-attr]
    return [node.value for node in nodes if isinstance(node, Leaf)]


def test_learning_rounds_the_answers_and_nothing_else() -> None:
    plain, model = learned(), learned(round=2)
    assert answers(plain) == [1.23456, -0.001, 2.5, 0.125]
    assert answers(model) == [1.23, 0.0, 2.5, 0.12]
    assert str(answers(model)[1]) == "0.0"  # not -0.0
    splits = [
        [node for node in each.program.body.nodes if not isinstance(node, Leaf)]  # type: ignore[union-attr]
        for each in (plain, model)
    ]
    assert splits[0] == splits[1]
    assert ("round", 2) in model.program.options
    assert model.sha256 != plain.sha256
    assert list(model.predict(FRAME))[:4] == [1.23, 0.0, 2.5, 0.12]
    assert answers(learned(round=0)) == [1.0, 0.0, 2.0, 0.0]


def test_the_quality_is_that_of_the_rounded_answers() -> None:
    known = learned(round=0).program.training
    assert known is not None
    assert (
        known.quality
        == treecompile.learn(FRAME, target="y", task="regress", round=0)
        .evaluate(FRAME)
        .quality
    )
    assert known.quality != learned().program.training.quality  # type: ignore[union-attr]


@pytest.mark.parametrize("to", ["python", "sql"])
def test_every_artefact_has_the_rounded_answers(to: str) -> None:
    model = learned(round=1)
    assert model.verify(model.emit(to)).passed
    assert not learned().verify(model.emit(to)).passed
    assert "1.23456" not in model.emit(to)


def test_labels_are_not_rounded() -> None:
    labels = FRAME.assign(y=["a", "b"] * 6)
    with pytest.raises(OptionError, match="round is for task='regress'"):
        treecompile.learn(labels, target="y", round=1)
    with pytest.raises(OptionError, match="^round is for numbers"):
        treecompile.api.model.Model(stump(0.5)).rules(round=1)


def test_rules_are_rounded_and_then_joined() -> None:
    model = treecompile.api.model.Model(balanced(3))
    rules = model.rules(round=0).program
    assert isinstance(rules.body, RuleSet)
    same = learned().rules(round=0).program.body
    assert isinstance(same, RuleSet)
    assert {rule.value for rule in (*same.rules, same.default)} == {0.0, 1.0, 2.0}
    assert rules.options == (("round", 0),)
    assert learned().rules(round=0).program.training.quality is None  # type: ignore[union-attr]


def test_a_list_of_rules_is_rounded_with_its_default() -> None:
    body = balanced(2).body
    assert isinstance(body, Tree)
    shifted = rounded(extract(body), 0)
    assert isinstance(shifted, RuleSet)
    assert [rule.value for rule in shifted.rules] == [0.0, 1.0, 2.0, 3.0]
    assert isinstance(shifted.default.value, float)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_from_the_shell(tmp_path: Path) -> None:
    data, model, rules = (tmp_path / n for n in ("d.csv", "m.json", "r.json"))
    FRAME.to_csv(data, index=False)
    ask = ("learn", str(data), "--target", "y", "--task", "regress", "-o", str(model))
    assert invoke(*ask, "--round", "1", "--force").exit_code == 0
    assert set(treecompile.load(model).predict(FRAME)) == {1.2, 0.0, 2.5, 0.1}
    assert invoke(*ask, "--force").exit_code == 0
    made = invoke("rules", str(model), "--round", "0", "-o", str(rules))
    assert made.exit_code == 0, made.output
    values = treecompile.load(rules).predict(FRAME)
    assert set(values) == {0.0, 1.0, 2.0}
    wrong = invoke("rules", str(model), "--round", "-1", "-o", str(rules), "--force")
    assert wrong.exit_code == 2
    assert "--round -1: expected 0 or more" in wrong.stderr
