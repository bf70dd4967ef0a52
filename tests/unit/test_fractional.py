"""The fractional policy: a missing or unseen value takes every branch."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from tests.support.fractional import HEAT, counts, leaf, program, tree
from tests.support.rule_lists import flatten
from tests.support.samples import balanced, every_type
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.model import file as model_file
from treecompile.model.errors import ModelFileError
from treecompile.model.ir import (
    Branch,
    Condition,
    Leaf,
    MissingPolicy,
    Op,
    RuleSet,
    Split,
    Tree,
)
from treecompile.model.semantics import distribution, negate, predict


@pytest.mark.parametrize(
    ("sky", "heat", "expected"),
    [
        ("clear", 20.0, (0.25, 0.75)),
        ("dark", None, (1.0, 0.0)),
        ("clear", None, ((4 * 0.25 + 2 * 1) / 6, 4 * 0.75 / 6)),
        ("clear", nan, ((4 * 0.25 + 2 * 1) / 6, 4 * 0.75 / 6)),
        (None, 30.0, ((6 * 1.0 + 6 * (1 / 6)) / 12, 6 * (5 / 6) / 12)),
        ("hail", 30.0, ((6 * 1.0 + 6 * (1 / 6)) / 12, 6 * (5 / 6) / 12)),
        (None, None, ((6 * 0.5 + 6 * (1 / 6)) / 12, (6 * 0.5 + 6 * (5 / 6)) / 12)),
    ],
)
def test_shares_are_mixed_bottom_up(
    sky: str | None, heat: float | None, expected: tuple[float, float]
) -> None:
    assert distribution(tree(), (sky, heat)) == expected
    best = "no" if expected[0] >= expected[1] else "yes"
    assert predict(tree(), (sky, heat)) == best
    frame = pd.DataFrame({"sky": [sky], "heat": [heat]})
    model = Model(program())
    assert tuple(model.predict_proba(frame).iloc[0]) == expected
    assert model.predict(frame).tolist() == [best]


def test_the_branch_policy_takes_one_branch() -> None:
    single = replace(tree(), missing=MissingPolicy.BRANCH)
    assert distribution(single, (None, None)) == (1 / 6, 5 / 6)
    assert distribution(single, ("clear", None)) == (0.25, 0.75)


def test_a_tie_goes_to_the_first_label() -> None:
    even = replace(tree(), nodes=(Leaf("yes", counts(1, 1), 2.0),))
    assert predict(even, (None, None)) == "no"


def test_numbers_are_averaged() -> None:
    numbers = balanced(3).body
    assert isinstance(numbers, Tree)
    divided = replace(numbers, missing=MissingPolicy.FRACTIONAL)
    assert predict(divided, (None,)) == 3.5
    assert predict(divided, (5.0,)) == 5.0


def test_depth_is_no_limit() -> None:
    x = Condition(0, Op.LE, 0.0, missing=True)
    nodes: list[Any] = []
    for depth in range(5_000):
        branches = (
            Branch(x, 2 * depth + 1, 1.0),
            Branch(negate(x), 2 * depth + 2, 1.0),
        )
        nodes += [Split(branches, counts(1, 1), 0.0), leaf(1, 0)]
    deep = Tree((HEAT,), ("no", "yes"), (*nodes, leaf(0, 1)), MissingPolicy.FRACTIONAL)
    shares = distribution(deep, (None,))
    assert sum(shares) == pytest.approx(1)


def test_it_counts_in_an_evaluation() -> None:
    frame = pd.DataFrame(
        {"sky": ["clear", None], "heat": [None, 30.0], "play": ["no", "yes"]}
    )
    result = Model(program()).evaluate(frame)
    predicted = Model(program()).predict(frame)
    right = int((predicted == frame["play"]).sum())
    confusion = result.quality.confusion  # type: ignore[union-attr]
    assert confusion[0][0] + confusion[1][1] == right


def test_the_file_keeps_the_policy() -> None:
    text = model_file.dumps(program())
    assert '"missing": "fractional"' in text
    assert model_file.loads(text) == program()
    single = replace(tree(), missing=MissingPolicy.BRANCH)
    other = replace(program(), body=single)
    assert model_file.sha256(other) != model_file.sha256(program())


def test_a_file_without_weights_to_divide_by_is_refused() -> None:
    text = model_file.dumps(program()).replace('"weight": 6.0}', '"weight": 0.0}')
    with pytest.raises(ModelFileError, match=r"nodes\[0\].branches: expected a weight"):
        model_file.loads(text)


def test_the_document_explains_it() -> None:
    text = Model(program()).emit("markdown")
    assert "the case goes down every branch" in text
    assert "without the tree, which is a different model" in text
    assert "every case whose values are known" in text
    assert "meets the conditions marked" not in text
    assert "do not divide missing values: they are a different model" in text
    assert "goes down every branch" not in Model(every_type()).emit("markdown")


def test_a_rule_without_cases_rests_on_those_beside_it() -> None:
    empty = Leaf("yes", counts(0, 1), 0.0)
    nodes = (*tree().nodes[:3], empty, *tree().nodes[4:])
    model = Model(replace(program(), body=replace(tree(), nodes=nodes)))
    body = flatten(model.program).body
    assert isinstance(body, RuleSet)
    assert body.rules[-1].stats == counts(4, 8)
    assert body.rules[-1].value == "yes"
    assert "rests on the 12 cases" in model.emit("markdown")


def test_rules_take_the_marked_branches_and_say_so(tmp_path: Path) -> None:
    rules = Model(program()).rules()
    assert "another model" in rules.notes[0]
    frame = pd.DataFrame({"sky": [None], "heat": [None]}, dtype=object)
    assert rules.predict(frame).tolist() == ["yes"]
    assert rules.verify(rules.emit("python")).passed
    path, out = tmp_path / "model.json", tmp_path / "rules.json"
    Model(program()).save(path)
    result = CliRunner().invoke(main, ["rules", str(path), "-o", str(out)])
    assert result.exit_code == 0
    assert "another model" in result.stderr
    shown = CliRunner().invoke(main, ["show", str(path)])
    assert "divided among the branches" in shown.output
    assert Model(every_type()).rules().notes == ()
