"""The one meaning of a forest: a sum of trees, rounded as its library rounds it.

A margin is a sum: it starts at `start`, and the trees are added one by one, in their
order. After the last one it is divided, multiplied and moved, if the library does so.
Every operation is rounded to the arithmetic of the forest. Of two labels, the second
one is the answer if the margin is above the cut. Of more, the label with the greatest
margin is, the first one at a tie. The answer of a regression is the link of the margin.

Margins, and the labels that follow from them, are exact: the same bits on every engine.
So are links that need only arithmetic. An engine computes `exp` in its own way, so the
last bits of what depends on it may differ (see `is_exact`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import copysign, exp, inf, log1p
from typing import TypeGuard

from treecompile.model import ir
from treecompile.model.errors import OptionError
from treecompile.model.semantics import negate, predict

# Times this, a double has its 24 highest bits in the upper half of the product: what
# is left after a subtraction is the number rounded to 32 bits, ties to even.
SPLITTER = 2.0**29 + 1
ZERO = 1.0000000180025095e-35  # 1e-35 in 32 bits: numbers up to it count as 0


def is_forest(body: ir.AnyBody) -> TypeGuard[ir.Forest]:
    return isinstance(body, ir.Forest)


def single(program: ir.AnyProgram, what: str) -> ir.Program:
    """The same program, for work that needs one tree or rules: a forest is refused."""
    if isinstance(program, ir.Program):
        return program
    raise OptionError(
        f"{what} needs one tree or rules, and the model is a forest of"
        f" {len(program.body.members):,} trees: learn one tree from its answers"
    )


def to_single(number: float) -> float:
    """A double rounded to 32 bits, as a double. It must not be huge."""
    high = number * SPLITTER
    return high - (high - number)


# ---------------------------------------------------------------- one row


def margins(forest: ir.Forest, row: ir.Row) -> tuple[float, ...]:
    """The margin of each output."""
    row = with_zeros_missing(forest, row)
    rounded = to_single if forest.arithmetic is ir.Arithmetic.SINGLE else float
    sums = list(forest.start)
    for member in forest.members:
        place = predict(member.tree, row)
        assert isinstance(place, int)
        for output, value in zip(member.outputs, member.values[place], strict=True):
            sums[output] = rounded(sums[output] + value)
    found = []
    for output, total in enumerate(sums):
        if forest.divisor != 1:
            total = rounded(total / forest.divisor)
        if forest.scale != 1:
            total = rounded(total * forest.scale)
        if forest.offset:
            total = rounded(total + forest.offset[output])
        found.append(total + 0.0)  # never -0.0
    return tuple(found)


def with_zeros_missing(forest: ir.Forest, row: ir.Row) -> ir.Row:
    """The row, in which 0 is missing where the forest says so."""
    if not forest.zero_is_missing:
        return row
    values = list(row)
    for index in forest.zero_is_missing:
        value = values[index]
        if value is not None and not isinstance(value, str) and abs(value) <= ZERO:
            values[index] = None
    return tuple(values)


def answer(forest: ir.Forest, margins: Sequence[float]) -> ir.Label:
    """The label that margins lead to, or the number."""
    if not forest.labels:
        return linked(forest, margins)[0]
    return forest.labels[place_of_label(forest, margins)]


def place_of_label(forest: ir.Forest, margins: Sequence[float]) -> int:
    if forest.cut is not None:
        return int(margins[0] > forest.cut)
    return margins.index(max(margins))


def check_probabilities(forest: ir.Forest) -> None:
    if not has_probabilities(forest):
        raise OptionError("the model has no probabilities: use predict or margin")


def has_probabilities(forest: ir.Forest) -> bool:
    return bool(forest.labels) and forest.link is not ir.Link.NONE


def probabilities(forest: ir.Forest, margins: Sequence[float]) -> tuple[float, ...]:
    """The probability of each label."""
    found = linked(forest, margins)
    if len(forest.labels) == 2 and len(found) == 1:
        return (rounded_link(forest, 1 - found[0]), found[0])
    return found


def linked(forest: ir.Forest, margins: Sequence[float]) -> tuple[float, ...]:
    """The link of each margin."""
    if forest.link is ir.Link.SOFTMAX:
        top = max(margins)
        parts = [power(forest, margin - top) for margin in margins]
        total = 0.0
        for part in parts:
            total += part
        total = rounded_link(forest, total)
        return tuple(rounded_link(forest, part / total) for part in parts)
    return tuple(rounded_link(forest, _linked(forest, each)) for each in margins)


def _linked(forest: ir.Forest, margin: float) -> float:
    match forest.link:
        case ir.Link.LOGISTIC:
            odds = power(forest, -forest.slope * margin)
            return 1 / rounded_link(forest, 1 + odds)
        case ir.Link.EXP:
            return power(forest, margin)
        case ir.Link.SIGNED_SQUARE:
            return margin * abs(margin)
        case ir.Link.SOFTPLUS:
            return log1p(power(forest, margin))
    return margin


def power(forest: ir.Forest, number: float) -> float:
    """The exponential, which an engine computes in its own way."""
    most = largest_power(forest)
    return rounded_link(forest, exp(max(-most, min(most, number))))


def largest_power(forest: ir.Forest) -> float:
    """The limit of what is exponentiated: databases refuse what is no number then.

    Beyond it, a probability is less than 1e-300, or than 1e-37 in 32 bits.
    """
    return 87.0 if forest.arithmetic is ir.Arithmetic.SINGLE else 700.0


SMALLEST_SINGLE = 2.0**-126  # with 24 bits; below it are the multiples of 2^-149,
STEPS_OF_SINGLE = 1.5 * 2.0**-97  # which are the doubles near this number
INFINITE_SINGLE = 2.0**128 - 2.0**103  # rounded to 32 bits, it is infinite


def rounded_link(forest: ir.Forest, number: float) -> float:
    """What a link computes in double, in the arithmetic of the forest."""
    if forest.arithmetic is ir.Arithmetic.DOUBLE:
        return number
    if abs(number) < SMALLEST_SINGLE:
        return (number + STEPS_OF_SINGLE) - STEPS_OF_SINGLE
    return to_single(number) if abs(number) < INFINITE_SINGLE else copysign(inf, number)


EXACT = (ir.Link.IDENTITY, ir.Link.SIGNED_SQUARE)


def is_exact(forest: ir.Forest) -> bool:
    """Whether the link needs only arithmetic, so that engines agree to the last bit."""
    return forest.link in EXACT


# ---------------------------------------------------------------- making one


@dataclass(frozen=True, slots=True)
class SplitNode:
    """A test of a tree that is being made, and the keys of its two children."""

    test: ir.Condition
    then: int
    otherwise: int
    weight: float = 1.0  # of the training rows that reached it
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class LeafNode:
    values: tuple[float, ...]  # what it adds to each output
    weight: float = 1.0


def member(
    features: tuple[ir.Feature, ...],
    outputs: tuple[int, ...],
    nodes: Sequence[SplitNode | LeafNode],
    root: int = 0,
) -> ir.Member:
    """A tree of a forest from its nodes, in any order; a key is a place among them.

    The nodes of the result are in the order of reading, and its leaves too.
    """
    made: list[ir.Node] = []
    values: list[tuple[float, ...]] = []
    order = list(_reading_order(nodes, root))
    place_of = {key: place for place, key in enumerate(order)}
    for key in order:
        node = nodes[key]
        # Only the weights and gains of a forest are known, and a weight is above 0.
        stats = ir.Moments(node.weight or 1.0, 0.0, None)
        if isinstance(node, LeafNode):
            made.append(ir.Leaf(len(values), stats, node.weight))
            values.append(tuple(value + 0.0 for value in node.values))
            continue
        tests = (node.test, node.then), (negate(node.test), node.otherwise)
        branches = tuple(
            ir.Branch(test, place_of[child], nodes[child].weight)
            for test, child in tests
        )
        made.append(ir.Split(branches, stats, node.gain))
    return ir.Member(ir.Tree(features, (), tuple(made)), outputs, tuple(values))


def _reading_order(nodes: Sequence[SplitNode | LeafNode], root: int) -> Iterator[int]:
    waiting = [root]
    while waiting:
        key = waiting.pop()
        yield key
        node = nodes[key]
        if isinstance(node, SplitNode):
            waiting += (node.otherwise, node.then)


def problem(forest: ir.Forest) -> str:
    """Why a forest is not a model; "" if it is. Its sums must stay finite."""
    outputs = len(forest.start)
    if outputs == 1 and len(forest.labels) != 2 * (forest.cut is not None):
        return "one output needs two labels and a cut, or neither"
    if outputs > 1 and (outputs != len(forest.labels) or forest.cut is not None):
        return "several outputs need a label for each, and no cut"
    if len(forest.offset) not in (0, outputs):
        return "there must be an offset for each output, or none"
    largest = list(map(abs, forest.start))
    for each in forest.members:
        for place, output in enumerate(each.outputs):
            if output >= outputs:
                return f"a tree adds to output {output}, and there are {outputs}"
            largest[output] += max(abs(leaf[place]) for leaf in each.values)
    if forest.arithmetic is ir.Arithmetic.SINGLE and not all(
        map(is_single, _numbers(forest))
    ):
        return "a value of a tree, or of the sums, does not fit into 32 bits"
    most = max(largest) * max(1, 1 / abs(forest.divisor)) * max(1, abs(forest.scale))
    most = (most + max(map(abs, forest.offset), default=0)) * max(1, abs(forest.slope))
    if not most < LARGEST_SUM:
        return f"the sums may reach {most:g}: expected less than {LARGEST_SUM:g}"
    return ""


LARGEST_SUM = 1e30  # a double of this size can be rounded to 32 bits, and squared


def is_single(number: float) -> bool:
    """Whether 32 bits hold a number."""
    if abs(number) < SMALLEST_SINGLE:
        return (number + STEPS_OF_SINGLE) - STEPS_OF_SINGLE == number
    return abs(number) < LARGEST_SUM and to_single(number) == number


def _numbers(forest: ir.Forest) -> Iterator[float]:
    yield from (*forest.start, *forest.offset, forest.divisor, forest.scale)
    for each in forest.members:
        for values in each.values:
            yield from values
