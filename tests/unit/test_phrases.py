"""Texts with places in braces: only declared places, filled once."""

from __future__ import annotations

import pytest

from treecompile.emit.phrases import Phrase


def test_places_are_filled() -> None:
    phrase = Phrase("100% {{{x}}} <= {value}, {x}", ["x", "value", "column"])
    assert phrase.places == ["x", "value", "x"]
    assert phrase.fill(x="a", value=1, column="b") == "100% {a} <= 1, a"
    assert Phrase("f({}, {})", [""]).fill("%s") == "f(%s, %s)"
    assert Phrase("{{}}%d", []).fill() == "{}%d"


@pytest.mark.parametrize("text", ["{x}", "{0}", "{}", "{{", "%(x)s", "%s %", "{x!r}"])
def test_what_is_filled_in_is_not_read_again(text: str) -> None:
    phrase = Phrase("<{x}|{value}>", ["x", "value"])
    assert phrase.fill(x=text, value=text) == f"<{text}|{text}>"
    assert phrase.around("value", x=text) == (f"<{text}|", ">")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{y}", "has {y}: choose from {value}, {x}"),
        ("{x.__class__}", "has {x.__class__}: choose from {value}, {x}"),
        ("{x[0]}", "has {x[0]}: choose from"),
        ("{x!r}", "has {x!r}: choose from"),
        ("{x:>9}", "has {x:>9}: choose from"),
        ("{}", "has {}: choose from"),
        ("{0}", "has {0}: choose from"),
        ("{ x }", "has { x }: choose from"),
        ("a {", "a single '{'; write a brace twice"),
        ("a }", "a single '}'; write a brace twice"),
        ("{x", "a single '{'"),
        ("{x{value}}", "a single '{'"),
    ],
)
def test_anything_but_a_declared_place_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Phrase(text, ["x", "value"])
    assert str(caught.value).startswith(message)
