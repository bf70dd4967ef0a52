"""The JavaScript module: what it exports, reads, refuses and says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.node import evaluated, needs_node, run, script, thrown
from tests.support.samples import ROOT
from treecompile.emit.compiler import emit
from treecompile.model.errors import TargetError
from treecompile.model.file.read import read_program
from treecompile.model.ir import (
    Branch,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate

TENNIS = ROOT / "examples" / "tennis" / "out" / "model.json"
MAXIMUM = 2**53 - 1


def stump(
    test: Condition, *features: Feature, labels: tuple[Label, ...] = ("no", "yes")
) -> Program:
    """The second label if the test holds, else the first."""
    first, second = (
        Leaf(label, ClassCounts(tuple(float(each == label) for each in labels)), 1.0)
        for label in labels[:2]
    )
    stats = ClassCounts((1.0,) * len(labels))
    branches = (Branch(test, 1, 1.0), Branch(negate(test), 2, 1.0))
    tree = Tree(features, labels, (Split(branches, stats, 1.0), second, first))
    return Program("play", "by hand", tree)


def number(name: str, cut: float = 20.0) -> Program:
    feature = Feature(name, Kind.NUMERIC, ValueType.FLOAT)
    return stump(Condition(0, Op.LE, cut, False), feature)


def category(name: str, value: Category, *others: Category) -> Program:
    value_type = ValueType(type(value).__name__)
    feature = Feature(name, Kind.CATEGORICAL, value_type, (value, *others))
    return stump(Condition(0, Op.IN, (value,), False), feature)


# ---------------------------------------------------------------- the text


def test_no_text_of_a_model_is_markup_or_ends_a_comment() -> None:
    hostile = "*/ </script> <!-- <SCRIPT \u2028 alert(1)"
    program = replace(category(hostile, hostile, "b"), target=hostile)
    for text in (script(program), emit(program, "javascript").text):
        assert not re.search(r"(?i)</|<!|<script", text)
        ends = re.findall(r"(?s)/\*\*.*?\*/(.)", text)
        assert set(ends) == {"\n"}
        assert "\u2028" not in text


# ---------------------------------------------------------------- on Node.js


@needs_node
def test_what_a_module_says() -> None:
    row = '{ outlook: "sunny", humidity: "normal", wind: null, other: 1 }'
    functions = ("predict", "decide", "predictProba", "explain")
    asked = [
        f"[{', '.join(f'{function}({row})' for function in functions)}]",
        f"predictMany(new Set([{row}]))",
        f"[{row}, {row}].map(predict)",  # the place that `map` passes is not read
        f"predict(new Map(Object.entries({row})))",
    ]
    assert evaluated(*((read_program(TENNIS), text) for text in asked)) == [
        [
            "yes",
            {"value": "yes", "rule": "R5"},
            [["no", 0], ["yes", 1]],
            "R5: if outlook = sunny and humidity = normal then yes [2 of 2]",
        ],
        ["yes"],
        ["yes", "yes"],
        "yes",
    ]


@needs_node
def test_an_es_module_is_imported(tmp_path: Path) -> None:
    out = tmp_path / "predict.mjs"
    commands.good("emit", TENNIS, "--to", "javascript", "-o", out)
    script = f"import * as all from {json.dumps(out.as_uri())};"
    names = json.loads(run(script + "console.log(JSON.stringify(Object.keys(all)))"))
    assert names == [
        *("CLASSES", "FEATURES", "decide", "explain", "predict"),
        *("predictMany", "predictProba"),
    ]


ACCEPTED: list[tuple[Program, str, str]] = [
    (number("heat"), "20", "yes"),
    (number("heat"), "20n", "yes"),
    (number("heat"), "20.000000000000004", "no"),
    (number("heat"), "true", "yes"),
    (number("heat"), "-Infinity", "yes"),
    (number("heat"), "2n ** 2000n", "no"),
    (number("heat"), "null", "no"),
    (number("heat"), "NaN", "no"),
    # Rounded to the nearest double, halfway between two of them to the even one.
    (number("heat", 2.0**53), f"{2**53 + 1}n", "yes"),
    (number("heat", 2.0**53), f"{2**53 + 3}n", "no"),
    (number("heat", 0.0), "-0", "yes"),
    (category("n", MAXIMUM + 2), f"{MAXIMUM + 2}n", "yes"),
    (category("n", MAXIMUM + 2), f"{MAXIMUM + 1}", "no"),
    (category("n", MAXIMUM + 1), f"{MAXIMUM + 1}", "yes"),
    (category("n", MAXIMUM + 1), f"{MAXIMUM + 2}n", "no"),
    (category("n", MAXIMUM), f"{MAXIMUM}n", "yes"),
    (category("n", MAXIMUM), f"{MAXIMUM + 1}n", "no"),
    (category("n", 0), "-0", "yes"),
    (category("n", 0), "NaN", "no"),
    (category("n", 2**70, 0), "-0", "no"),
    (category("n", 0, 2**70), "-0", "yes"),
    (category("b", True), "1", "yes"),
    (category("b", True), "1n", "yes"),
    (category("b", False), "-0", "yes"),
    (category("b", False), "null", "no"),
    (category("s", "é"), '"e\\u0301"', "no"),
    (category("s", "🐧"), '"\\ud83d\\udc27"', "yes"),
]


@needs_node
def test_values_that_are_accepted() -> None:
    asked, expected = [], []
    for program, value, label in ACCEPTED:
        name = program.body.features[0].name
        asked.append((program, f"predict({{ {name}: {value} }})"))
        expected.append(label)
    assert evaluated(*asked) == expected


REFUSED: list[tuple[Program, str, str]] = [
    (number("heat"), "{}", '"heat" is absent or undefined: expected a number, or'),
    (number("heat"), "{ heat: undefined }", '"heat" is absent or undefined'),
    (number("heat"), '{ heat: "20" }', '"heat" is "20": expected a number, or null'),
    (number("heat"), "{ heat: [20] }", '"heat" is an array: expected a number'),
    (number("heat"), "{ heat: new Date() }", '"heat" is of type object'),
    (number("heat"), "{ heat: Symbol('x') }", '"heat" is Symbol(x)'),
    (number("constructor"), "{}", '"constructor" is of type function'),
    (number("__proto__"), "{ __proto__: 3 }", '"__proto__" is of type object'),
    (category("n", 3), "{ n: 3.5 }", '"n" is 3.5: expected an integer, or null'),
    (category("n", 3), "{ n: Infinity }", '"n" is Infinity: expected an integer'),
    (category("n", 3), "{ n: true }", '"n" is true: expected an integer'),
    (category("n", 2**70), "{ n: '3' }", '"n" is "3": expected an integer'),
    (category("b", True), "{ b: 2 }", '"b" is 2: expected true or false, or null'),
    (category("b", True), "{ b: 'true' }", '"b" is "true": expected true or false'),
    (category("s", "a"), "{ s: 1 }", '"s" is 1: expected a string, or null'),
    (number("heat"), "null", "the row is null: expected an object"),
    (number("length"), "[20]", "the row is an array: expected an object"),
    (number("length"), "'text'", 'the row is "text": expected an object'),
    (number("size"), "new Map()", '"size" is absent or undefined'),
]


@needs_node
def test_a_wrong_row_is_a_type_error_that_names_it() -> None:
    found = thrown(*((program, row) for program, row, _ in REFUSED))
    for messages, (_, row, told) in zip(found, REFUSED, strict=True):
        assert len(messages) == 4
        for message in messages:
            assert message.startswith(f"TypeError: {told}"), row


@needs_node
def test_every_name_is_a_name() -> None:
    for name in ("__proto__", "constructor", "toString", "0", "a b"):
        key = json.dumps(name)
        rows = [
            f"{{ [{key}]: {key} }}",
            f"JSON.parse('{{{key}: null}}')",
            f"new Map([[{key}, {key}]])",
            f"Object.assign(Object.create(null), {{ [{key}]: 'hasOwnProperty' }})",
        ]
        asked = f"predictMany([{', '.join(rows)}])"
        found = evaluated((category(name, name, "valueOf"), asked))
        assert found == [["yes", "no", "yes", "no"]], name


LABELS: list[tuple[tuple[Label, ...], list[object]]] = [
    (("__proto__", "constructor"), ["__proto__", "constructor"]),
    (("10", "9"), ["10", "9"]),
    ((10, 9), [10, 9]),
    ((MAXIMUM, 1), [MAXIMUM, 1]),
    ((MAXIMUM + 1, 1), [f"bigint {MAXIMUM + 1}", "bigint 1"]),
    ((False, True), [False, True]),
    ((0.5, 1e300), [0.5, 1e300]),
    (("é", "\u2028</script>"), ["é", "\u2028</script>"]),
]


@needs_node
def test_labels_keep_their_type_and_order() -> None:
    feature = Feature("heat", Kind.NUMERIC, ValueType.FLOAT)
    asked = (
        "[CLASSES, predictMany([{ heat: 21 }, { heat: 20 }]),"
        " predictProba({ heat: 1 })]"
    )
    programs = [
        stump(Condition(0, Op.LE, 20.0, False), feature, labels=labels)
        for labels, _ in LABELS
    ]
    found = evaluated(*((program, asked) for program in programs))
    for (classes, answers, shares), (_, shown) in zip(found, LABELS, strict=True):
        assert classes == answers == shown
        assert shares == [[shown[0], 0], [shown[1], 1]]


@needs_node
def test_sets_of_different_types_are_kept_apart() -> None:
    """In Python, True is 1, and one set would do for both."""
    values = tuple(range(60))
    features = (
        Feature("n", Kind.CATEGORICAL, ValueType.INT, values),
        Feature("large", Kind.CATEGORICAL, ValueType.INT, (*values, 2**60)),
    )
    first, second = (Condition(place, Op.IN, values, False) for place in (0, 1))
    tree = stump(first, *features).body
    assert isinstance(tree, Tree)
    root, yes, no = tree.nodes
    inner = Split(
        (Branch(second, 3, 1.0), Branch(negate(second), 4, 1.0)), no.stats, 1.0
    )
    program = Program("play", "", replace(tree, nodes=(root, yes, inner, yes, no)))
    rows = [
        "3, large: 60",
        "3n, large: 60",
        "60, large: 3",
        "60, large: 3n",
        "60, large: 60",
    ]
    found = evaluated(
        (program, f"predictMany([{', '.join(f'{{ n: {row} }}' for row in rows)}])")
    )
    assert found == [["yes", "yes", "yes", "yes", "no"]]


# ---------------------------------------------------------------- nesting


def spread(depth: int, name: str) -> Program:
    """A balanced tree: the answer is the number that its features spell in binary."""
    features = tuple(
        Feature(f"{name}{level}", Kind.NUMERIC, ValueType.FLOAT)
        for level in range(depth)
    )
    nodes: list[Node] = []
    for place in range(2 ** (depth + 1) - 1):
        level = (place + 1).bit_length() - 1
        if level == depth:
            value = float(place + 1 - 2**depth)
            nodes.append(Leaf(value, Moments(1.0, value, 0.0), 1.0))
            continue
        test = Condition(level, Op.LE, 0.5, False)
        below = 2 * place + 1
        branches = (Branch(test, below, 1.0), Branch(negate(test), below + 1, 1.0))
        nodes.append(Split(branches, Moments(1.0, 0.0, 0.0), 1.0))
    return Program("y", "by hand", Tree(features, (), tuple(nodes)))


@needs_node
def test_a_long_decision_goes_on_in_functions() -> None:
    program = spread(10, "x")
    rows = [
        {f"x{level}": int(bit) for level, bit in enumerate(f"{answer:010b}")}
        for answer in range(1024)
    ]
    (found,) = evaluated((program, f"predictMany({json.dumps(rows)})"))
    assert found == list(range(1024))
    assert "function decide1(" in script(program)


def test_half_a_surrogate_pair_is_refused() -> None:
    for half in ("\ud800", "\udc00"):
        with pytest.raises(TargetError, match="half"):
            emit(category("s", half), "javascript")


def test_the_module_is_the_one_in_the_golden_file() -> None:
    golden = ROOT / "tests" / "golden" / "javascript" / "tennis.mjs"
    assert emit(read_program(TENNIS), "javascript").text == golden.read_text("utf-8")
