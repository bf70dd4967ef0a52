"""A forest as text for the terminal: how it answers, what it relies on, one tree."""

from __future__ import annotations

from collections.abc import Iterator

from treecompile.inspect.show import ASIDE, Paint, branches, plain
from treecompile.measure.forest_importance import split_shares
from treecompile.model import ir, words
from treecompile.model.errors import OptionError
from treecompile.model.forest_words import steps
from treecompile.model.paths import rule_ids, size

MOST_SHOWN = 10  # features, unless all are asked for
MOST_UNUSED = 10
BAR = 24  # characters of the longest bar
LONGEST = 40  # characters of a name


def show_forest(program: ir.ForestProgram, *, is_whole: bool = False) -> str:
    """What the forest is, how it answers, and the features that it relies on.

    `is_whole` lists all of these, and not only the main ones.
    """
    forest = program.body
    lines = [f"{words.name(program.target)}, by {program.algorithm}: {size(forest)}"]
    numbered = enumerate(steps(forest), start=1)
    lines += [f"  {number}. {sentence}" for number, sentence in numbered]
    return "\n".join([*lines, "", *importance_lines(forest, is_whole=is_whole)])


def importance_lines(forest: ir.Forest, *, is_whole: bool) -> Iterator[str]:
    """The features with a bar for each, the most important first."""
    found = split_shares(forest)
    ranked = found.ranked
    if not ranked:
        yield "no tree tests any feature: every row gets the same answer"
        return
    what = "gain of all splits" if found.are_gains else "number of splits"
    yield f"importance of the features, as shares of the {what}:"
    shown = ranked if is_whole else ranked[:MOST_SHOWN]
    names = [_name(forest.features[index]) for index in shown]
    wide = max(map(len, names))
    most = found.shares[ranked[0]]
    for index, name in zip(shown, names, strict=True):
        share = found.shares[index]
        bar = "█" * max(1, round(BAR * share / most))
        yield f"  {name:<{wide}}  {share:.4f}  {bar}"
    if rest := len(ranked) - len(shown):
        yield f"  and {rest:,} more: importance lists them"
    unused = [words.name(forest.features[index].name) for index in found.unused]
    if unused:
        yield f"not used: {words.enumerated(unused, MOST_UNUSED)}"


def _name(feature: ir.Feature) -> str:
    name = words.name(feature.name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


# ---------------------------------------------------------------- one tree


def check_number(forest: ir.Forest, number: int) -> None:
    """Refuse the number of a tree that is not there."""
    count = len(forest.members)
    if not 1 <= number <= count:
        there = "has no trees" if not count else f"has trees 1 to {count:,}"
        raise OptionError(f"tree={number}: the forest {there}")


def show_tree(
    program: ir.ForestProgram, number: int, paint: Paint = plain, *, stats: bool = False
) -> str:
    """A tree of the forest with its branches; a leaf has what it adds to each sum.

    `stats` adds the training weight and the gain of each node.
    """
    forest = program.body
    member = forest.members[number - 1]
    ids = rule_ids(member.tree)

    def added(position: int, leaf: ir.Leaf) -> str:
        assert isinstance(leaf.value, int)
        text = _added(forest, member.outputs, member.values[leaf.value])
        aside = f"(leaf {ids[position].removeprefix('R')})"
        return f"{paint(text, 0)}  {paint(aside, ASIDE)}"

    notes = {}
    for position, node in enumerate(member.tree.nodes) if stats else ():
        weight = node.weight if isinstance(node, ir.Leaf) else node.stats.weight
        gain = f"; gain {node.gain:.4g}" if isinstance(node, ir.Split) else ""
        notes[position] = f"  [weight {words.amount(weight)}{gain}]"
    count = f"{len(forest.members):,}"
    sums = "the sum" if len(forest.start) == 1 else "the sums of the labels"
    head = f"tree {number} of {count}, {size(member.tree)}: what it adds to {sums}"
    return "\n".join([head, *branches(member.tree, added, notes)])


def _added(
    forest: ir.Forest, outputs: tuple[int, ...], values: tuple[float, ...]
) -> str:
    """ "+0.5", or "+0.5 for yes, -0.5 for no"."""
    texts = []
    for output, value in zip(outputs, values, strict=True):
        text = words.number(value)
        text = text if text.startswith("-") else f"+{text}"
        if len(forest.start) > 1:
            text += f" for {words.value(forest.labels[output])}"
        texts.append(text)
    return ", ".join(texts)
