"""Errors and notes from Python name keywords, those of the command line flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.commands import run
from tests.support.samples import ROOT, TENNIS
from treecompile import OptionError, TreecompileError
from treecompile.api.options import keywords_of
from treecompile.api.wording import in_python, keywords
from treecompile.emit.options import EmitOptions
from treecompile.learning.options import DECLARED, LearnOptions
from treecompile.model.options import Option
from treecompile.sklearn import TreeClassifier
from treecompile.tables.options import DataOptions

FLAG = re.compile(r"(?<![\w-])--[a-z]")
LEARNING = keywords_of(DataOptions, LearnOptions)
EMITTING = keywords_of(EmitOptions)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("add --na-value 'NA'", "add na_value='NA'"),
        ("--min-leaf 0: expected 1 or more", "min_leaf=0: expected 1 or more"),
        ("--max-depth -1: expected", "max_depth=-1: expected"),
        ("--cf nan: expected", "cf=nan: expected"),
        ("use --algorithm cart, or", "use algorithm='cart', or"),
        ("use --algorithm c45 or cart, which", "use algorithm='c45' or 'cart', which"),
        ("is for --algorithm c45, not cart", "is for algorithm='c45', not cart"),
        ("add --no-header to name", "add no_header=True to name"),
        ("--no-comments is for sql", "comments=False is for sql"),
        ("use --as select, view or dbt", "use form='select', 'view' or 'dbt'"),
        ("add --column NAME=NEW", "add columns={'NAME': 'NEW'}"),
        ("--class-weight n=-2: expected", "class_weight={'n': -2}: expected"),
        ("add --validation FILE or", "add validation=FILE or"),
        ("add --ignore 'a' --ignore 'b' to", "add ignore=['a', 'b'] to"),
        ("--na-value '?' and --na-value '-'", "na_value=['?', '-']"),
        ("--alpha 1se, --max-leaves or", "alpha='1se', max_leaves or"),
        ("--cv 1: expected", "k=1: expected"),
        # What comes from the data, and what is meant for a shell, stays.
        ("no column '--ignore x'", "no column '--ignore x'"),
        ("the root's --cf isn't", "the root's cf isn't"),
        ("`treecompile emit --to sql`", "`treecompile emit --to sql`"),
        ("a -- b, x--ignore", "a -- b, x--ignore"),
    ],
)
def test_flags_become_keywords(said: str, expected: str) -> None:
    assert in_python(said) == expected
    assert in_python(expected) == expected


def messages() -> Iterator[str]:
    """Every text in the package that may become a message, with its flags."""
    elsewhere = ("cli", "runtime", "templates")
    for path in sorted((ROOT / "treecompile").rglob("*.py")):
        if set(path.parts) & set(elsewhere) or path.name == "node_process.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = getattr(node, "value", None)
            if isinstance(node, ast.JoinedStr):
                parts = (getattr(part, "value", "'x'") for part in node.values)
                text = "".join(p if isinstance(p, str) else "'x'" for p in parts)
            if isinstance(text, str) and FLAG.search(text):
                yield text


def test_no_message_keeps_a_flag() -> None:
    found = list(messages())
    assert len(found) > 150
    for text in found:
        shown = re.sub(r"`[^`]*`", "", in_python(text))
        assert not FLAG.search(shown), text


@pytest.mark.parametrize("keyword", [*LEARNING, *EMITTING])
def test_every_declared_option_has_its_keyword(keyword: str) -> None:
    declared = {**EMITTING, **LEARNING}
    option = declared[keyword]
    assert keywords()[option.flag].name == keyword
    said = in_python(f"{option.flag} is for others: leave {option.flag} out")
    assert said.startswith((f"{keyword} is", f"{keyword}=True is", f"{keyword}=False"))


def wrong(option: Option) -> Any:
    """A value that the option refuses."""
    if option.choices or option.values or option.name in ("algorithm", "task"):
        return "foo"
    return -3 if option.accepts is not None and not option.accepts(-3) else None


REFUSING = [name for name, each in LEARNING.items() if wrong(each) is not None]


@pytest.mark.parametrize("keyword", REFUSING)
def test_a_refused_value_is_told_as_python_wrote_it(
    keyword: str, tmp_path: Path
) -> None:
    value = wrong(LEARNING[keyword])
    options: dict[str, Any] = {"target": "play", "algorithm": "cart", keyword: value}
    with pytest.raises(OptionError) as raised:
        treecompile.learn(TENNIS, **options)
    assert str(raised.value).startswith(f"{keyword}={value!r}: expected ")
    flag = LEARNING[keyword].flag
    arguments = ("--target", "play", "-o", tmp_path / "m.json", flag, str(value))
    assert f"Error: {flag} " in run("learn", TENNIS, *arguments).stderr


@pytest.mark.parametrize("keyword", ["max_depth", "min_leaf", "cf", "seed", "alpha"])
def test_a_value_of_another_type_is_told_likewise(keyword: str) -> None:
    values: tuple[Any, ...] = ("three", [1])
    for value in values:
        with pytest.raises(OptionError, match=rf"^{keyword}=.*: expected "):
            treecompile.learn(TENNIS, target="play", **{keyword: value})


def test_enough_values_are_refused() -> None:
    assert len(REFUSING) > 15


def test_every_door_speaks_python(tmp_path: Path) -> None:
    frame = pd.read_csv(TENNIS)
    model = treecompile.learn(frame, target="play")
    attempts: dict[str, Any] = {
        "min_leaf=0": lambda: treecompile.cross_validate(
            frame, target="play", min_leaf=0
        ),
        "k=1": lambda: treecompile.cross_validate(frame, target="play", k=1),
        "rules='foo'": lambda: treecompile.build(
            frame, tmp_path, target="play", rules="foo"
        ),
        "form='foo'": lambda: model.emit("sql", form="foo"),
        "delimiter is not for": lambda: model.predict(frame, delimiter=";"),
        "layout='foo'": lambda: model.draw(layout="foo"),
        "budget=0": lambda: model.rules().check(budget=0),
        "output is for SQL": lambda: model.verify(model.emit(), output="rule"),
    }
    for said, attempt in attempts.items():
        with pytest.raises(TreecompileError, match=re.escape(said)) as raised:
            attempt()
        assert not FLAG.search(str(raised.value))


def test_notes_speak_python() -> None:
    frame = pd.DataFrame({"x": [f"k{n}" for n in range(60)], "y": ["a", "b"] * 30})
    frame["z"] = range(0, 120, 2)
    model = treecompile.learn(frame, target="y")
    notes = "\n".join(model.notes)
    assert "(categorical='x' keeps it)" in notes
    assert not FLAG.search(notes)
    assert "(--categorical 'x' keeps it)" in "\n".join(model.told)


def test_estimators_use_their_own_names() -> None:
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) > 9
    with pytest.raises(ValueError, match="^max_leaf_nodes is for algorithm='cart'"):
        TreeClassifier(max_leaf_nodes=3).fit(X, y)
    with pytest.raises(ValueError, match="^algorithm='forest': expected id3, c45 or"):
        TreeClassifier("forest").fit(X, y)


# ---------------------------------------------------------------- spelling


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
    assert model.program.algorithm == algorithm
    frame = pd.read_csv(TENNIS)
    if algorithm != "id3":
        found = TreeClassifier(written).fit(frame[["wind"]], frame["play"])
        assert found.model_.program.algorithm == algorithm


def test_all_choices_are_known_however_they_are_written() -> None:
    options: Any = {"criterion": "Gain Ratio", "prune": "cost_complexity"}
    model = treecompile.learn(TENNIS, target="play", algorithm="CART", **options)
    assert dict(model.program.options)["criterion"] == "gain-ratio"
    assert {name for name, each in DECLARED.items() if each.values} >= {*options}
