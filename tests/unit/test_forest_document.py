"""The document of a forest: its text, its figures, and names that look like markup."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from markdown_it import MarkdownIt

from tests.support.forests import random_forest
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions, Entry
from treecompile.model import ir
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.file import sha256
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


def section(text: str, head: str) -> str:
    return text.partition(f"\n## {head}\n")[2].partition("\n## ")[0].strip()


WHOLE = f"""\
# Model for predicting churn

The model predicts **churn**, one of no, yes. It uses 2 of 3 columns: age, sex. It is\
 a forest, made by LightGBM binary: 2 trees, 5 leaves, depth 2.

Model SHA-256: `{sha256(PROGRAM)}`, written by treecompile 0.1.0. Code generated from\
 the same model carries the same SHA-256.

## No rules to read

The model is a sum of 2 trees. Each tree adds a number, and the answer is computed\
 from the sum, so no part of the model decides alone. It has no rules that a person\
 could read and accept one by one. This document says how an answer is computed, from\
 which columns, and what the model relies on.

If people must be able to read the decision, learn one tree from the answers of\
 this forest. That tree is a different model, with its own rules, document and quality.

## How an answer is computed

1. The sum starts at 0.25.
1. Each of the 2 trees asks at most 2 questions about the row, comes to one of its\
 leaves, and adds the number of that leaf to the sum. The trees are added in their\
 order. Each result is rounded to 64 bits (about 16 digits). The result is the\
 margin.
1. The probability of yes is 1 / (1 + exp(-margin)). That of no is the rest up to 1.
1. The answer is yes if the margin is above 0, and no otherwise.

### Which figures are exact

- Exact: the margin and the label. They are the same bits as in the model, wherever\
 the generated code runs.
- Within the last digits: probabilities. Each engine computes exp in its own way, and\
 two engines may round the last digits differently. The label does not depend on\
 that.

## Data

The model was learned from churn.csv, 10 rows. Options: objective = binary, trees = 2.

## Quality

### Training data

The model is right in 9 of 10 cases: accuracy 90.0 %. Always answering no, the most\
 common answer in training, would be right in 5: 50.0 %.

| Actual | Predicted no | Predicted yes | Right |
| --- | --- | --- | --- |
| no | 4 | 1 | 4 of 5 (80.0 %) |
| yes | 0 | 5 | 5 of 5 (100.0 %) |

## Features

The SQL type is the type of the column in a database; each database has its own name\
 for it. For numbers, every numeric type will do. Categories are compared exactly:\
 case, accents and spaces count.

| Name | Kind | Values in training | Missing | SQL type | Used |
| --- | --- | --- | --- | --- | --- |
| age | numeric | 20 to 60 | 1 | DOUBLE PRECISION | yes |
| sex | categorical | f, m | 0 | VARCHAR | yes |
| city | categorical | Bonn | 0 | VARCHAR | no |

## Importance of the features

The importance of a feature is its share of the total gain: of how much all splits of\
 all trees improved the fit in training, by the measure of the library. It says what\
 the model relies on, not what causes what. Features that carry the same information\
 share their importance.

| Feature | Share of the gain |  |
| --- | --- | --- |
| age | 75.0 % | ████████████████████████ |
| sex | 25.0 % | ████████ |

Not used: city.

## Missing and unseen values

- A value is missing if its field is empty, NULL or NaN.
- Each test of each tree says where a missing value goes. Nothing has to be filled in\
 beforehand.
- A category that is not listed above is unseen. A test names some categories; an\
 unseen one goes the same way as those that it does not name.

---

Approved by: ____________ on: ____________
"""


def test_the_whole_text() -> None:
    assert text_of(PROGRAM) == WHOLE


def test_the_same_bytes_every_time() -> None:
    assert text_of(PROGRAM) == text_of(replace(PROGRAM, body=forest()))


def test_what_people_say_about_it() -> None:
    glossary = {"age": Entry("age in full years", "years"), "churn": Entry("left us")}
    text = text_of(PROGRAM, glossary=glossary)
    assert "predicts **churn** (left us), one of no, yes." in text
    assert "| age | age in full years | years | numeric | 20 to 60 years | 1 |" in text
    made = emit(PROGRAM, "markdown", EmitOptions(glossary={"Age": Entry("x")}))
    assert made.warnings == (
        "the glossary explains names that the model does not have: Age",
    )


def test_full_is_refused() -> None:
    with pytest.raises(OptionError, match="--full is for rules, and a forest has none"):
        text_of(PROGRAM, full=True)


def test_what_a_forest_cannot_become() -> None:
    with pytest.raises(TargetError, match="a forest cannot become html: use"):
        emit(PROGRAM, "html")


def test_a_template_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "markdown").mkdir()
    (tmp_path / "markdown" / "forest.md.jinja").write_text("{{ summary }}|{{ target }}")
    text = text_of(PROGRAM, templates=str(tmp_path))
    assert text.endswith("depth 2.|churn")


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
    assert "Share of the splits" in text
    assert "How much each split improved the fit is not recorded." in text
    assert "The quality of the model was not measured." in text
    assert "The data that the model was learned from is not recorded." in text
    assert "- In these columns, 0 counts as missing: age." in text
    assert '- In text files, these fields also count as empty: NA, `"*"`.' in text
    assert "The sum is divided by 2, the number of trees. The sum is multiplied" in text
    assert "- Exact: the answer. It is the same bits" in text
    assert "A category that" not in text


def test_numbers_with_known_quality() -> None:
    body = replace(forest(), labels=(), cut=None, link=ir.Link.EXP)
    assert PROGRAM.training is not None
    training = replace(PROGRAM.training, quality=ir.ValueQuality(10, 0.5, 1.5, 0.75))
    text = text_of(replace(PROGRAM, body=body, training=training))
    assert "squared error that the model removes (1: all of it, 0: none)." in text
    assert "| R² | 0.750 |" in text
    assert "1. The answer is exp(margin).\n" in text
    assert "- Exact: the margin. It is" in text
    assert "- Within the last digits: the answer." in text


def test_a_forest_that_tests_nothing() -> None:
    body = ir.Forest((AGE,), (), (member((AGE,), (0,), [LeafNode((1.0,))]),), (0.0,))
    text = text_of(ir.ForestProgram("y", "mean", body))
    assert "It uses no column." in text
    assert section(text, "Importance of the features") == (
        "No tree tests any feature: every row gets the same answer."
    )
    assert "The one tree asks nothing about the row" in text
    assert "- No column is used, so no value can be missing or unseen." in text


def test_many_features_stay_readable() -> None:
    features = tuple(
        ir.Feature(f"x{i}", ir.Kind.NUMERIC, ir.ValueType.FLOAT) for i in range(40)
    )
    codes = ir.Feature("code", ir.Kind.CATEGORICAL, ir.ValueType.INT, tuple(range(50)))
    features = (*features, codes)
    tests = [ir.Condition(i, ir.Op.LE, 0.0, False) for i in range(40)]
    tests += [ir.Condition(40, ir.Op.IN, tuple(range(n)), False) for n in range(1, 50)]
    members = tuple(
        member(
            features,
            (0,),
            [SplitNode(test, 1, 2, 5.0, 1.0), LeafNode((1.0,)), LeafNode((0.0,))],
        )
        for test in tests
    )
    text = text_of(
        ir.ForestProgram("y", "mean", ir.Forest(features, (), members, (0.0,)))
    )
    lines = section(text, "Importance of the features").splitlines()
    assert lines[-1].startswith("| 11 more | 12.4 % |")


def test_labels_with_an_output_each() -> None:
    for outputs in (2, 3, 7):
        labels = tuple("abcdefg"[:outputs])
        test = ir.Condition(0, ir.Op.LE, 1.0, True)
        members = tuple(
            member(
                (AGE,),
                (place,),
                [
                    SplitNode(test, 1, 2, 5.0, 1.0),
                    LeafNode((0.0,), 2.0),
                    LeafNode((float(place),), 3.0),
                ],
            )
            for place in range(outputs)
        )
        body = ir.Forest(
            (AGE,), labels, members, (0.0,) * outputs, link=ir.Link.SOFTMAX
        )
        text = text_of(ir.ForestProgram("y", "mean", body))
        assert "to the sum of its label." in text


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
    text = text_of(program, glossary={name: Entry(name, name)})
    parser = MarkdownIt("commonmark").enable("table")
    plain, hostile = (parser.parse(each) for each in (text_of(PROGRAM), text))
    heads = [token for token in hostile if token.type == "heading_open"]
    assert len(heads) == sum(token.type == "heading_open" for token in plain)
    cells = [token for token in hostile if token.type == "td_open"]
    assert len(cells) == sum(t.type == "td_open" for t in plain) + 2 * 3
    allowed = {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
    for token in hostile:
        assert token.type not in ("fence", "code_block", "html_block")
        for child in token.children or ():
            assert child.type in allowed | {"text_special"}, child
