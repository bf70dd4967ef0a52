"""Pictures: well formed for any names, complete, legible, and without overlaps."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random
from xml.etree import ElementTree

import pytest

from tests.support.random_models import large_tree, random_tree
from tests.support.rule_lists import flatten
from tests.support.samples import ROOT, balanced, every_type, stump
from treecompile import Model, load
from treecompile.emit.svg import compact, draw
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import (
    Feature,
    Kind,
    Program,
    Tree,
    ValueType,
)
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import decider
from treecompile.pictures.options import DrawOptions
from treecompile.rules.trail import converted

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("leaf", "split", "hidden")


def random_tree_program(seed: int) -> Program:
    return Program("answer", "cart", random_tree(Random(seed)))


def texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@dataclass(frozen=True)
class Rectangle:
    left: float
    top: float
    right: float
    bottom: float
    fill: str
    stroke_width: float


def boxes(picture: str) -> list[Rectangle]:
    """The frames of the nodes."""
    return list(map(rectangle, nodes(picture)))


def nodes(picture: str) -> list[ElementTree.Element]:
    groups = ElementTree.fromstring(picture).iter(f"{SVG}g")
    return [group for group in groups if group.get("class") in KINDS]


def rectangle(node: ElementTree.Element) -> Rectangle:
    x, y = map(int, re.findall(r"-?[0-9]+", node.get("transform", "")))
    frame = node.find(f"{SVG}rect")
    assert frame is not None
    wide, high = (int(frame.get(key, "0")) for key in ("width", "height"))
    thick = float(frame.get("stroke-width", "0"))
    return Rectangle(x, y, x + wide, y + high, frame.get("fill", ""), thick)


def size(picture: str) -> tuple[float, float]:
    root = ElementTree.fromstring(picture)
    return float(root.get("width", "0")), float(root.get("height", "0"))


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize("layout", ["down", "right"])
@pytest.mark.parametrize(
    ("leaves", "chain"), [(5, False), (50, False), (400, False), (60, True)]
)
def test_nothing_overlaps_and_all_is_inside(
    leaves: int, chain: bool, layout: str
) -> None:
    tree = large_tree(leaves, chain=chain)
    options = DrawOptions(max_leaves=1_000, layout=layout)
    picture = draw(Program("y", "x", tree), options)
    wide, high = size(picture)
    found = sorted(boxes(picture), key=lambda box: box.left)
    assert len(found) == len(tree.nodes)
    for box in found:
        assert 0 <= box.left < box.right <= wide
        assert 0 <= box.top < box.bottom <= high
    for place, box in enumerate(found):
        for other in found[place + 1 :]:
            if other.left >= box.right:
                break  # sorted: those behind lie further right
            assert box.top >= other.bottom or other.top >= box.bottom
    ids = {text.split(":")[0] for text in texts(picture)}
    assert set(rule_ids(tree).values()) <= ids


def test_many_leaves_are_summarised_and_none_is_lost() -> None:
    tree = large_tree(500)
    program = Program("y", "x", tree)
    for options in (
        DrawOptions(),
        DrawOptions(max_leaves=20),
        DrawOptions(max_depth=3),
    ):
        shown = texts(draw(program, options))
        hidden = [t for t in shown if re.fullmatch(r"[\d,]+ leaves", t)]
        count = sum(int(text.split()[0].replace(",", "")) for text in hidden)
        drawn = sum(bool(re.match(r"R\d+: ", text)) for text in shown)
        assert count + drawn == 500
        assert f"{count:,} leaves are summarised" in " ".join(shown)
    assert len(boxes(draw(program, DrawOptions(max_leaves=20)))) < 60
    assert len(boxes(compact(program))) < len(boxes(draw(program)))


def test_the_picture_in_the_readme_is_the_tennis_tree() -> None:
    shown = (ROOT / "docs" / "tennis.svg").read_text(encoding="utf-8")
    assert shown == load(ROOT / "examples" / "tennis" / "out" / "model.json").draw()


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("seed", range(10))
def test_hostile_names_stay_text(seed: int) -> None:
    picture = draw(random_tree_program(seed))
    picture.encode()
    tags = {element.tag for element in ElementTree.fromstring(picture).iter()}
    names = ("svg", "g", "rect", "path", "text", "title")
    assert tags <= {f"{SVG}{name}" for name in names}


def test_long_names_are_cut_and_stand_in_the_title() -> None:
    long = "a very long name indeed " * 10
    program = stump(0.1234567890123)
    assert isinstance(program.body, Tree)
    feature = Feature(long, Kind.NUMERIC, ValueType.FLOAT)
    picture = draw(replace(program, body=replace(program.body, features=(feature,))))
    boxed = [text for text in texts(picture) if text.startswith('"a very')]
    assert max(map(len, boxed)) <= 26
    assert long.strip() in picture  # in the title of the node
    assert "≤ 0.1235" in texts(picture)
    assert "<title>&lt;= 0.1234567890123</title>" in picture.replace("≤", "&lt;=")
    assert "thresholds are rounded" in " ".join(texts(picture))


ROW = {"number": 3.0, "text": "c", "code": 1, "flag": True, "grade": "low"}


# ---------------------------------------------------------------- the path of a row


def lit(picture: str) -> int:
    return sum(box.stroke_width == 3 for box in boxes(picture))


def test_a_row_lights_its_path() -> None:
    program = every_type()
    assert isinstance(program.body, Tree)
    picture = draw(program, DrawOptions(row=ROW))
    position = decider(program.body, converted(program, ROW))
    identity = rule_ids(program.body)[position]
    sentence = [t for t in texts(picture) if t.startswith(f"{identity}: if")]
    assert len(sentence) == 1
    lit_texts = [
        text.text or ""
        for node in nodes(picture)
        if rectangle(node).stroke_width == 3
        for text in node.iter(f"{SVG}text")
    ]
    assert lit_texts[0] == "number"  # the root
    assert lit_texts[-1].startswith(f"{identity}: ")
    assert lit(draw(program)) == 0


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({}, "the row has no column 'number': add it, as null if it is missing"),
        ({**ROW, "number": "high"}, "'number' is 'high': expected a number"),
        ({**ROW, "flag": 7}, "'flag' is 7: expected True or False"),
        (
            {"numbr": 1.0, **{k: v for k, v in ROW.items() if k != "number"}},
            "did you mean 'numbr'",
        ),
    ],
)
def test_a_row_that_the_model_cannot_read(row: dict[str, object], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        draw(every_type(), DrawOptions(row=row))


# ---------------------------------------------------------------- rules


def test_a_list_of_rules_is_not_drawn() -> None:
    with pytest.raises(OptionError, match="draw needs a tree.*read them in RULES.md"):
        draw(flatten(every_type()))


def test_a_notebook_shows_a_model() -> None:
    html = Model(balanced(8))._repr_html_()
    assert html.startswith("<div")
    assert 0 < html.count('class="hidden"') <= 40
    assert "leaves are summarised" in html
    rules = Model(flatten(every_type()))
    assert "R1: if number &lt;= 2.5" in rules._repr_html_()
    assert rules.explain(ROW).rule in rules.explain(ROW)._repr_html_()
