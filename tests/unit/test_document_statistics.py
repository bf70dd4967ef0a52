"""The section of the rule document that says how often each rule is right."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

import treecompile
from tests.support.samples import TENNIS
from treecompile.api.model import Model

RULES = "## Statistics of the rules"


def section(text: str) -> list[list[str]]:
    """The cells of all tables in the section."""
    part = text.partition(RULES)[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_tree_tells_coverage_confidence_and_lift() -> None:
    text = treecompile.learn(TENNIS, target="play", algorithm="id3").emit("markdown")
    head, _, first, *rest = section(text)
    assert head == [
        *("Rule", "Answer", "Coverage", "Support", "Confidence", "Lift", "Errors")
    ]
    # 4 of 14 rows, all yes, of which there are 9: Wilson for 4 of 4 begins at 51.0 %.
    assert first == [
        *("R1", "yes", "4 of 14 (28.6 %)", "28.6 %", "100.0 % (51.0 to 100.0)"),
        *("1.56", "0"),
    ]
    assert len(rest) == 4
    assert "decided by the one rule" in text


def test_pruned_rules_tell_what_is_left_and_by_what_they_were_pruned() -> None:
    tree = treecompile.learn(TENNIS, target="play", prune="none")
    rules = tree.rules().prune(training=TENNIS)
    text = rules.emit("markdown")
    head, _, *lines = section(text)
    place = head.index("Left")
    assert head[place:] == ["Left", "Decided", "Errors"]
    left = 14
    for line in lines:
        assert int(line[place]) == left
        left -= int(line[place + 1])
    assert left == 0
    assert lines[-1][0] == "default"
    assert "pruned and sorted on these rows" in text
    assert "share of all training cases" in text


def test_rules_pruned_on_validation_rows_rest_on_them() -> None:
    tree = treecompile.learn(TENNIS, target="play", prune="none")
    frame = pd.read_csv(TENNIS)
    text = tree.rules().prune(pd.concat([frame] * 2)).emit("markdown")
    assert "share of all validation cases" in text
    assert "of 28 cases" in text
    assert "### Validation data: rules" in text
    assert "### Training data: rules" not in text  # they were not at hand


def test_what_was_not_counted_is_left_out() -> None:
    model = treecompile.learn(TENNIS, target="play")
    training = model.program.training
    assert training is not None
    bare = replace(training, rules=(), validation_rules=())
    for known in (bare, None):
        text = Model(replace(model.program, training=known)).emit("markdown")
        assert RULES not in text


def test_labels_stay_text() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0] * 4, "y": ["a|b", "*c*"] * 4})
    text = treecompile.learn(frame, target="y").emit("markdown")
    rows = text.partition(RULES)[2].partition("\n## ")[0]
    assert '| `"a\\|b"` |' in rows
    assert '| `"*c*"` |' in rows
