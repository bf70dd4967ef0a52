"""Pictures: well formed for any names, complete, and without overlaps."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from xml.etree import ElementTree

import pytest

from tests.support.random_models import large_tree, random_program
from tests.support.rule_lists import flatten
from tests.support.samples import ROOT, balanced, every_type, stump
from treecompile import Model, load
from treecompile.model.errors import OptionError
from treecompile.model.ir import Feature, Kind, MissingPolicy, Program, Tree, ValueType
from treecompile.model.paths import rule_ids
from treecompile.pictures import draw
from treecompile.pictures.svg import CLASSES, Palette, cut, on, width
from treecompile.pictures.tree import laid_out, readable_depth

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def boxes(picture: str) -> list[tuple[float, float, float, float]]:
    """The frames of the nodes: left, top, right, bottom."""
    found = []
    for element in ElementTree.fromstring(picture).iter(f"{SVG}rect"):
        if element.get("rx") == "5":
            x, y, wide, high = (
                float(element.get(key, "nan")) for key in ("x", "y", "width", "height")
            )
            found.append((x, y, x + wide, y + high))
    return found


def test_a_tree() -> None:
    picture = draw(every_type())
    shown = texts(picture)
    assert shown[0] == "answer"
    assert shown[1:7] == ["number", "text", "code", "flag", "grade", "rest"]  # legend
    for test in ("≤ 2.5 (or missing)", "> 2.5", "in {a, b}", "= true", "≤ mid"):
        assert test in shown
    assert "R1, 3 of 4 cases" in shown
    assert CLASSES[0] in picture
    assert picture == draw(every_type())


@pytest.mark.parametrize("leaves", [5, 50, 500])
def test_nothing_overlaps_and_all_is_inside(leaves: int) -> None:
    tree = large_tree(leaves)
    picture = draw(Program("y", "x", tree))
    root = ElementTree.fromstring(picture)
    wide, high = float(root.get("width", "0")), float(root.get("height", "0"))
    found = sorted(boxes(picture))
    assert len(found) == len(tree.nodes)
    for left, top, right, bottom in found:
        assert 0 <= left < right <= wide
        assert 0 <= top < bottom <= high
    for place, (left, top, right, bottom) in enumerate(found):
        for other_left, other_top, other_right, other_bottom in found[place + 1 :]:
            if other_left >= right:
                break  # sorted: those behind lie further right
            apart = top >= other_bottom or other_top >= bottom
            assert apart or left >= other_right
    ids = {text.split(",")[0] for text in texts(picture)}
    assert set(rule_ids(tree).values()) <= ids


@pytest.mark.parametrize("seed", range(60))
def test_hostile_names_stay_text(seed: int) -> None:
    program = random_program(Random(seed))
    picture = draw(program)
    picture.encode()
    tags = {element.tag for element in ElementTree.fromstring(picture).iter()}
    assert tags <= {f"{SVG}{name}" for name in ("svg", "g", "rect", "path")} | {
        f"{SVG}text",
        f"{SVG}title",
    }


def test_long_names_are_cut_and_stand_in_the_title() -> None:
    long = "a very long name indeed " * 10
    program = stump(0.1234567890123)
    assert isinstance(program.body, Tree)
    feature = Feature(long, Kind.NUMERIC, ValueType.FLOAT)
    picture = draw(replace(program, body=replace(program.body, features=(feature,))))
    assert max(map(len, texts(picture))) < 80
    assert long.strip() in picture  # in the title of the node
    assert "≤ 0.1235" in texts(picture)
    assert "<title>&lt;= 0.1234567890123</title>" in picture.replace("≤", "&lt;=")
    assert "thresholds rounded" in texts(picture)[0]


def test_a_cut_tree_says_what_is_missing() -> None:
    program = balanced(6)
    picture = draw(program, 2)
    assert len(boxes(picture)) == 7
    assert texts(picture).count("16 more leaves") == 4
    assert draw(program, 99) == draw(program)
    with pytest.raises(OptionError, match="expected 0 or more"):
        draw(program, -1)


def test_regression_goes_from_light_to_dark() -> None:
    palette = Palette((), [1.0, 3.0])
    assert palette.of(1.0) == "#f7fbff"
    assert palette.of(3.0) == "#08519c"
    assert on(palette.of(1.0)) != on(palette.of(3.0))
    huge = Palette((), [-1.7e308, 1.7e308])
    assert huge.share(0.0) == 0.5
    assert Palette((), [2.0]).of(2.0)
    assert len(boxes(draw(balanced(4)))) == 31


def test_a_tree_that_divides_missing_values_says_so() -> None:
    program = every_type()
    assert isinstance(program.body, Tree)
    body = replace(program.body, missing=MissingPolicy.FRACTIONAL)
    assert "divided among the branches" in texts(draw(replace(program, body=body)))[0]
    assert "divided" not in draw(program)


def test_the_picture_in_the_readme_is_the_tennis_tree() -> None:
    shown = (ROOT / "docs" / "tennis.svg").read_text(encoding="utf-8")
    assert shown == load(ROOT / "examples" / "tennis" / "out" / "model.json").draw()


def test_rules_are_drawn_as_a_table() -> None:
    program = flatten(every_type())
    shown = texts(draw(program))
    assert shown[0] == "answer"
    assert "number ≤ 2.5 (or missing)" in shown
    assert "and text in {a, b}" in shown
    assert "otherwise" in shown
    with pytest.raises(OptionError, match="for trees"):
        draw(program, 2)


def test_the_depth_that_a_notebook_shows() -> None:
    program = balanced(8)
    tree = program.body
    assert isinstance(tree, Tree)
    assert readable_depth(tree, 60) == 5
    assert readable_depth(tree, 64) == 6
    assert readable_depth(tree, 256) is None
    drawn = [box for box in laid_out(program, tree, 5) if box.hidden]
    assert [box.hidden for box in drawn] == [8] * 32
    html = Model(balanced(8))._repr_html_()
    assert html.startswith("<div")
    assert html.count(" more leaves</text>") == 32
    assert "<svg" in Model(flatten(every_type()))._repr_html_()


def test_a_deep_tree_does_not_recurse() -> None:
    tree = large_tree(1_500, chain=True)
    assert len(boxes(draw(Program("y", "x", tree)))) == len(tree.nodes)


def test_widths_are_not_too_small() -> None:
    # Helvetica's own widths, in thousandths of the size.
    helvetica = {"a": 556, "W": 944, "i": 222, "m": 833, "M": 833, "9": 556, " ": 278}
    for character, own in helvetica.items():
        assert width(character * 10) >= 10 * 12 * own / 1000, character
    assert cut("abcdef", 4) == "abc…"
    assert re.fullmatch(r"x+", cut("x" * 34))
