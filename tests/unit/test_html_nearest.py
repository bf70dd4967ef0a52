"""The nearest change that alters an answer, against a search through every row."""

from __future__ import annotations

import json
from math import inf, isclose
from random import Random
from typing import Any

import pytest

from tests.support.node import needs_node, run, script
from tests.support.small_models import FEATURES, every_row, small_body
from treecompile.emit.html.lower import page_data, static
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.model.ir import Feature, Kind, Program, Row, Value
from treecompile.model.semantics import predict, required_features

CUTS = (-inf, 1.0, 2.0, 3.0, inf)
ROWS = 12  # of each model
Change = tuple[int, float]  # how many features change, and how far in all
SEARCH = """
const document = {{ getElementById: () => ({{ textContent: {data} }}) }};
{decision}
{dom}
{nearest}
for (const [place, rule] of page.rules.entries()) rule.place = place;
return {rows}.map((places) => {{
  const answer = decision.predict(rowAt(places));
  const {{ best, complete }} = nearest(places, answer);
  return best && {{ ...best, complete, changes: [...best.changes] }};
}});
"""


def place(feature: Feature, value: Value) -> dict[str, Any]:
    if value is None:
        return {"missing": True}
    if feature.kind is Kind.NUMERIC:
        return {"number": value}
    if value in feature.categories:
        return {"code": feature.categories.index(value)}
    return {"other": True}


def value_of(feature: Feature, found: dict[str, Any]) -> Value:
    if "number" in found:
        return float(found["number"])
    if "code" in found:
        return feature.categories[int(found["code"])]
    return "unseen" if "other" in found else None


def distance(feature: Feature, old: Value, new: Value) -> float | None:
    """How far a change goes; None if nothing changes."""
    if place(feature, old) == place(feature, new):
        return None
    if feature.kind is not Kind.NUMERIC or old is None or new is None:
        return 1.0
    assert isinstance(old, float)
    assert isinstance(new, float)
    # To the edge of the new cell: its threshold, or the numbers just above.
    edge = new if new < old else CUTS[CUTS.index(new) - 1]
    return abs(old - edge) / (max(abs(old), abs(edge)) or 1.0)


def nearest(program: Program, row: Row) -> Change | None:
    """By trying every row that the model can tell from others."""
    answer, best = predict(program.body, row), None
    used = required_features(program.body)
    for other in every_row():
        if predict(program.body, other) == answer:
            continue
        parts = [distance(FEATURES[i], row[i], other[i]) for i in used]
        moved = [part for part in parts if part is not None]
        found = (len(moved), sum(moved))
        best = found if best is None else min(best, found)
    return best


@needs_node
@pytest.mark.parametrize("seed", range(60))
def test_the_nearest_change_is_the_nearest(seed: int) -> None:
    random = Random(seed)
    program = Program("answer", "by hand", small_body(random))
    known = [row for row in every_row() if inf not in row]
    rows = random.sample(known, ROWS)
    places = [list(map(place, FEATURES, row)) for row in rows]
    for row, found in zip(rows, searched(program, places), strict=True):
        wanted = nearest(program, row)
        if wanted is None:
            assert found is None
            continue
        assert found["complete"]
        assert found["count"] == wanted[0]
        assert isclose(found["far"], wanted[1], abs_tol=1e-12)
        after = list(row)
        for index, moved in found["changes"]:
            after[index] = value_of(FEATURES[index], moved)
        assert len(found["changes"]) == wanted[0]
        assert predict(program.body, tuple(after)) != predict(program.body, row)


def searched(program: Program, places: list[Any]) -> list[Any]:
    source = CompilerInput(program, "0" * 64, "", read_target("html"))
    data = json.dumps(json.dumps(page_data(source, EmitOptions(), "")))
    text = SEARCH.format(
        data=data,
        decision=script(program),
        dom=static("dom.js"),
        nearest=static("nearest.js"),
        rows=json.dumps(places),
    )
    asked = f"console.log(JSON.stringify((() => {{{text}}})()));"
    return list(json.loads(run(asked)))
