"""Random models and rows from a seed, as hostile as a legal model can be.

Every kind of feature, condition, leaf and missing flag comes up, thresholds come from
the whole range of doubles, and names and categories are chosen to break quoting. The
trees are not sensible, they only have to be legal.
"""

from __future__ import annotations

import struct
from math import inf, isfinite, nan, nextafter
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.model.batch import Columns
from treecompile.model.ir import (
    Body,
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
    Row,
    Rule,
    RuleSet,
    Split,
    Stats,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.semantics import (
    answer,
    conditions,
    negate,
    required_features,
    threshold,
)
from treecompile.rules.extract import extract

HOSTILE = (
    *("plain", "two words", "ünïcödé", "日本", "🐧 emoji", "UPPER", "upper", "Upper "),
    *("it's", 'say "hi"', '"""', "'''", "back\\slash", "\\n", "new\nline", "tab\there"),
    *(
        "*/",
        "/*",
        "--",
        "; DROP TABLE t; --",
        "</script>",
        "a|b",
        "`tick`",
        "{{ 7*7 }}",
    ),
    *("{% raw %}", "%s", "{x}", "$1", "?", ":name", "@v", "#", "[b]", "NULL", "None"),
    *("nan", "true", "0", "1e5", "select", "class", "def", "row", "predict", "type"),
    *(
        "",
        " ",
        "\u00a0",
        "\u200b",
        "é",
        "e\u0301",
        "\x00nul",
        "\x1b[31m",
        "\r\n",
        "x" * 200,
    ),
)
SEVERAL = tuple(text for text in HOSTILE if text)


def random_double(random: Random) -> float:
    """A finite double: everyday, extreme, integral, or any bit pattern."""
    match random.randrange(6):
        case 0:
            return round(random.uniform(-100, 100), random.randrange(4))
        case 1:
            return float(random.randint(-(2**60), 2**60))
        case 2:
            return random.choice(
                (0.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1, 2.0**53)
            )
        case 3:
            return random.random()
        case 4:
            return random.choice(
                (0.03503766454344431, 0.0019247, 2.0**-1000, 1e22, 1e23)
            )
    number = struct.unpack("<d", random.randbytes(8))[0]
    return float(number) if isfinite(number) else 1.5


def random_text(random: Random) -> str:
    if random.random() < 0.8:
        return random.choice(HOSTILE)
    return "".join(chr(random.randrange(1, 0xD800)) for _ in range(random.randrange(6)))


def random_category(random: Random, value_type: ValueType) -> Category:
    match value_type:
        case ValueType.INT:
            return random.choice(
                (random.randint(-5, 5), random.randint(-(2**63), 2**63 - 1))
            )
        case ValueType.BOOL:
            return random.random() < 0.5
    return random_text(random)


def random_features(
    random: Random, names: tuple[str, ...] = HOSTILE
) -> tuple[Feature, ...]:
    chosen: dict[str, str] = {}  # no two names that differ only by case
    for name in random.sample(names, min(len(names), random.randint(1, 6))):
        chosen.setdefault(name.casefold(), name)
    features = []
    for name in chosen.values():
        kind = random.choice(
            (Kind.NUMERIC, Kind.NUMERIC, Kind.CATEGORICAL, Kind.ORDINAL)
        )
        if kind is Kind.NUMERIC:
            features.append(Feature(name, kind, ValueType.FLOAT))
            continue
        value_type = random.choice(
            (ValueType.STR, ValueType.STR, ValueType.INT, ValueType.BOOL)
        )
        drawn = (
            random_category(random, value_type) for _ in range(random.randint(1, 9))
        )
        categories = tuple(dict.fromkeys(drawn))
        features.append(Feature(name, kind, value_type, categories))
    return tuple(features)


def random_labels(random: Random) -> tuple[Label, ...]:
    """Labels of one type; none for a regression."""
    match random.randrange(6):
        case 0:
            return ()
        case 1:
            return tuple(
                dict.fromkeys(random.randint(-(2**40), 2**40) for _ in range(3))
            )
        case 2:
            return (False, True)
        case 3:
            return tuple({random_double(random) + 0.0: None for _ in range(3)})
    return tuple(
        dict.fromkeys(random_text(random) for _ in range(random.randint(1, 4)))
    )


def random_stats(random: Random, labels: tuple[Label, ...]) -> Stats:
    if not labels:
        mean = random_double(random) + 0.0
        return Moments(float(random.randint(1, 50)), mean, abs(random.gauss(0, 9)))
    weights = [float(random.choice((0, 0, 1, 2, 7, 0.25))) for _ in labels]
    weights[random.randrange(len(labels))] += 1
    return ClassCounts(tuple(weights))


def random_tests(
    random: Random, position: int, feature: Feature
) -> tuple[Condition, ...]:
    """The tests of the branches of a split: a partition of all values."""
    flag = random.random() < 0.5
    if feature.kind is Kind.NUMERIC:
        value = inf if random.random() < 0.1 else random_double(random)
        if value == inf:
            flag = False  # "is known" and "is missing"
        first = Condition(position, Op.LE, value, flag)
        return first, negate(first)
    if feature.kind is Kind.ORDINAL:
        first = Condition(position, Op.LE, random.choice(feature.categories), flag)
        return first, negate(first)
    pool = list(feature.categories)
    random.shuffle(pool)
    groups: list[tuple[Category, ...]] = []
    while pool and len(groups) < 4:
        size = random.randint(0, len(pool))
        groups.append(tuple(c for c in feature.categories if c in pool[:size]))
        pool = pool[size:]
    groups = groups or [()]
    named = {c for group in groups for c in group}
    rest = tuple(c for c in feature.categories if c in named)
    tests = [Condition(position, Op.IN, group, False) for group in groups]
    tests.append(Condition(position, Op.NOT_IN, rest, False))
    random.shuffle(tests)
    chosen = random.randrange(len(tests))
    when = tests[chosen]
    tests[chosen] = Condition(position, when.op, when.value, True)
    return tuple(tests)


def random_tree(
    random: Random, splits: int | None = None, names: tuple[str, ...] = HOSTILE
) -> Tree:
    """A legal tree with about that many splits."""
    features = random_features(random, names)
    labels = random_labels(random)
    left = random.randint(0, 25) if splits is None else splits
    # Drafts: the children of a split, or none for a leaf.
    children: list[list[int]] = [[]]
    tests: list[tuple[Condition, ...]] = [()]
    open_nodes = [0]
    while left and open_nodes:
        position = open_nodes.pop(random.randrange(len(open_nodes)))
        feature = random.randrange(len(features))
        tests[position] = random_tests(random, feature, features[feature])
        for _ in tests[position]:
            children[position].append(len(children))
            open_nodes.append(len(children))
            children.append([])
            tests.append(())
        left -= 1
    nodes: list[Node] = []
    for position, below in enumerate(children):
        stats = random_stats(random, labels)
        if below:
            branches = (
                Branch(when, then, float(random.randint(0, 9)))
                for when, then in zip(tests[position], below, strict=True)
            )
            nodes.append(Split(tuple(branches), stats, random.random()))
        else:
            weight = random.choice((0.0, stats.weight))
            nodes.append(Leaf(answer(stats, labels), stats, weight))
    return Tree(features, labels, tuple(nodes))


def random_rules(random: Random, names: tuple[str, ...] = HOSTILE) -> RuleSet:
    """Ordered rules that overlap: the rules of a tree, shuffled, with tests removed."""
    flat = extract(random_tree(random, names=names))
    rules = []
    for rule in flat.rules[:30]:
        kept = tuple(c for c in rule.conditions if random.random() < 0.7)
        rules.append(Rule(rule.id, kept, rule.value, rule.stats, rule.weight))
    random.shuffle(rules)
    return RuleSet(flat.features, flat.labels, tuple(rules), flat.default)


def random_body(random: Random, names: tuple[str, ...] = HOSTILE) -> Body:
    """A tree or rules."""
    if random.random() < 0.25:
        return random_rules(random, names)
    return random_tree(random, names=names)


def random_program(random: Random, names: tuple[str, ...] = HOSTILE) -> Program:
    body = random_body(random, names)
    return Program(random_text(random), "random", body)


def random_value(random: Random, position: int, body: Body) -> Value:
    """A value at a threshold or next to one, missing, unseen, or any other."""
    feature = body.features[position]
    if random.random() < 0.15:
        return None
    if feature.kind is not Kind.NUMERIC:
        if feature.categories and random.random() < 0.7:
            category = random.choice(feature.categories)
            if isinstance(category, str) and random.random() < 0.2:
                return random.choice(
                    (category.swapcase(), category + " ", category[:-1])
                )
            return category
        return random_category(random, feature.type)
    cuts = [threshold(c) for c in conditions(body) if c.feature == position]
    if not cuts or random.random() < 0.2:
        return random.choice((-inf, inf, nan, 0.0, -0.0, random_double(random)))
    cut = random.choice(cuts)
    return random.choice((cut, nextafter(cut, -inf), nextafter(cut, inf)))


def random_row(random: Random, body: Body) -> Row:
    return tuple(random_value(random, p, body) for p in range(len(body.features)))


def large_tree(leaves: int, seed: int = 0, *, chain: bool = False) -> Tree:
    """A tree whose leaves can all be reached: each split divides the cell of its node.

    Eight numeric features on [0, 1) and two categorical ones with 26 categories each;
    a chain has one leaf beside each split.
    """
    random = Random(seed)
    letters = tuple("abcdefghijklmnopqrstuvwxyz")
    numeric = [Feature(f"x{i}", Kind.NUMERIC, ValueType.FLOAT) for i in range(8)]
    texts = [Feature(f"c{i}", Kind.CATEGORICAL, ValueType.STR, letters) for i in "01"]
    features = (*numeric, *texts)
    stats = ClassCounts((3.0, 2.0))
    # What each feature can still be at a node: an interval, or categories.
    everything: tuple[Any, ...] = (*((0.0, 1.0) for _ in numeric), letters, letters)
    nodes: list[Node | None] = [None]
    waiting: list[tuple[int, tuple[tuple[float, ...] | tuple[str, ...], ...]]]
    waiting = [(0, everything)]
    count = 1
    while count < leaves:
        place = len(waiting) - 1 if chain else random.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        position, cell = waiting.pop()
        where = random.randrange(len(features))
        if len(cell[where]) < 2 or (chain and where > 7):
            where = random.randrange(8)
        part = cell[where]
        parts: list[tuple[float, ...] | tuple[str, ...]]
        tests: list[Condition]
        flag = random.random() < 0.5
        if where < 8:
            low, high = float(part[0]), float(part[1])
            cut = low + (high - low) * (0.001 if chain else random.uniform(0.2, 0.8))
            first = Condition(where, Op.LE, cut, flag)
            tests, parts = [first, negate(first)], [(low, cut), (cut, high)]
        else:
            names = tuple(str(name) for name in part)
            size = random.randint(1, len(names) - 1)
            groups = [names[:size], names[size:]]
            if len(groups[1]) > 2:  # three ways
                groups = [groups[0], groups[1][:1], groups[1][1:]]
            barred = tuple(c for c in letters if c not in groups[-1])
            named = [*groups[:-1], tuple(c for c in letters if c not in names)]
            tests = [Condition(where, Op.IN, group, False) for group in named if group]
            tests.append(Condition(where, Op.NOT_IN, barred, True))
            parts = [
                group if set(group) <= set(names) else () for group in named if group
            ]
            parts.append(groups[-1])
        branches = []
        for test, rest in zip(tests, parts, strict=True):
            then = len(nodes)
            nodes.append(None)
            branches.append(Branch(test, then, 1.0))
            if rest:
                waiting.append((then, (*cell[:where], rest, *cell[where + 1 :])))
        nodes[position] = Split(tuple(branches), stats, 0.1)
        count += len(branches) - 1
    return Tree(
        features,
        ("no", "yes"),
        tuple(
            Leaf(random.choice(("no", "yes")), stats, 5.0) if node is None else node
            for node in nodes
        ),
    )


def large_rows(count: int, seed: int = 0) -> list[Row]:
    """Rows for `large_tree`, some with a missing or an unseen value."""
    random = Random(seed)
    rows = []
    for _ in range(count):
        numbers = [random.random() for _ in range(8)]
        row: list[Value] = [*numbers, *(random.choice("abcxyzABC") for _ in range(2))]
        if random.random() < 0.2:
            row[random.randrange(10)] = None
        rows.append(tuple(row))
    return rows


def encoded(body: Body, rows: list[Row]) -> Columns:
    """Columns of doubles or category codes; None for a feature that is not tested."""
    required = required_features(body)
    columns: list[NDArray[Any] | None] = []
    for position, feature in enumerate(body.features):
        values = [row[position] for row in rows]
        if position not in required:
            columns.append(None)
        elif feature.kind is Kind.NUMERIC:
            numbers = [np.nan if v is None else v for v in values]
            columns.append(np.array(numbers, dtype=np.float64))
        else:
            codes = {c: code for code, c in enumerate(feature.categories)}
            unseen = len(feature.categories)
            found = [-1 if v is None else codes.get(v, unseen) for v in values]  # type: ignore[arg-type]
            columns.append(np.array(found, dtype=np.int32))
    return columns
