"""Pictures: well formed for any names, complete, legible, and without overlaps."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest

from tests.support.random_models import large_tree, random_tree
from tests.support.rule_lists import flatten
from tests.support.samples import ROOT, balanced, every_type, stump
from treecompile import Model, load
from treecompile.model.errors import DataError, OptionError
from treecompile.model.evidence import Evidence
from treecompile.model.ir import (
    ClassCounts,
    Feature,
    Kind,
    Leaf,
    Node,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import decider
from treecompile.pictures import svg
from treecompile.pictures.colours import CLASSES, OTHER, RAMP, Palette, on, shade
from treecompile.pictures.draw import compact, draw
from treecompile.pictures.options import DrawOptions
from treecompile.rules.trail import converted

SVG = "{http://www.w3.org/2000/svg}"
NOTHING = Evidence(0.0, 0.0)


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

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def rectangle(element: ElementTree.Element) -> Rectangle:
    x, y, wide, high = (
        float(element.get(key, "0")) for key in ("x", "y", "width", "height")
    )
    fill = element.get("fill", "")
    thick = float(element.get("stroke-width", "0"))
    return Rectangle(x, y, x + wide, y + high, fill, thick)


def boxes(picture: str) -> list[Rectangle]:
    """The frames of the nodes."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}rect")
    return [rectangle(element) for element in found if element.get("rx") == "5"]


def size(picture: str) -> tuple[float, float]:
    root = ElementTree.fromstring(picture)
    return float(root.get("width", "0")), float(root.get("height", "0"))


def with_labels(count: int) -> Program:
    """A tree with a leaf for each label, of which the last ones are most frequent."""
    program = balanced(count.bit_length())
    assert isinstance(program.body, Tree)
    labels = tuple(f"label {code}" for code in range(count))
    nodes: list[Node] = []
    for node in program.body.nodes:
        code = len(nodes) % count
        weights = tuple(float(c + 1) if c == code else 0.0 for c in range(count))
        stats = ClassCounts(weights)
        if isinstance(node, Leaf):
            nodes.append(Leaf(labels[code], stats, stats.weight))
        else:
            nodes.append(replace(node, stats=stats))
    return replace(
        program, body=replace(program.body, labels=labels, nodes=tuple(nodes))
    )


# ---------------------------------------------------------------- trees


def test_a_tree() -> None:
    picture = draw(every_type())
    shown = texts(picture)
    assert shown[0] == "answer"
    assert shown[1:7] == ["number", "text", "code", "flag", "grade", "rest"]  # legend
    for test in ("≤ 2.5 (or missing)", "> 2.5", "in {a, b}", "= true", "≤ mid"):
        assert test in shown
    assert "R1: 3 of 4" in shown
    assert CLASSES[0] in picture
    assert picture == draw(every_type())


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


def test_texts_do_not_overlap() -> None:
    """Lines of text at the same height leave each other room."""
    for seed in range(8):
        picture = draw(Program("y", "x", large_tree(40, seed)))
        at_height: dict[str, list[tuple[float, float]]] = {}
        for element in ElementTree.fromstring(picture).iter(f"{SVG}text"):
            own = len(element.text or "") * 4.0  # narrower than any font
            x = float(element.get("x", "0"))
            x -= own / 2 if element.get("text-anchor") else 0
            at_height.setdefault(element.get("y", ""), []).append((x, x + own))
        for spans in at_height.values():
            for one, other in combinations(sorted(spans), 2):
                assert one[1] <= other[0]


def test_down_if_it_fits_a_page_else_right() -> None:
    small, large = every_type(), balanced(6)
    assert draw(small) == draw(small, DrawOptions(layout="down"))
    assert draw(large) == draw(large, DrawOptions(layout="right"))
    root = min(boxes(draw(small, DrawOptions(layout="down"))), key=lambda box: box.top)
    assert all(box.top > root.top for box in boxes(draw(small))[1:])
    root, *others = boxes(draw(large))
    assert all(box.left > root.left for box in others)
    with pytest.raises(OptionError, match="expected down or right"):
        draw(small, DrawOptions(layout="up"))


@pytest.mark.parametrize(
    ("leaves", "chain"), [(3, False), (30, False), (3_000, False), (60, True)]
)
def test_a_picture_shrinks_to_the_page_and_stays_legible(
    leaves: int, chain: bool
) -> None:
    picture = draw(Program("y", "x", large_tree(leaves, chain=chain)))
    root = ElementTree.fromstring(picture)
    assert "max-width: 100%" in root.get("style", "")
    wide, high = size(picture)
    assert root.get("viewBox") == f"0 0 {svg.number(wide)} {svg.number(high)}"
    font = float(root.get("font-size", "0")) * min(1, svg.PAGE / wide)
    assert font > 8.5


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
        drawn = sum(bool(re.match(r"R\d+: ", text)) for text in shown) - 1  # the legend
        assert count + drawn == 500
        assert any(text.startswith("R1: 4 of 5 means") for text in shown)
        assert f"{count} leaves are summarised" in " ".join(shown)
    assert len(boxes(draw(program, DrawOptions(max_leaves=20)))) < 60
    assert len(boxes(compact(program))) < len(boxes(draw(program)))


def test_the_branches_with_most_cases_are_drawn() -> None:
    program = every_type()
    tree = program.body
    assert isinstance(tree, Tree)
    root = tree.nodes[0]
    assert isinstance(root, Split)
    shown = texts(draw(program, DrawOptions(max_leaves=2)))
    assert [t for t in shown if t.endswith(" leaves")]
    with pytest.raises(OptionError, match="expected 0 or more"):
        DrawOptions(max_depth=-1)
    with pytest.raises(OptionError, match="expected 1 or more"):
        DrawOptions(max_leaves=0)


def test_a_cut_tree_says_what_is_missing() -> None:
    program = balanced(6)
    picture = draw(program, DrawOptions(max_depth=2))
    assert len(boxes(picture)) == 7
    assert texts(picture).count("16 leaves") == 4
    whole = DrawOptions(max_leaves=64)
    assert draw(program, replace(whole, max_depth=99)) == draw(program, whole)


def test_a_deep_tree_does_not_recurse() -> None:
    tree = large_tree(1_200, chain=True)
    options = DrawOptions(max_leaves=2_000)
    assert len(boxes(draw(Program("y", "x", tree), options))) == len(tree.nodes)


def test_the_picture_in_the_readme_is_the_tennis_tree() -> None:
    shown = (ROOT / "docs" / "tennis.svg").read_text(encoding="utf-8")
    assert shown == load(ROOT / "examples" / "tennis" / "out" / "model.json").draw()


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("seed", range(60))
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


def test_widths_are_not_too_small() -> None:
    # Helvetica's own widths, in thousandths of the size.
    helvetica = {"a": 556, "W": 944, "i": 222, "m": 833, "M": 833, "9": 556, " ": 278}
    for character, own in helvetica.items():
        assert svg.width(character * 10) >= 10 * 12 * own / 1000, character
    assert svg.cut("abcdef", 4) == "abc…"
    assert svg.cut("x" * 34, 34) == "x" * 34
    lines = svg.wrapped("one two three four " + "x" * 200, 80)
    assert lines[0].startswith("one two")
    assert all(svg.width(line) <= 80 for line in lines)


# ---------------------------------------------------------------- colours


def luminance(colour: str) -> float:
    """As https://www.w3.org/TR/WCAG22/#dfn-relative-luminance defines it."""
    total = 0.0
    for place, factor in ((1, 0.2126), (3, 0.7152), (5, 0.0722)):
        part = int(colour[place : place + 2], 16) / 255
        part = part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        total += factor * part
    return total


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def least_contrast(picture: str) -> float:
    """Of each text with the last shape that was drawn below it."""
    painted: list[Rectangle] = []
    least = 21.0
    for element in ElementTree.fromstring(picture).iter():
        if element.tag == f"{SVG}rect":
            painted.append(rectangle(element))
        elif element.tag == f"{SVG}text":
            x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            below = [shape for shape in painted if shape.holds(x + 1, y - 3)]
            least = min(least, contrast(element.get("fill", ""), below[-1].fill))
    return least


ROW = {"number": 3.0, "text": "c", "code": 1, "flag": True, "grade": "low"}


@pytest.mark.parametrize(
    "program",
    [every_type(), balanced(5), with_labels(8), with_labels(21)],
    ids=["tree", "numbers", "8 labels", "21 labels"],
)
def test_all_text_is_legible(program: Program) -> None:
    for options in (DrawOptions(), DrawOptions(max_leaves=3)):
        assert least_contrast(draw(program, options)) >= 4.5


@pytest.mark.parametrize("seed", range(30))
def test_all_text_of_random_models_is_legible(seed: int) -> None:
    assert least_contrast(draw(random_tree_program(seed))) >= 4.5


def test_text_is_legible_on_every_colour() -> None:
    pure = Evidence(1.0, 1.0)
    for colour in (*CLASSES, *RAMP, *(shade(n / 1000) for n in range(1001))):
        assert contrast(on(colour), colour) >= 4.5
    labels = tuple(map(str, range(8)))
    palette = Palette(labels, labels, NOTHING)
    for label in labels:
        for rows in (pure, Evidence(2.0, 1.0), NOTHING):
            fill = palette.fill(label, rows)
            assert contrast(on(fill), fill) >= 4.5


def test_purer_leaves_are_darker() -> None:
    palette = Palette(("no", "yes"), ("no", "yes"), NOTHING)
    fills = [palette.fill("no", Evidence(10.0, right)) for right in (5.0, 7.0, 10.0)]
    lights = [luminance(fill) for fill in fills]
    assert lights == sorted(lights, reverse=True)
    assert len(set(lights)) == 3
    assert palette.fill("no", NOTHING) == fills[0]
    alone = Palette(("no",), ("no",), NOTHING)
    assert alone.fill("no", Evidence(1.0, 1.0)) == fills[-1]


def test_a_bar_has_the_shares_of_the_labels() -> None:
    palette = Palette(("a", "b", "c"), ("a", "b", "c"), NOTHING)
    rows = Evidence(4.0, 3.0, (3.0, 0.0, 1.0))
    assert palette.bands("a", rows) == [(CLASSES[0], 0.75), (CLASSES[2], 0.25)]
    assert palette.bands("a", Evidence(4.0, 3.0)) == [(CLASSES[0], 0.75), (OTHER, 0.25)]
    assert palette.bands("a", NOTHING) == []


def test_more_labels_than_colours() -> None:
    labels = tuple(f"label {code}" for code in range(21))
    rows = Evidence(231.0, 0.0, tuple(float(code + 1) for code in range(21)))
    palette = Palette(labels, labels, rows)
    assert set(palette.own) == set(labels[14:])  # the most frequent
    assert palette.of("label 0") == OTHER
    assert len({palette.of(label) for label in labels}) == 8
    shares = palette.bands("label 20", rows)
    assert shares[-1][0] == OTHER
    assert shares[-1][1] == pytest.approx(105 / 231)
    assert sum(share for _, share in shares) == pytest.approx(1)
    assert "14 other labels" in texts(draw(with_labels(21)))


def test_colours_of_labels_differ_for_colour_blind_readers() -> None:
    # As seen without red or green receptors (Vienot, Brettel and Mollon, 1999).
    views = (
        ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    )
    for view in views:
        seen = []
        for colour in CLASSES:
            parts = [(int(colour[n : n + 2], 16) / 255) ** 2.2 for n in (1, 3, 5)]
            seen.append(
                [sum(a * b for a, b in zip(row, parts, strict=True)) for row in view]
            )
        for one, other in combinations(seen, 2):
            far = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
            assert far > 0.05


def test_regression_goes_from_light_to_dark() -> None:
    palette = Palette((), [1.0, 3.0], NOTHING)
    assert palette.of(1.0) == RAMP[0]
    assert palette.of(3.0) == RAMP[-1]
    lights = [luminance(palette.of(1 + n / 100)) for n in range(201)]
    assert lights == sorted(lights, reverse=True)
    huge = Palette((), [-1.7e308, 1.7e308], NOTHING)
    assert huge.place(0.0) == 0.5
    assert Palette((), [2.0], NOTHING).of(2.0)
    shown = texts(draw(balanced(4)))
    assert len(boxes(draw(balanced(4)))) == 31
    assert "standard deviation" in " ".join(shown)


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
    root = ElementTree.fromstring(picture)
    lit_texts = [
        text.text or ""
        for group in root.iter(f"{SVG}g")
        if any(r.get("stroke-width") == "3" for r in group.iter(f"{SVG}rect"))
        for text in group.iter(f"{SVG}text")
    ]
    assert lit_texts[0] == "number"  # the root
    assert lit_texts[-1].startswith(f"{identity}: ")
    assert lit(draw(program)) == 0
    assert least_contrast(picture) >= 4.5


def test_a_path_is_drawn_even_where_the_tree_is_summarised() -> None:
    tree = large_tree(500)
    program = Program("y", "x", tree)
    row = {f"x{n}": 0.9 for n in range(8)} | {"c0": "z", "c1": None}
    position = decider(tree, converted(program, row))
    for options in (DrawOptions(row=row), DrawOptions(row=row, max_depth=1)):
        shown = texts(draw(program, options))
        found = [t for t in shown if t.startswith(f"{rule_ids(tree)[position]}: ")]
        assert len(found) == 2  # the sentence above, and the leaf


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
    assert 0 < html.count(' font-size="11">') < 200
    assert "leaves are summarised" in html
    rules = Model(flatten(every_type()))
    assert "R1: if number &lt;= 2.5" in rules._repr_html_()
    assert rules.explain(ROW).rule in rules.explain(ROW)._repr_html_()
