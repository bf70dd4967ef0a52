"""The document of a forest: its text, its figures, and names that look like markup."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from markdown_it import MarkdownIt

from tests.support.forests import random_forest
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model import ir
from treecompile.model.errors import TargetError
from treecompile.model.forest_words import exactness, steps
from treecompile.model.forests import LeafNode, SplitNode, member

AGE = ir.Feature("age", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
SEX = ir.Feature("sex", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("f", "m"))
CITY = ir.Feature("city", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("Bonn",))
FEATURES = (AGE, SEX, CITY)


def two_trees(features: tuple[ir.Feature, ...] = FEATURES) -> tuple[ir.Member, ...]:
    by_age = ir.Condition(0, ir.Op.LE, 40.0, missing=True)
    by_sex = ir.Condition(1, ir.Op.IN, (features[1].categories[0],), missing=False)
    first = member(
        features,
        (0,),
        [
            *(SplitNode(by_age, 1, 2, 10.0, 6.0), LeafNode((-1.0,), 4.0)),
            *(SplitNode(by_sex, 3, 4, 6.0, 1.0), LeafNode((0.5,), 2.0)),
            LeafNode((2.0,), 4.0),
        ],
    )
    second = member(
        features,
        (0,),
        [
            *(SplitNode(by_sex, 1, 2, 10.0, 1.0), LeafNode((0.0,), 5.0)),
            LeafNode((1.0,), 5.0),
        ],
    )
    return first, second


def forest(features: tuple[ir.Feature, ...] = FEATURES) -> ir.Forest:
    return ir.Forest(
        features,
        ("no", "yes"),
        two_trees(features),
        (0.25,),
        link=ir.Link.LOGISTIC,
        cut=0.0,
    )


PROGRAM = ir.ForestProgram(
    "churn",
    "LightGBM binary",
    forest(),
    (("objective", "binary"), ("trees", 2)),
    training=ir.Training(
        "churn.csv",
        10,
        (ir.ColumnSummary(1, 20.0, 60.0), ir.ColumnSummary(0), ir.ColumnSummary(0)),
        ir.ClassQuality(((4, 1), (0, 5))),
    ),
)


def text_of(program: ir.ForestProgram, **options: object) -> str:
    return emit(program, "markdown", EmitOptions(**options)).text  # type: ignore[arg-type]


def test_what_a_forest_cannot_become() -> None:
    with pytest.raises(TargetError, match="a forest cannot become html: use"):
        emit(PROGRAM, "html")


# ---------------------------------------------------------------- other models


def test_without_gains_weights_and_data() -> None:
    bare = tuple(
        member(
            FEATURES,
            (0,),
            [
                SplitNode(ir.Condition(0, ir.Op.LE, limit, True), 1, 2),
                LeafNode((0.0,)),
                LeafNode((1.0,)),
            ],
        )
        for limit in (1.0, 2.0)
    )
    body = ir.Forest(
        FEATURES, (), bare, (0.0,), divisor=2.0, zero_is_missing=(0,), scale=3.0
    )
    text = text_of(ir.ForestProgram("y", "mean", body, na_values=("NA", "*")))
    assert "The share of each column in the splits of all trees." in text
    assert "How often the model is right was not measured." in text
    assert 'in a text file NA or `"*"`, is "missing". So is a 0 in age.' in text
    assert "The sum is divided by 2, the number of trees. The sum is multiplied" in text
    assert "- Exact: the answer. It is the same bits" in text


def test_numbers_with_known_quality() -> None:
    body = replace(forest(), labels=(), cut=None, link=ir.Link.EXP)
    assert PROGRAM.training is not None
    training = replace(PROGRAM.training, quality=ir.ValueQuality(10, 0.5, 1.5, 0.75))
    text = text_of(replace(PROGRAM, body=body, training=training))
    assert "| training data | 10 | 0.5 | 1.5 | 0.750 |" in text
    assert "1. The answer is exp(margin).\n" in text
    assert "- Exact: the margin. It is" in text
    assert "- Within the last digits: the answer." in text


@pytest.mark.parametrize("seed", range(30))
def test_any_forest_has_a_document(seed: int) -> None:
    body = random_forest(Random(seed))
    program = ir.ForestProgram("target", f"library {seed}", body)
    text = text_of(program)
    assert text == text_of(program)
    assert not re.search(r"\bnan\b|\binf\b", text)
    for sentence in (*steps(body), *exactness(body)):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "  " not in sentence


# ---------------------------------------------------------------- hostile names

HOSTILE = (
    "<script>alert(1)</script>",
    "a](javascript:alert(1))",
    "x | y | z",
    "`code` *bold* _it_ [link](http://x)",
    "# head\n\n- item",
    "![img](data:x)",
    "]: data:text/html,x",
    "www.example.com",
    "</svg><script>",
    "\u202eevil",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_never_markup(name: str) -> None:
    number = ir.Feature(name, ir.Kind.NUMERIC, ir.ValueType.FLOAT)
    text_feature = ir.Feature(
        f"{name}2", ir.Kind.CATEGORICAL, ir.ValueType.STR, (name, "m")
    )
    body = replace(forest((number, text_feature, CITY)), labels=("no", name))
    assert PROGRAM.training is not None
    program = replace(PROGRAM, target=name, algorithm=name, body=body)
    text = text_of(program)
    parser = MarkdownIt("commonmark").enable("table")
    plain, hostile = (parser.parse(each) for each in (text_of(PROGRAM), text))
    heads = [token for token in hostile if token.type == "heading_open"]
    assert len(heads) == sum(token.type == "heading_open" for token in plain)
    cells = [token for token in hostile if token.type == "td_open"]
    assert len(cells) == sum(t.type == "td_open" for t in plain)
    allowed = {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
    for token in hostile:
        assert token.type not in ("fence", "code_block", "html_block")
        for child in token.children or ():
            assert child.type in allowed | {"text_special"}, child
