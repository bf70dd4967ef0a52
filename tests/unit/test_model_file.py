"""Model files: a round trip loses nothing, and no damage goes unnoticed."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import inf, nextafter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.forests import random_forest, tennis_forest
from tests.support.random_models import random_double, random_program, random_text
from treecompile.model import file as model_file
from treecompile.model.errors import ModelFileError
from treecompile.model.file.read import loads, loads_any, read_program
from treecompile.model.file.write import dumps, sha256
from treecompile.model.ir import (
    Body,
    Branch,
    ClassCounts,
    ClassQuality,
    ColumnSummary,
    Condition,
    Feature,
    ForestProgram,
    Kind,
    Leaf,
    Moments,
    Op,
    Program,
    Quality,
    Rule,
    RuleSet,
    RuleTally,
    Split,
    Stats,
    Training,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import negate
from treecompile.rules.extract import extract

Document = Any
Place = tuple[str | int, ...]

# ---------------------------------------------------------------- two whole models


COUNTED = ClassCounts((9.0, 5.0))


def classifier() -> Program:
    """A tree with a feature of every kind and type."""
    counts = ClassCounts((2.0, 1.5))
    low = Condition(0, Op.LE, 0.1, missing=True)
    red = Condition(1, Op.IN, ("red",), missing=False)
    rest = Condition(1, Op.NOT_IN, ("red", "blue"), missing=True)
    blue = Condition(1, Op.IN, ("blue",), missing=False)
    small = Condition(2, Op.LE, 20, missing=False)
    known = Condition(0, Op.LE, inf, missing=False)
    yes = Condition(3, Op.IN, (True,), missing=True)
    leaf, other = Leaf("no", counts, 1.0), Leaf("yes", ClassCounts((0.0, 2.0)), 0.0)

    def split(first: int, *tests: Condition) -> Split:
        branches = (Branch(test, first + n, 1.5) for n, test in enumerate(tests))
        return Split(tuple(branches), counts, 0.25)

    tree = Tree(
        (
            Feature("x", Kind.NUMERIC, ValueType.FLOAT),
            Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "blue", "")),
            Feature("dose", Kind.ORDINAL, ValueType.INT, (10, 20, 30)),
            Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
        ),
        ("no", "yes"),
        (
            split(1, low, negate(low)),
            split(3, red, rest, blue),
            split(6, small, negate(small)),
            *(leaf, other, leaf),
            split(8, known, negate(known)),
            split(10, yes, negate(yes)),
            *(other, leaf, leaf, other),
        ),
    )
    return Program(
        target="play",
        algorithm="cart",
        body=tree,
        options=(("max_depth", 3), ("min_gain", 0.5), ("exact", True), ("note", "n")),
        na_values=("NA", "?"),
        training=Training(
            "data.csv",
            14,
            (
                ColumnSummary(1, -inf, 99.5),
                ColumnSummary(0),
                ColumnSummary(3),
                ColumnSummary(0),
            ),
            ClassQuality(((5, 1), (0, 8))),
            ClassQuality(((0, 0), (0, 0))),
            (RuleTally(14, 1.0, 14, 1.0, COUNTED), *[RuleTally(0, 0.0, 0, 0.0)] * 6),
        ),
    )


def regression() -> Program:
    """A list of rules."""
    stats = Moments(3.0, 1.5, 0.25)
    tests = (Condition(0, Op.GT, 1e300, False), Condition(1, Op.LE, "M", True))
    rules = RuleSet(
        (
            Feature("x", Kind.NUMERIC, ValueType.FLOAT),
            Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L")),
        ),
        (),
        (Rule("R1", tests, 1.5, stats, 3.0), Rule("R2", tests[:1], 0.1, stats, 2.0)),
        Rule("default", (), -2.5, replace(stats, sse=None), 0.0),
    )
    measured = ValueQuality(20, 0.5, 0.75, 0.875)
    columns = (ColumnSummary(2, 0.0, inf), ColumnSummary(0))
    known = RuleTally(9, 0.5, 9, 0.5, Moments(9.0, 1.25, 0.25))
    tallies = (known, *[RuleTally(7, 2.5, 3, 1.25)] * 2)
    training = Training(
        "", 20, columns, measured, replace(measured, r_squared=None), (), tallies
    )
    return Program("y", "cart", rules, training=training)


PROGRAMS = {"classifier": classifier(), "regression": regression()}
both = pytest.mark.parametrize("name", PROGRAMS)


def document(name: str) -> Document:
    return json.loads(dumps(PROGRAMS[name]))


# ---------------------------------------------------------------- round trips


def random_training(random: Random, body: Body) -> Training | None:
    if random.random() < 0.2:
        return None

    def quality() -> Quality | None:
        if random.random() < 0.3:
            return None
        size = len(body.labels)
        if size:
            return ClassQuality(
                tuple(
                    tuple(random.randrange(99) for _ in range(size))
                    for _ in range(size)
                )
            )
        error = abs(random.gauss(0, 1))
        r_squared = random.choice((None, random.uniform(-1, 1)))
        return ValueQuality(random.randrange(99), error, 2 * error, r_squared)

    columns = []
    for feature in body.features:
        summary = ColumnSummary(random.randrange(9))
        if feature.kind is Kind.NUMERIC and random.random() < 0.9:
            low = random.choice((-inf, -0.0, random_double(random)))
            summary = replace(summary, low=low, high=inf)
        columns.append(summary)
    rows = random.randrange(99)
    return Training(
        random_text(random),
        rows,
        tuple(columns),
        quality(),
        quality(),
        random_tallies(random, body),
        random_tallies(random, body),
    )


def random_tallies(random: Random, body: Body) -> tuple[RuleTally, ...]:
    if random.random() < 0.4:
        return ()
    tallies = []
    for _ in outcomes(body):
        decided = random.randrange(99)
        matched = decided + random.randrange(9)
        errors = matched * random.random(), decided * random.random()
        actual = random_actual(random, decided, len(body.labels))
        tallies.append(RuleTally(matched, errors[0], decided, errors[1], actual))
    return tuple(tallies)


def random_actual(random: Random, rows: int, labels: int) -> Stats | None:
    if not rows or random.random() < 0.2:
        return None
    if not labels:
        return Moments(float(rows), random_double(random), random.random())
    counts = Counter(random.choices(range(labels), k=rows))
    return ClassCounts(tuple(float(counts[label]) for label in range(labels)))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_a_round_trip_loses_nothing(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    program = replace(
        program,
        options=(("depth", random.randrange(9)), ("gain", random.random())),
        na_values=(random_text(random),),
        training=random_training(random, program.body),
    )
    text = dumps(program)
    back = loads(text)
    assert back == program == loads(text.encode())
    assert dumps(back) == text
    assert sha256(back) == sha256(program)
    assert text.isascii()


# ---------------------------------------------------------------- systematic damage


def places(part: Document, here: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of a document and where it stands, the whole left out."""
    items: Any = ()
    if isinstance(part, dict):
        items = part.items()
    elif isinstance(part, list):
        items = enumerate(part)
    for key, value in items:
        yield (*here, key), value
        yield from places(value, (*here, key))


def put(whole: Document, place: Place, value: Any) -> Document:
    changed = copy.deepcopy(whole)
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return changed


def without(whole: Document, place: Place) -> Document:
    changed = copy.deepcopy(whole)
    part = changed
    for key in place[:-1]:
        part = part[key]
    del part[place[-1]]
    return changed


def written(place: Place) -> str:
    """`nodes[3].stats`, as the messages name it."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)
    return text.removeprefix(".")


def refusal(changed: Document) -> str:
    """The message with which a document is refused; infinities are out of range."""
    text = json.dumps(changed)
    with pytest.raises(ModelFileError) as caught:
        loads(re.sub(r"(?<![\w\"])Infinity", "1e999", text))
    message = str(caught.value)
    assert "\n" not in message
    return message


def names_place(message: str, place: Place) -> bool:
    """Whether a message says where: the place itself, or an object or list around."""
    least = 2 if place[0] in ("nodes", "rules", "features") else 1
    around = [written(place[:size]) for size in range(least, len(place) + 1)]
    if len(place) == 1:
        return str(place[0]) in message or message.startswith("the file")
    return any(message.startswith((f"{text}:", f"{text}.")) for text in around)


JSON_TYPES: dict[type, str] = {int: "number", float: "number"}
ALIKE = {("nodes", leaf) for leaf in (4, 5, 9, 10, 11)}  # to try one leaf is enough
OTHERS: tuple[Any, ...] = (None, True, 2.5, "text", [], {})


def still_legal(place: Place, value: Any) -> bool:
    """The few places that take more than one type."""
    is_number = isinstance(value, float)
    if place[0] == "options" and len(place) == 2:
        return isinstance(value, (bool, float, str))
    if place[0] == "training" and place[-1] in ("low", "high", "r_squared"):
        return value is None or is_number
    if place[-1] == "sse":
        return value is None or is_number
    return value is None and place[-1] in ("training", "quality", "validation")


@both
def test_a_value_of_another_type_is_refused(name: str) -> None:
    whole = document(name)
    tried = 0
    for place, value in places(whole):
        if place[:2] in ALIKE:
            continue
        kind = JSON_TYPES.get(type(value), type(value))
        for other in OTHERS:
            if JSON_TYPES.get(type(other), type(other)) == kind:
                continue
            changed = put(whole, place, other)
            if still_legal(place, other):
                loads(json.dumps(changed))
                continue
            assert names_place(refusal(changed), place), (place, other)
            tried += 1
    assert tried > 300


OPTIONAL = {("training", "rules"), ("training", "validation_rules")}


@both
def test_every_key_is_needed(name: str) -> None:
    whole = document(name)
    for place, _ in places(whole):
        *around, key = place
        if isinstance(key, int) or around == ["options"]:
            continue
        changed = without(whole, place)
        if place in OPTIONAL:
            loads(json.dumps(changed))
            continue
        message = refusal(changed)
        assert str(key) in message or key == "branches", place
        assert names_place(message, tuple(around) or place), place


# ---------------------------------------------------------------- meaning

HUGE = 10**400
# A place in a model, another value there, how the message starts; @ is the place.
NONSENSE = r"""
# the tree
nodes[0].branches[0].then = 0 -> @
nodes[1].branches[0].then = 1 -> @: a child comes after its parent
nodes[2].branches[0].then = 1 -> @: a child comes after its parent
nodes[0].branches[0].then = 12 -> @
nodes[0].branches[0].then = 2 -> nodes: each node but the first
nodes[0].branches[0].then = HUGE -> nodes[0].branches[0]
nodes = [] -> @: expected at least one
nodes[0] = {"value": "no", "weight": 1, "stats": [1, 1]}
  -> nodes: each node but the first must be the child of exactly one other
# partitions
nodes[0].branches[0].missing = false
  -> nodes[0].branches: exactly one must hold for each value
nodes[0].branches[0].value = 0.2 -> nodes[0].branches: exactly
nodes[0].branches = [] -> @
nodes[1].branches[1].value = ["red"] -> nodes[1].branches: exactly
nodes[1].branches[2].value = ["red"] -> nodes[1].branches: exactly
# conditions
nodes[0].branches[0].feature = 4 -> @
nodes[0].branches[0].op = "<" -> @: unk
nodes[0].branches[0].op = "in" -> @: not
nodes[0].branches[0].value = "-inf" -> @
nodes[0].branches[0].value = "nan" -> @
nodes[0].branches[0].value = HUGE -> nodes[0].branches[0]
nodes[1].branches[0].op = "<=" -> @: not for a categorical feature
nodes[1].branches[0].value = ["pink"] -> @: not a category of 'colour'
nodes[1].branches[0].value = ["red", "red"] -> @: a category is listed twice
nodes[2].branches[0].value = 15 -> @: not a category of 'dose'
nodes[2].branches[0].value = 20.0 -> @: expected int
nodes[7].branches[0].value = [1] -> @: expected bool
# labels and statistics
nodes[3].value = "maybe" -> @
labels = ["no", "no"] -> @: one is listed
labels = ["no", 1] -> @: all must be of one
labels = [false, 0] -> @: all must be of
labels = [] -> nodes[0]
nodes[3].stats = [1] -> @
nodes[3].stats = [0, 0] -> @
nodes[3].stats = [1e+308, 1e+308] -> @
regression: rules[0].stats.weight = 0 -> rules[0].stats
regression: labels = ["a"] -> rules[0]
# features
features[1].name = "x" -> features: two have the same name
features[0].kind = "ordinal" -> features[0]:
features[0].type = "double" -> features[0]:
features[0].categories = ["a"] -> features[0]: a numeric feature has no categories
features[1].categories = ["red", "blue", "red"] -> @: a category is listed twice
features[2].categories = [10, 20, 30.5] -> @: expected int
# rules
regression: rules = [] -> @: expected at least one, the default
regression: rules[2].if = [{"feature": 0, "op": ">", "value": 1, "missing": true}]
  -> rules: the last rule is the default and must have no conditions
regression: rules[1].id = "R1" -> rules: two have the same
regression: rules[1].id = "" -> @
regression: rules[1].id = "*/" -> @
regression: rules[1].id = "R1\n" -> @
regression: rules[1].id = "R²" -> @
regression: rules[1].id = "RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR" -> @
# what is known about the training
training.columns = [] -> @
training.quality.confusion = [[1, 2]] -> training.quality: expected 2 rows of 2 counts
training.columns[0].low = "nan" -> training
training.rules = [] -> @: expected 7
regression: training.validation_rules[1] = [1, 0.5, 1] -> @: expected four numbers
training.rules[0][4] = [9, 4]
  -> training.rules[0]: expected a count for each label, 14 in total
training.rules[0][4] = [14] -> training.rules[0]: expected a count for each label
training.rules[0][4] = [-1, 15] -> training.rules[0]
training.rules[1] = [0, 0, 0, 0, [0, 0]] -> @: expected no answers of no rows
regression: training.validation_rules[0][4] = [1.5]
  -> training.validation_rules[0]: expected a mean and a sum of squares
regression: training.validation_rules[0][4] = [1.5, -1]
  -> training.validation_rules[0]: expected a number of at least 0
# the file
rules = [] -> expected either "nodes", "rules" or "trees"
format = "other" -> not a model file:
version = 1 -> treecompile 0.2.0 wrote it in version 1 of the format
"""
CASE = re.compile(r"(?m)^(?:(regression): )?([\w.\[\]]+) = (.*)\s+-> (.*)$")


def cases(text: str) -> list[Any]:
    found = []
    for model, place, value, message in CASE.findall(text):
        keys = [int(k) if k.isdigit() else k for k in re.findall(r"\w+", place)]
        new = HUGE if value == "HUGE" else json.loads(value)
        said = message.replace("@", place, 1)
        found.append((model or "classifier", tuple(keys), new, said))
    assert len(found) == len(re.findall("->", text))
    return found


@pytest.mark.parametrize(("name", "place", "value", "message"), cases(NONSENSE))
def test_what_makes_no_sense_is_refused(
    name: str, place: Place, value: Any, message: str
) -> None:
    changed = put(document(name), place, value)
    assert refusal(changed).startswith(message)


# ---------------------------------------------------------------- forests


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_a_forest_comes_back(seed: int) -> None:
    program = ForestProgram("y", "none", random_forest(Random(seed)))
    text = dumps(program)
    assert loads_any(text) == program


# Of one tree with one test.
DAMAGED_FOREST = r"""
forest.start = [] -> @
forest.start = [0.0, 0.0] -> forest:
forest.arithmetic = "half" -> @
forest.divisor = 0 -> @
forest.scale = "1" -> @
forest.offset = [null] -> @[0]
forest.offset = [1.0, 2.0] -> forest:
forest.link = "probit" -> @
forest.slope = null -> @
forest.cut = "0" -> @
forest.cut = null -> forest:
forest.zero_is_missing = [0] -> @[0]
forest.zero_is_missing = [-1] -> @[0]
forest.more = 1 -> forest
trees[0].outputs = [] -> @
trees[0].outputs = [0, 0] -> @
trees[0].outputs = [1] -> @
trees[0].nodes = [] -> @
trees[0].nodes[0].then = 0 -> trees[0].nodes
trees[0].nodes[0].else = 1 -> trees[0].nodes
trees[0].nodes[0].op = "=" -> @
trees[0].nodes[0].feature = 1 -> trees[0].nodes[0]
trees[0].nodes[0].gain = null -> @
trees[0].nodes[1].values = [] -> @
trees[0].nodes[1].values = [1.0, 2.0] -> trees[0].nodes[1]
trees[0].nodes[1].weight = -1 -> trees[0].nodes[1]
nodes = [] -> expected either "nodes", "rules" or "trees"
"""


@pytest.mark.parametrize(("_", "place", "value", "message"), cases(DAMAGED_FOREST))
def test_a_damaged_forest_is_refused(
    _: str, place: Place, value: Any, message: str
) -> None:
    whole = json.loads(dumps(tennis_forest()))
    changed = put(whole, place, value)
    with pytest.raises(ModelFileError) as caught:
        loads_any(json.dumps(changed))
    assert str(caught.value).startswith(message)


# ---------------------------------------------------------------- broken text


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"null", b"[]", b"5", b'"treecompile model"', b"{}", b"\0"),
        *(b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'{"a":' + b"1" * 9_999),
        *(b"\xff\xfe", b'{"format": "\xff"}', b"PK\x03\x04", b"\xef\xbb\xbf{"),
    ],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_model_file_is_refused(data: bytes) -> None:
    with pytest.raises(ModelFileError, match=r"not a model file|the file"):
        loads(data)


@both
def test_a_truncated_file_is_refused(name: str) -> None:
    data = dumps(PROGRAMS[name]).encode().rstrip()
    for size in range(0, len(data), 3):
        with pytest.raises(ModelFileError, match="not a model file"):
            loads(data[:size])


def test_a_key_that_stands_twice_is_refused() -> None:
    text = dumps(classifier())
    for old in (' "target": "play"', '"gain": 0.25', '"missing": true'):
        assert old in text
        with pytest.raises(ModelFileError):
            loads(text.replace(old, f"{old}, {old}", 1))


def test_reading_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with pytest.raises(
        ModelFileError, match=r"cannot read .*model\.json': No such file"
    ):
        read_program(path)
    with pytest.raises(ModelFileError, match="Is a directory"):
        read_program(tmp_path)
    path.write_text("{}")
    with pytest.raises(ModelFileError, match=r"model\.json: not a model file"):
        read_program(str(path))
    path.write_text(dumps(regression()))
    assert read_program(path) == regression()


# ---------------------------------------------------------------- identity


def uncounted(program: Program) -> Program:
    """As files were written before rules were counted, which are still read."""
    assert program.training is not None
    bare = replace(program.training, rules=(), validation_rules=())
    return replace(program, training=bare)


def test_the_identity_of_a_small_model_never_changes() -> None:
    assert [sha256(uncounted(program)) for program in PROGRAMS.values()] == [
        "002b47126d3b458d9c6773d67832b2c4b4d7fa08c923f2e5f9a0fd8f69ab1f58",
        "8de5f944ddfb12d6cfd803cadfddefea747da514ab201cead3a239af509e1211",
    ]


def test_the_identity_ignores_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    program = classifier()
    before, text = sha256(program), dumps(program)
    monkeypatch.setattr(model_file.write, "__version__", "99.0")
    assert dumps(program) != text
    assert json.loads(dumps(program))["tool"] == "99.0"
    assert sha256(program) == before == sha256(loads(text))


def test_the_identity_changes_with_any_content() -> None:
    program = classifier()
    tree, training = program.body, program.training
    assert isinstance(tree, Tree)
    assert training is not None
    root, leaf = tree.nodes[0], tree.nodes[3]
    assert isinstance(root, Split)
    assert isinstance(leaf, Leaf)

    def cut(branch: Branch, value: float) -> Branch:
        return replace(branch, when=replace(branch.when, value=value))

    moved = tuple(cut(branch, nextafter(0.1, 1.0)) for branch in root.branches)
    turned = tuple(
        replace(b, when=replace(b.when, missing=not b.when.missing))
        for b in root.branches
    )
    features = list(tree.features)
    bodies: list[Body] = []
    for node in (
        replace(root, branches=moved),
        replace(root, branches=turned),
        replace(root, branches=root.branches[::-1]),
        replace(root, gain=nextafter(0.25, 1.0)),
    ):
        bodies.append(replace(tree, nodes=(node, *tree.nodes[1:])))
    for other in (replace(leaf, value="yes"), replace(leaf, weight=1.25)):
        nodes = (*tree.nodes[:3], other, *tree.nodes[4:])
        bodies.append(replace(tree, nodes=nodes))
    for feature in (
        replace(features[1], name="color"),
        replace(features[1], categories=("blue", "red", "")),
        replace(features[1], kind=Kind.ORDINAL),
    ):
        body = replace(tree, features=(features[0], feature, *features[2:]))
        bodies.append(body)
    bodies += [replace(tree, labels=("yes", "no")), extract(tree)]
    programs = [
        program,
        replace(program, target="Play"),
        replace(program, algorithm="id3"),
        replace(program, options=program.options[:-1]),
        replace(program, na_values=("?", "NA")),
        replace(program, training=None),
        replace(program, training=replace(training, rows=15)),
        replace(program, training=replace(training, validation=None)),
        *(replace(program, body=body) for body in bodies),
    ]
    assert len({sha256(one) for one in programs}) == len(programs)
