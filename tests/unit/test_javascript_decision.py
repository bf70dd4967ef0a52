"""The text of the decision in JavaScript: names, types, widths, tables, comments."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.node import evaluated, in_one_process, needs_node, thrown
from tests.support.rule_lists import at_most, rule_set
from tests.support.samples import CODE, FLAG, TEXT, chain
from treecompile import __version__
from treecompile.emit.compiler import emit
from treecompile.emit.javascript.decision import DecisionScript, converter
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Op,
    Program,
    Rule,
    Tree,
    ValueType,
)
from treecompile.verify.verification import verify

SHA = "0" * 64
X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
LARGE = Feature("n", Kind.CATEGORICAL, ValueType.INT, (1, 2, 3, 2**60))
LONG = tuple(f"category number {n}" for n in range(5))
LOW = Condition(0, Op.LE, 2.5, missing=True)


def text_of(program: Program) -> str:
    return emit(program, "javascript", identity=SHA).text


def between(text: str, start: str, end: str) -> str:
    """What stands between two lines."""
    return text.partition(f"\n{start}\n")[2].partition(f"\n{end}\n")[0]


def is_verified(program: Program) -> bool:
    with in_one_process():
        return verify(program, text_of(program), budget=2000).passed


def script(*features: Feature) -> DecisionScript:
    """The writer of a decision that reads these features."""
    tests = tuple(
        (
            Condition(place, Op.LE, 0.5, missing=False)
            if feature.kind is Kind.NUMERIC
            else Condition(place, Op.IN, feature.categories[:1], missing=False)
        )
        for place, feature in enumerate(features)
    )
    said = {"R1": "1 of 1 cases"}
    return DecisionScript(chain(features, tests, ("low", "high")).body, said)


# ---------------------------------------------------------------- the decision

KINDS = chain(
    (
        Feature("Heat (°C)", Kind.NUMERIC, ValueType.FLOAT),
        Feature("town", Kind.CATEGORICAL, ValueType.STR, LONG),
        replace(FLAG, name="a name of forty letters, to be read, long"),
        LARGE,
        replace(TEXT, name="row", categories=("a", "b", "c" * 40)),
    ),
    (
        LOW,
        Condition(1, Op.IN, LONG[:3], missing=False),
        Condition(1, Op.NOT_IN, LONG[3:], missing=True),
        Condition(2, Op.IN, (True,), missing=False),
        Condition(3, Op.IN, (1, 2, 2**60), missing=False),
        Condition(4, Op.IN, ("c" * 40,), missing=False),
        Condition(4, Op.IN, ("a", "b"), missing=True),
    ),
    ("x" * 25, "y" * 40, "z"),
)
CONSTANTS = """\
const TOWN_1 = new Set([
  "category number 0",
  "category number 1",
  "category number 2",
]);
const TOWN_2 = new Set(["category number 3", "category number 4"]);
const N_3 = new Set([1n, 2n, 1152921504606846976n]);
const ROW_2_4 = "cccccccccccccccccccccccccccccccccccccccc";
"""
DECISION = """\
  const columns = asRow(row);
  const heat_c = asNumber("Heat (°C)", columns["Heat (°C)"]);
  const town = asText("town", columns.town);
  const a_name_of_forty_lett = asBoolean(
    "a name of forty letters, to be read, long",
    columns["a name of forty letters, to be read, long"],
  );
  const n = asBigInt("n", columns.n);
  const row_2 = asText("row", columns.row);
  if (!(heat_c > 2.5)) {
    return rule ? "R1" : CLASSES[0]; // 3 of 4 cases
  }
  if (TOWN_1.has(town)) {
    return rule ? "R2" : CLASSES[1]; // 3 of 3 cases
  }
  if (!TOWN_2.has(town)) {
    return rule ? "R3" : "z"; // 3 of 3 cases
  }
  if (a_name_of_forty_lett === true) {
    return rule ? "R4" : CLASSES[0]; // 3 of 4 cases
  }
  if (N_3.has(n)) {
    return rule ? "R5" : CLASSES[1]; // 3 of 3 cases
  }
  if (row_2 === ROW_2_4) {
    return rule ? "R6" : "z"; // 3 of 3 cases
  }
  if (row_2 === null || row_2 === "a" || row_2 === "b") {
    return rule ? "R7" : CLASSES[0]; // 3 of 4 cases
  }
  return rule ? "R8" : CLASSES[1]; // 3 of 3 cases"""


def test_each_kind_of_test_is_written_as_a_person_would() -> None:
    text = text_of(KINDS)
    assert f"\n]);\n{CONSTANTS}\n/**\n" in text
    assert between(text, "function answer(row, rule) {", "}") == DECISION


@needs_node
def test_each_kind_of_test_is_right() -> None:
    assert is_verified(KINDS)


def test_integers_are_bigint_only_if_numbers_cannot_hold_them() -> None:
    features = (X, TEXT, FLAG, CODE, LARGE, replace(LARGE, categories=(2**53 - 1,)))
    assert [converter(feature) for feature in features] == [
        *("asNumber", "asText", "asBoolean", "asInteger", "asBigInt", "asInteger")
    ]


def test_few_categories_are_compared_one_by_one() -> None:
    code = script(replace(TEXT, name="x"))
    assert code.member_test(True, ("a", "b"), 0) == '(x === "a" || x === "b")'
    assert code.member_test(False, ("a", "b"), 0) == 'x !== "a" && x !== "b"'
    assert code.member_test(True, (None,), 0) == "x === null"
    assert code.member_test(True, (), 0) == "false"
    assert code.member_test(False, (), 0) == "true"
    assert code.constants() == []


def test_comparisons_have_at_most_48_letters() -> None:
    code = script(replace(TEXT, name="x"))
    fits, longer = ("a" * 14, "b" * 14), ("a" * 14, "b" * 15)
    chain_ = f'x === "{fits[0]}" || x === "{fits[1]}"'
    assert len(chain_) == 48
    assert code.member_test(True, fits, 0) == f"({chain_})"
    assert code.member_test(True, longer, 0) == "X_1.has(x)"
    assert code.member_test(False, longer, 0) == "!X_1.has(x)"
    assert code.constants() == [f'const X_1 = new Set(["{"a" * 14}", "{"b" * 15}"]);']


def test_a_category_of_more_than_24_letters_gets_a_name() -> None:
    code = script(replace(TEXT, name="x"))
    assert code.member_test(True, ("a" * 22,), 0) == f'x === "{"a" * 22}"'
    assert code.member_test(False, ("a" * 23,), 0) == "x !== X_1"
    assert code.constants() == [f'const X_1 = "{"a" * 23}";']


def test_an_answer_too_wide_for_a_line_has_three() -> None:
    code = script(X)
    rule = Rule("R1", (), "low", ClassCounts((1.0, 0.0)), 1.0)
    returned = 'return rule ? "R1" : "low";'
    margin = " " * (80 - len(returned))
    above = f"{margin}// 1 of 1 cases"
    assert code.returned(rule, margin) == [above, f"{margin}{returned}"]
    parts = ("return rule", '  ? "R1"', '  : "low";')
    lines = [f"{margin} {part}" for part in ("// 1 of 1 cases", *parts)]
    assert code.returned(rule, f"{margin} ") == lines


@needs_node
def test_a_model_that_asks_nothing_still_wants_a_row() -> None:
    leaf = Leaf("no", ClassCounts((1.0, 0.0)), 1.0)
    program = Program("y", "by hand", Tree((X,), ("no", "yes"), (leaf,)))
    decision = between(text_of(program), "function answer(row, rule) {", "}")
    assert decision.startswith("  asRow(row);\n  return rule ?")
    assert evaluated((program, "[predict({}), predict(new Map())]")) == [["no", "no"]]
    assert set(thrown((program, "7"))[0]) == {
        "TypeError: the row is 7: expected an object"
    }


# ---------------------------------------------------------------- the frame


def test_the_comment_at_the_top() -> None:
    """Of a list of rules with large labels."""
    body = rule_set(((at_most(0, 1.5),), "no"), ((at_most(1, 1.5),), "yes"))
    names = ("born", "paid", "other")
    features = tuple(replace(X, name=name) for name in names)
    rules = tuple(replace(rule, value=2**60) for rule in body.rules)
    body = replace(
        body,
        features=features,
        labels=(2**60, 7),
        rules=rules,
        default=replace(body.default, value=7),
    )
    program = Program("y", "by hand", body)
    artefact = emit(program, "javascript", identity=SHA)
    assert artefact.text.startswith(f"""\
/**
 * Predict y: 3 rules learned by by hand.
 *
 *     predict({{ born: 0, paid: 0 }});
 *     // 1152921504606846976n
 *
 * Compiled by treecompile {__version__} from the model with SHA-256
 * {SHA}.
 * No dependencies. ECMAScript 2020 or later: Node.js, Deno, browsers.
 */

const MODEL""")
    assert artefact.text.endswith("  predictProba,\n};\n")


def test_the_columns_have_a_line_each() -> None:
    def features(*names: str) -> str:
        tests = (replace(LOW, feature=place) for place in range(len(names)))
        columns = tuple(replace(X, name=name) for name in names)
        text = text_of(chain(columns, tuple(tests), ("a", "b")))
        return text.partition("\nconst FEATURES = ")[2].partition("\nconst CLASSES")[0]

    assert features("a") == 'new Map([["a", "number"]]);'
    two = 'new Map([\n  ["a", "number"],\n  ["b", "number"],\n]);'
    assert features("a", "b") == two
    wide = "a" * 60
    assert features(wide) == f'new Map([\n  ["{wide}", "number"],\n]);'


def test_shares_too_wide_for_a_line_fill_lines() -> None:
    labels = tuple(range(40))
    text = text_of(chain((X,), (LOW,), labels))
    shares = between(text, "const PROBABILITIES = {", "};").splitlines()
    assert shares[0] == "  R1: ["
    assert shares[1].startswith("    0.75, 0.25, 0, 0,")
    assert shares[3] == "  ],"


def test_a_regression_has_no_labels() -> None:
    leaves = [Leaf(float(n), Moments(1.0, float(n), 0.0), 1.0) for n in range(2)]
    tree = chain((X,), (LOW,), ("a", "b")).body
    assert isinstance(tree, Tree)
    root = replace(tree.nodes[0], stats=Moments(2.0, 0.5, 0.5))
    program = Program("y", "by hand", Tree((X,), (), (root, *leaves)))
    text = text_of(program)
    assert "CLASSES" not in text
    assert "PROBABILITIES" not in text
    assert text.endswith(
        "\nexport { FEATURES, MODEL, decide, explain, predict, predictMany };\n"
    )


# ---------------------------------------------------------------- explanations

WIDE = """\
const STEPS = [
  [0, ""],
  [0, "town in {category number 0, category number 1, category number 2}"],
  [
    0,
    "town in {category number 3, category number 4} (or any other, or missing)",
  ],
];
// For each rule: its leaf, and what it says.
const ENDS = {
  R1: [1, "answer = low (3 of 4 cases)"],
  R2: [
    2,
    "answer = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx (3 of 3 cases)",
  ],
};
"""


@needs_node
def test_many_rules_are_put_together_from_their_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = Feature("town", Kind.CATEGORICAL, ValueType.STR, LONG)
    test = Condition(0, Op.IN, LONG[:3], missing=False)
    program = chain((town,), (test,), ("low", "x" * 50))
    asked = [f"explain({json.dumps({'town': value})})" for value in (*LONG, None)]
    (whole,) = evaluated((program, f"[{', '.join(asked)}]"))
    monkeypatch.setattr("treecompile.emit.explanations.SENTENCES", 1)
    assert evaluated((program, f"[{', '.join(asked)}]")) == [whole]
    text = text_of(program)
    assert WIDE in text
    assert "const RULES" not in text
