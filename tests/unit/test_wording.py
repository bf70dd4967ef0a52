"""Messages name options by their own names, in Python and in the shell alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.commands import run
from tests.support.samples import TENNIS
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import OptionError
from treecompile.model.options import Option, options_of

LEARNING = {each.keyword: each for each in options_of(LearnOptions).values()}


def wrong(option: Option) -> Any:
    """A value that the option refuses."""
    if option.choices or option.values or option.name in ("algorithm", "task"):
        return "foo"
    return -3 if option.accepts is not None and not option.accepts(-3) else None


REFUSING = [name for name, each in LEARNING.items() if wrong(each) is not None]


@pytest.mark.parametrize("keyword", REFUSING)
def test_a_refused_value_is_named_alike(keyword: str, tmp_path: Path) -> None:
    value = wrong(LEARNING[keyword])
    options: dict[str, Any] = {"target": "play", "algorithm": "cart", keyword: value}
    with pytest.raises(OptionError) as raised:
        treecompile.learn(TENNIS, **options)
    said = f"{keyword}={value!r}: expected "
    assert str(raised.value).startswith(said)
    if not LEARNING[keyword].choices:  # which click refuses
        flag = LEARNING[keyword].flag
        arguments = ("--target", "play", "-o", tmp_path / "m.json", flag, str(value))
        algorithm = () if keyword == "algorithm" else ("--algorithm", "cart")
        stderr = run("learn", TENNIS, *arguments, *algorithm).stderr
        assert stderr.startswith(f"Error: {keyword}=")


@pytest.mark.parametrize("keyword", ["max_depth", "min_leaf", "cf", "seed", "alpha"])
def test_a_value_of_another_type_is_named_likewise(keyword: str) -> None:
    values: tuple[Any, ...] = ("three", [1])
    for value in values:
        with pytest.raises(OptionError, match=rf"^{keyword}=.*: expected "):
            treecompile.learn(TENNIS, target="play", **{keyword: value})


@pytest.mark.parametrize(
    ("written", "algorithm"),
    [
        *[(name, "c45") for name in ("C4.5", "c4.5", "C45", "c45", "C 4.5")],
        *[("CART", "cart"), ("Cart", "cart"), ("ID3", "id3"), ("id-3", "id3")],
    ],
)
def test_an_algorithm_is_known_however_it_is_written(
    written: str, algorithm: str
) -> None:
    model = treecompile.learn(TENNIS, target="play", algorithm=written)
    expected = treecompile.learn(TENNIS, target="play", algorithm=algorithm)
    assert model.sha256 == expected.sha256


def test_all_choices_are_known_however_they_are_written() -> None:
    options: Any = {"criterion": "Gain Ratio", "prune": "cost_complexity"}
    frame = pd.read_csv(TENNIS)
    model = treecompile.learn(frame, target="play", algorithm="CART", **options)
    assert dict(model.program.options)["criterion"] == "gain-ratio"
