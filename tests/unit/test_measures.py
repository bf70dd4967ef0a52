"""Whole trees by every measure: a search through all splits finds nothing better."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treecompile
from tests.support.criteria import by_definition
from treecompile.learning.grow.criteria import MEASURES
from treecompile.model.ir import Leaf, Split, Tree
from treecompile.model.semantics import holds

Rows = list[dict[str, Any]]
LABELS = "nop"


@st.composite
def tables(draw: st.DrawFn, has_numbers: bool) -> Rows:
    size = draw(st.integers(2, 12))
    row: dict[str, st.SearchStrategy[Any]] = {
        "a": st.sampled_from(["p", "q", "r", None]),
        "b": st.sampled_from(["s", "t", "u", "v", "w"]),
    }
    if has_numbers:
        row["x"] = st.sampled_from([0.0, 1.0, 2.0, 4.0, None])
    rows = draw(
        st.lists(
            st.fixed_dictionaries({**row, "y": st.sampled_from(LABELS)}),
            min_size=size,
            max_size=size,
        )
    )
    known: dict[str, Any] = {"a": "p", "x": 0.0} if has_numbers else {"a": "p"}
    rows[0] = {**rows[0], **known}
    return rows


def learned(rows: Rows, algorithm: str, criterion: str) -> Tree:
    frame = pd.DataFrame(rows, columns=sorted(rows[0]))
    if "x" in frame:
        frame["x"] = frame["x"].astype(float)
    model = treecompile.learn(
        frame,
        target="y",
        labels=LABELS,
        algorithm=algorithm,
        criterion=criterion,
        prune="none",
    )
    assert isinstance(model.program.body, Tree)
    return model.program.body


def counts(rows: Rows) -> list[int]:
    labels = [row["y"] for row in rows]
    return [labels.count(label) for label in LABELS]


def walk(tree: Tree, rows: Rows) -> Iterator[tuple[Any, Rows]]:
    """The nodes that cases reach, with these."""
    stack = [(0, rows)]
    while stack:
        position, here = stack.pop()
        node = tree.nodes[position]
        yield node, here
        for branch in getattr(node, "branches", ()):
            feature = tree.features[branch.when.feature]
            inside = [r for r in here if holds(branch.when, feature, r[feature.name])]
            if inside:
                stack.append((branch.then, inside))


def judged(node: Any, options: list[tuple[float, str]], here: Rows, tree: Tree) -> None:
    """The node has the best of the options, the first at a tie."""
    if isinstance(node, Leaf):
        assert not options or max(counts(here)) == len(here)
        return
    assert isinstance(node, Split)
    greatest = max(measure for measure, _ in options)
    assert node.gain == pytest.approx(greatest, abs=1e-9)
    first = next(name for measure, name in options if measure >= greatest - 1e-9)
    assert tree.features[node.branches[0].when.feature].name == first


MEASURE = pytest.mark.parametrize("criterion", sorted(MEASURES))
QUICK = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@MEASURE
@QUICK
@given(rows=tables(has_numbers=False))
def test_id3_splits_by_the_best_feature(criterion: str, rows: Rows) -> None:
    tree = learned(rows, "id3", criterion)
    for node, here in walk(tree, rows):
        options = []
        for name in "ab":
            known = sorted({row[name] for row in here} - {None})
            if len(known) < 2:
                continue
            parts = [[row for row in here if row[name] == value] for value in known]
            common = max(range(len(parts)), key=lambda i: (len(parts[i]), -i))
            parts[common] += [row for row in here if row[name] is None]
            table = [counts(part) for part in parts]
            options.append((by_definition(criterion, table), name))
        judged(node, options, here, tree)


@MEASURE
@QUICK
@given(rows=tables(has_numbers=True))
def test_cart_cuts_at_the_best_place(criterion: str, rows: Rows) -> None:
    tree = learned(rows, "cart", criterion)
    for node, here in walk(tree, rows):
        options = []
        for name in "abx":
            known = [row for row in here if row[name] is not None]
            best = None
            for left in subsets(name, sorted({row[name] for row in known})):
                table = [
                    counts([row for row in known if row[name] in left]),
                    counts([row for row in known if row[name] not in left]),
                ]
                share = len(known) / len(here)
                measure = by_definition(criterion, table) * share
                best = measure if best is None else max(best, measure)
            if best is not None:
                options.append((best, name))
        judged(node, options, here, tree)


def subsets(name: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The left sides of all cuts of the values."""
    if name == "x":
        yield from (tuple(values[:place]) for place in range(1, len(values)))
    elif values:
        first, *rest = values
        for some in chain.from_iterable(
            combinations(rest, size) for size in range(len(rest))
        ):
            yield first, *some


def test_what_the_measures_prefer() -> None:
    # A code of many values gains most; the ratio counts what it costs to tell them.
    frame = pd.DataFrame(
        {
            "code": list("aabbccddeeff"),
            "sign": list("++++++------"),
            "y": list("nnnnnpppppnp"),
        }
    )

    def root(criterion: str) -> str:
        body = treecompile.learn(
            frame, target="y", algorithm="id3", criterion=criterion
        ).program.body
        assert isinstance(body, Tree)
        assert isinstance(body.nodes[0], Split)
        return body.features[body.nodes[0].branches[0].when.feature].name

    found = {name: root(name) for name in MEASURES}
    assert found == {
        **{"entropy": "code", "gini": "code", "chi-square": "code"},
        **{"gain-ratio": "sign", "distance": "code"},
    }
