"""Random forests, made to tell right sums from nearly right ones."""

from __future__ import annotations

from math import inf, nextafter
from random import Random

from treecompile.model import ir
from treecompile.model.forests import LeafNode, SplitNode, member, to_single

LABELS: tuple[tuple[ir.Label, ...], ...] = (
    ("no", "yes"),
    (0, 1),
    (False, True),
    ("a", "b'", "c\\"),
    (3, 5, 9, 11),
)
LINKS = {
    0: (
        ir.Link.IDENTITY,
        ir.Link.EXP,
        ir.Link.SIGNED_SQUARE,
        ir.Link.SOFTPLUS,
        ir.Link.LOGISTIC,
    ),
    1: (ir.Link.LOGISTIC, ir.Link.IDENTITY),
    2: (ir.Link.SOFTMAX, ir.Link.LOGISTIC, ir.Link.IDENTITY),
}


def stump(
    feature: ir.Feature,
    test: ir.Condition,
    values: tuple[float, float],
    labels: tuple[ir.Label, ...] = (),
) -> ir.Forest:
    """A forest of one tree with one test; of two labels, 0 is between them."""
    nodes: list[SplitNode | LeafNode] = [SplitNode(test, 1, 2)]
    nodes += [LeafNode((value,)) for value in values]
    features = (feature,)
    return ir.Forest(
        features,
        labels,
        (member(features, (0,), nodes),),
        (0.0,),
        link=ir.Link.LOGISTIC if labels else ir.Link.IDENTITY,
        cut=0.0 if labels else None,
    )


def tennis_forest() -> ir.ForestProgram:
    """A forest of one tree, for the columns of tennis.csv."""
    outlook = ir.Feature(
        "outlook",
        ir.Kind.CATEGORICAL,
        ir.ValueType.STR,
        ("cloudy", "rainy", "sunny"),
    )
    test = ir.Condition(0, ir.Op.IN, ("cloudy",), False)
    forest = stump(outlook, test, (1.0, -1.0), ("no", "yes"))
    return ir.ForestProgram("play", "a stump", forest)


def random_forest(dice: Random, trees: int | None = None) -> ir.Forest:
    """A forest of any kind: one or several outputs, 32 or 64 bits, any link."""
    features = _features(dice)
    labels = dice.choice((*LABELS, (), ()))
    outputs = len(labels) if len(labels) > 2 else 1
    if len(labels) == 2 and dice.random() < 0.3:
        outputs = 2
    is_single = dice.random() < 0.5
    rounded = to_single if is_single else float
    shared = outputs > 1 and dice.random() < 0.5
    count = dice.choice((1, 2, 5, 12)) if trees is None else trees
    members = tuple(
        member(
            features,
            tuple(range(outputs)) if shared else (number % outputs,),
            _nodes(dice, features, outputs if shared else 1, rounded),
        )
        for number in range(count)
    )
    kind = 0 if not labels else min(2, outputs)
    start = tuple(
        rounded(dice.choice((0.0, 0.5, dice.gauss(0, 1)))) for _ in range(outputs)
    )
    return ir.Forest(
        features,
        labels,
        members,
        start,
        ir.Arithmetic.SINGLE if is_single else ir.Arithmetic.DOUBLE,
        divisor=dice.choice((1.0, 1.0, float(count), 3.0)),
        scale=dice.choice((1.0, 1.0, 1.0, rounded(0.1))),
        offset=dice.choice(
            ((), (), tuple(rounded(dice.gauss(0, 1)) for _ in range(outputs)))
        ),
        link=dice.choice(LINKS[kind]),
        slope=dice.choice((1.0, 1.0, 0.7)),
        cut=dice.choice((0.0, 0.5, rounded(dice.gauss(0, 1)))) if kind == 1 else None,
        zero_is_missing=tuple(
            index
            for index, feature in enumerate(features)
            if feature.kind is ir.Kind.NUMERIC and dice.random() < 0.15
        ),
    )


def _features(dice: Random) -> tuple[ir.Feature, ...]:
    numeric = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
    more = (
        ir.Feature("a b'\"", ir.Kind.NUMERIC, ir.ValueType.FLOAT),
        ir.Feature("Größe", ir.Kind.NUMERIC, ir.ValueType.FLOAT),
        ir.Feature(
            "colour", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("red", "it's", "Red", "")
        ),
        ir.Feature("code", ir.Kind.CATEGORICAL, ir.ValueType.INT, (0, 1, 2, 7, -3)),
        ir.Feature("flag", ir.Kind.CATEGORICAL, ir.ValueType.BOOL, (False, True)),
    )
    return (numeric, *dice.sample(more, dice.randrange(len(more) + 1)))


def _nodes(
    dice: Random,
    features: tuple[ir.Feature, ...],
    values: int,
    rounded: type[float] | object,
) -> list[SplitNode | LeafNode]:
    assert callable(rounded)
    nodes: list[SplitNode | LeafNode] = []
    leaves = dice.choice((1, 2, 3, 5, 9))

    def grow(leaves: int) -> int:
        place = len(nodes)
        nodes.append(LeafNode(tuple(rounded(_value(dice)) for _ in range(values))))
        if leaves > 1:
            left = dice.randrange(1, leaves)
            test = _test(dice, features)
            then = grow(left)
            nodes[place] = SplitNode(
                test, then, grow(leaves - left), dice.uniform(1, 9), dice.random()
            )
        return place

    grow(leaves)
    return nodes


def _value(dice: Random) -> float:
    """Numbers of all sizes: another order of addition gives another sum."""
    return dice.gauss(0, 1) * 10.0 ** dice.randrange(-3, 3)


def _test(dice: Random, features: tuple[ir.Feature, ...]) -> ir.Condition:
    index = dice.randrange(len(features))
    feature, missing = features[index], dice.random() < 0.5
    if feature.kind is ir.Kind.NUMERIC:
        limit = dice.choice((0.0, 1.0, -1.5, 0.1, 1e-300, dice.gauss(0, 2)))
        return ir.Condition(index, ir.Op.LE, limit, missing)
    size = dice.randrange(1, len(feature.categories))
    chosen = dice.sample(feature.categories, size)
    kept = tuple(c for c in feature.categories if c in chosen)
    return ir.Condition(index, dice.choice((ir.Op.IN, ir.Op.NOT_IN)), kept, missing)


def random_row(dice: Random, forest: ir.Forest) -> ir.Row:
    """A row near the thresholds, with missing and unseen values."""
    limits = {
        branch.when.value
        for each in forest.members
        for node in each.tree.nodes
        if isinstance(node, ir.Split)
        for branch in node.branches
        if isinstance(branch.when.value, float)
    }
    return tuple(_cell(dice, feature, sorted(limits)) for feature in forest.features)


def _cell(dice: Random, feature: ir.Feature, limits: list[float]) -> ir.Value:
    if dice.random() < 0.15:
        return None
    if feature.kind is ir.Kind.NUMERIC:
        near = dice.choice([*limits, 0.0])
        return dice.choice(
            (near, nextafter(near, inf), nextafter(near, -inf), dice.gauss(0, 2), 0.0)
        )
    unseen: dict[ir.ValueType, ir.Category] = {
        ir.ValueType.STR: "RED",
        ir.ValueType.INT: 99,
        ir.ValueType.BOOL: True,
    }
    return dice.choice((*feature.categories, unseen[feature.type]))


def many_trees(dice: Random, trees: int, arithmetic: ir.Arithmetic) -> ir.Forest:
    """A regression of small trees over three numbers, whose sum needs its order."""
    features = tuple(
        ir.Feature(name, ir.Kind.NUMERIC, ir.ValueType.FLOAT) for name in "xyz"
    )
    rounded = to_single if arithmetic is ir.Arithmetic.SINGLE else float

    def leaf() -> LeafNode:
        return LeafNode((rounded(_value(dice)),))

    def split(then: int, otherwise: int) -> SplitNode:
        limit = round(dice.gauss(0, 1), 2)
        missing = dice.random() < 0.5
        test = ir.Condition(dice.randrange(3), ir.Op.LE, limit, missing)
        return SplitNode(test, then, otherwise)

    members = tuple(
        member(features, (0,), [split(1, 2), leaf(), split(3, 4), leaf(), leaf()])
        for _ in range(trees)
    )
    return ir.Forest(features, (), members, (rounded(0.3),), arithmetic)


def balanced_trees(dice: Random, trees: int, depth: int) -> ir.Forest:
    """A regression of full trees over three numbers, as boosting grows them."""
    features = tuple(
        ir.Feature(name, ir.Kind.NUMERIC, ir.ValueType.FLOAT) for name in "xyz"
    )
    inner = 2**depth - 1

    def node(place: int) -> SplitNode | LeafNode:
        if place >= inner:
            return LeafNode((_value(dice),))
        test = ir.Condition(
            dice.randrange(3), ir.Op.LE, round(dice.gauss(0, 1), 2), dice.random() < 0.5
        )
        return SplitNode(test, 2 * place + 1, 2 * place + 2)

    members = tuple(
        member(features, (0,), [node(place) for place in range(2 * inner + 1)])
        for _ in range(trees)
    )
    return ir.Forest(features, (), members, (0.3,))
