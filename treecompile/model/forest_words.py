"""How a forest comes to an answer, in words, for the terminal and the document."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treecompile.model import forests, ir, words
from treecompile.model.paths import depth

BITS = {
    ir.Arithmetic.SINGLE: "32 bits (about 7 digits)",
    ir.Arithmetic.DOUBLE: "64 bits (about 16 digits)",
}
Escape = Callable[[str], str]
SUMS_SHOWN = 12  # starts or offsets that are written out


def steps(forest: ir.Forest, escape: Escape = str) -> list[str]:
    """From the values of a row to its answer, a sentence or two for each step."""
    result = (
        "result is the margin" if len(forest.start) == 1 else "results are the margins"
    )
    adding = [_added(forest), *_adjusted(forest, escape)]
    adding[-1] += f" The {result}."
    return [
        _started(forest, escape),
        *adding,
        *_linked(forest, escape),
        *_decided(forest, escape),
    ]


def _started(forest: ir.Forest, escape: Escape) -> str:
    if len(forest.start) == 1:
        return f"The sum starts at {_number(forest.start[0], escape)}."
    starts = _each("starts at", forest.start, forest, escape)
    return f"Each label has a sum of its own. {starts}"


def _each(
    verb: str, numbers: Sequence[float], forest: ir.Forest, escape: Escape
) -> str:
    """ "Every sum starts at 0.", or what the sum of each label does."""
    if len(set(numbers)) == 1:
        return f"Every sum {verb} {_number(numbers[0], escape)}."
    pairs = list(zip(forest.labels, numbers, strict=True))
    said = [
        f"{_label(label, escape)} {verb} {_number(n, escape)}" for label, n in pairs
    ]
    rest = len(said) - SUMS_SHOWN
    more = f", and so on for {rest} more" if rest > 0 else ""
    return f"The sum of {', that of '.join(said[:SUMS_SHOWN])}{more}."


def _number(value: float, escape: Escape) -> str:
    return escape(words.number(value + 0.0))


def _label(label: ir.Label, escape: Escape) -> str:
    return escape(words.value(label))


def _added(forest: ir.Forest) -> str:
    if not forest.members:
        return "There are no trees to add."
    count, most = len(forest.members), depth(forest)
    trees = "The one tree" if count == 1 else f"Each of the {count:,} trees"
    tests = "asks nothing" if not most else f"asks at most {_counted(most, 'question')}"
    outputs = {len(each.outputs) for each in forest.members}
    to = "to the sum"
    if len(forest.start) > 1:
        is_one = outputs == {1}
        to = "to the sum of its label" if is_one else "to the sum of each label"
    order = "" if count == 1 else " The trees are added in their order."
    return (
        f"{trees} {tests} about the row, comes to one of its leaves, and adds the"
        f" number of that leaf {to}.{order} Each result is rounded to"
        f" {BITS[forest.arithmetic]}."
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _adjusted(forest: ir.Forest, escape: Escape) -> list[str]:
    """What is done to the sums."""
    is_one = len(forest.start) == 1
    what = "The sum is" if is_one else "Every sum is"
    done = []
    if forest.divisor != 1:
        is_mean = forest.divisor == len(forest.members)
        mean = ", the number of trees" * is_mean
        done.append(f"{what} divided by {_number(forest.divisor, escape)}{mean}.")
    if forest.scale != 1:
        done.append(f"{what} multiplied by {_number(forest.scale, escape)}.")
    if forest.offset and is_one:
        done.append(f"Then {_number(forest.offset[0], escape)} is added.")
    elif forest.offset:
        done.append(_each("grows by", forest.offset, forest, escape))
    return [" ".join(done)] if done else []


LINKED = {
    ir.Link.EXP: "The answer is exp(margin).",
    ir.Link.SIGNED_SQUARE: "The answer is the margin times its absolute value.",
    ir.Link.SOFTPLUS: "The answer is log(1 + exp(margin)).",
    ir.Link.IDENTITY: "The answer is the margin.",
    ir.Link.NONE: "The answer is the margin.",
}


def _linked(forest: ir.Forest, escape: Escape) -> list[str]:
    """How a margin becomes the answer of a regression, or a probability."""
    is_plain = forest.slope == 1
    slope = "" if is_plain else f"{words.number(abs(forest.slope))} * "
    sign = "-" if forest.slope > 0 else ""
    logistic = f"1 / (1 + exp({sign}{slope}margin))"
    if not forest.labels:
        if forest.link is ir.Link.LOGISTIC:
            return [f"The answer is {logistic}."]
        return [LINKED.get(forest.link, LINKED[ir.Link.IDENTITY])]
    if len(forest.start) == 1:
        whose = f"The probability of {_label(forest.labels[1], escape)}"
        other = f" That of {_label(forest.labels[0], escape)} is the rest up to 1."
    else:
        whose, other = "The probability of a label", ""
    match forest.link:
        case ir.Link.NONE:
            return ["No probability follows from it."]
        case ir.Link.LOGISTIC:
            return [f"{whose} is {logistic}.{other}"]
        case ir.Link.SOFTMAX:
            return [
                f"{whose} is exp(margin), divided by the sum of exp(margin) over all"
                " labels."
            ]
        case ir.Link.IDENTITY:
            return [f"{whose} is the margin itself.{other}"]
    formula = LINKED[forest.link].removeprefix("The answer is ")
    return [f"{whose} is {formula}{other}"]


def _decided(forest: ir.Forest, escape: Escape) -> list[str]:
    if not forest.labels:
        return []
    if forest.cut is not None:
        no, yes = (_label(label, escape) for label in forest.labels)
        cut = _number(forest.cut, escape)
        return [
            f"The answer is {yes} if the margin is above {cut}, and {no} otherwise."
        ]
    return [
        "The answer is the label with the greatest margin, at a tie the first of"
        " them in the order of the labels."
    ]


def exactness(forest: ir.Forest) -> list[str]:
    """Which figures agree to the last bit, and which do not."""
    margin = "Margins" if len(forest.start) > 1 else "The margin"
    exact = "the same bits as in the model, wherever the generated code runs"
    if not forest.labels:
        if forests.is_exact(forest):
            return [f"Exact: the answer. It is {exact}."]
        return [
            f"Exact: the margin. It is {exact}.",
            "Within the last digits: the answer. Each engine computes exp and log in"
            " its own way, and two engines may round the last digits differently.",
        ]
    said = [f"Exact: {margin[0].lower()}{margin[1:]} and the label. They are {exact}."]
    if forest.link is ir.Link.NONE:
        return said
    if forests.is_exact(forest):
        return [*said, "Exact, too: the probabilities, which need only arithmetic."]
    return [
        *said,
        "Within the last digits: probabilities. Each engine computes exp in its own"
        " way, and two engines may round the last digits differently. The label does"
        " not depend on that.",
    ]
