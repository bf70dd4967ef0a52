"""What `explain` is given: sentences, or the tests on the way to each leaf."""

from __future__ import annotations

import pytest

from tests.support.samples import chain, every_type
from treecompile.emit import explanations
from treecompile.emit.explanations import sentences
from treecompile.model import words
from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType
from treecompile.model.paths import outcomes

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
TWO = tuple(Condition(0, Op.LE, edge, False) for edge in (1.0, 2.0))


@pytest.mark.parametrize(("most", "count"), [(7, 6), (6, 6), (5, 0)])
def test_there_are_sentences_up_to_a_number(
    most: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = every_type()
    monkeypatch.setattr(explanations, "SENTENCES", most)
    figures = words.evidence_by_id(program)
    assert len(sentences(program, outcomes(program.body), figures)) == count


def test_each_node_has_the_test_above_it() -> None:
    """The root has none: it is above itself."""
    found = words.tests_above(chain((X,), TWO, ("a", "b", "c")).body)
    assert found == [
        (0, ""),
        (0, "x <= 1"),
        (0, "x > 1 (or missing)"),
        (2, "x <= 2"),
        (2, "x > 2 (or missing)"),
    ]
