"""Writes the sums of a tree that divides unknown values, nested in one expression.

This is for databases in which a subquery cannot refer to the current row. Each share of
a split occurs once in the sum above it, so the expression is as large as the tree; only
the answer may need a share twice. A share is written `(sum) / total` without brackets
around it, because it is always the first factor: `(sum) / total * amount` is evaluated
from the left, and nests only half as deep.

A parser descends one level for a bracket, and one more for what follows a plus. So the
first term of a sum costs one level instead of two, and

    (c * amount + (0.0 + a * amount + b * amount)) / total

adds the same numbers in the same order as (0.0 + a * ... + b * ... + c * ...): the two
operands of one addition are swapped, which does not change the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.fractional import (
    TOO_MANY_OPERATORS,
    check_limit,
    check_terms,
    first_greatest,
    nested_operators,
    total,
)
from treecompile.emit.sql.outputs import Asked
from treecompile.emit.sql.text import ConditionWriter, literal
from treecompile.model.ir import Branch, Condition, Kind, Op, Split, Tree
from treecompile.model.paths import unknown, upwards
from treecompile.model.semantics import certain, holds, negate

Line = tuple[int, str]  # the indentation, and the text, which may contain line ends
Lines = Sequence[Line]


def inline(tree: Tree, writer: ConditionWriter, asked: Asked) -> list[str]:
    """Return the lines of the expression that answers one row."""
    check_terms(tree, copies(tree, asked, writer.dialect), writer.dialect)
    return [f"{'  ' * by}{text}" for by, text in answer(tree, writer, asked)]


def copies(tree: Tree, asked: Asked, dialect: Dialect) -> int:
    """Return how often a share of the root is written, for all labels together."""
    shares = 1 if asked.label is not None else len(tree.labels) or 1
    if shares > 2 and asked.output == "label" and not dialect.sums.naming:
        return 2 * shares - 1
    return shares


def answer(tree: Tree, writer: ConditionWriter, asked: Asked) -> Lines:
    """Return the answer, computed from the shares of the root."""
    inner, sums = InlineSums(tree, writer), writer.dialect.sums
    labels = [literal(label, writer.dialect) for label in tree.labels]
    if asked.output == "label" and len(labels) == 1:
        return [(0, labels[0])]
    if asked.label is not None or len(labels) < 2:
        return inner.share(asked.label or 0)
    shares = [inner.share(place) for place in range(len(labels))]
    if sums.naming:
        return named(shares, labels if asked.output == "label" else (), writer.dialect)
    if asked.output == "probability":
        return listed(f"{sums.greatest}(", shares, ")")
    arms: list[Line] = []
    if len(shares) == 2:
        opening: Lines = [(0, "CASE")]
        arms += [*start("WHEN ", shares[0]), *start(">= ", shares[1])]
        arms.append((0, f"THEN {labels[0]}"))
    else:
        opening = listed(f"CASE {sums.greatest}(", shares, ")")
        for share, label in zip(shares[:-1], labels[:-1], strict=True):
            arms += [*start("WHEN ", share), (0, f"THEN {label}")]
    return [*opening, *indented(arms), (1, f"ELSE {labels[-1]}"), (0, "END")]


def named(
    shares: Sequence[Lines], labels: Sequence[str], dialect: Dialect
) -> list[Line]:
    """Name the shares, and choose the greatest of them, or its label, by the names."""
    sums = dialect.sums
    names = [sums.named.fill(place=n, number=n + 1) for n in range(len(shares))]
    answer = first_greatest(names, labels or names)
    before, after = sums.naming.around("shares", answer=answer, names=", ".join(names))
    return listed(before, shares, after)


def listed(before: str, shares: Sequence[Lines], after: str) -> list[Line]:
    lines: list[Line] = [(0, before)]
    for share in shares:
        lines += indented(end(share, "," if share is not shares[-1] else ""))
    return [*lines, (0, after)]


def start(word: str, lines: Lines) -> Lines:
    """Return the lines with a word before the first."""
    (by, text), *rest = lines
    return [(by, f"{word}{text}"), *rest]


def end(lines: Lines, text: str) -> Lines:
    """Return the lines with a text after the last."""
    *rest, (by, last) = lines
    return [*rest, (by, f"{last}{text}")]


def indented(lines: Lines) -> Lines:
    return [(by + 1, text) for by, text in lines]


# ---------------------------------------------------------------- sums


class InlineSums:
    """Writes the share of one label at a time."""

    def __init__(self, tree: Tree, writer: ConditionWriter) -> None:
        self.tree, self.writer = tree, writer
        self.zero, self.one = writer.double(0.0), writer.double(1.0)
        self.first = first_branches(tree, writer.dialect)
        self.amounts = {
            position: self.amounts_of(node)
            for position, node in enumerate(tree.nodes)
            if isinstance(node, Split)
        }

    def share(self, place: int) -> Lines:
        """Return the share of a label, or the number of a regression."""
        waiting: dict[int, Lines] = {}
        for position, node in upwards(self.tree):
            if not isinstance(node, Split):
                value = self.writer.double(certain(node)[place] + 0.0)
                waiting[position] = [(0, value)]
                continue
            factors, divisor = self.amounts[position]
            terms = [
                end(waiting.pop(branch.then), f" * {factor}")
                for branch, factor in zip(node.branches, factors, strict=True)
            ]
            waiting[position] = [
                *start("(", self.sum(terms, self.first.get(position))),
                (0, f") / {divisor}"),
            ]
        return waiting[0]

    def sum(self, terms: Sequence[Lines], first: int | None) -> Lines:
        """Add the terms in order; or `first` first, and those before it in brackets."""
        opening: Lines = [(0, self.zero)]
        if first is not None:
            before: Lines = [(0, f"+ {self.zero}")]
            if first:
                inner = self.sum(terms[:first], None)
                before = [*start("+ (", inner), (0, ")")]
            opening = [*terms[first], *indented(before)]
            terms = terms[first + 1 :]
        return [*opening, *(line for t in terms for line in indented(start("+ ", t)))]

    def amounts_of(self, split: Split) -> tuple[list[str], str]:
        """Return the factor of each branch's share, and the divisor of their sum."""
        index = split.branches[0].when.feature
        known = self.writer.text(negate(unknown(index, self.tree.features[index])))
        factors = []
        for branch in split.branches:
            taken = self.writer.text(self.takes(branch))
            weight = self.writer.double(branch.weight + 0.0)
            none = f"WHEN {known} THEN {self.zero} " if branch.weight else ""
            factors.append(f"CASE WHEN {taken} THEN {self.one} {none}ELSE {weight} END")
        whole = self.writer.double(total(split))
        return factors, f"CASE WHEN {known} THEN {self.one} ELSE {whole} END"

    def takes(self, branch: Branch) -> Condition:
        """Return the condition that a value is known and goes down the branch."""
        test = branch.when
        feature = self.tree.features[test.feature]
        if feature.kind is not Kind.CATEGORICAL:
            return replace(test, missing=False)
        chosen = tuple(c for c in feature.categories if holds(test, feature, c))
        return Condition(test.feature, Op.IN, chosen, missing=False)


# ---------------------------------------------------------------- depth

SUM = 2  # levels of a sum that follows a plus


def first_branches(tree: Tree, dialect: Dialect) -> dict[int, int]:
    """Return the branch to write first in the sums of some splits.

    There are none if the database can parse the sums in branch order. Otherwise it is
    the deepest branch, wherever that makes the expression flatter.
    """
    most = SUM * dialect.sums.depth
    levels, operators, first = measured(tree, swapping=False)
    if levels > most:
        levels, operators, first = measured(tree, swapping=True)
    said = "the sums of this tree are nested {} deep"
    check_limit(-(-levels // SUM), dialect.sums.depth, said, dialect)
    check_limit(operators, dialect.sums.operators, TOO_MANY_OPERATORS, dialect)
    return first


def measured(tree: Tree, *, swapping: bool) -> tuple[int, int, dict[int, int]]:
    """Return the depth in levels and in operators, and the branches written first."""
    levels, operators = [0] * len(tree.nodes), [0] * len(tree.nodes)
    first: dict[int, int] = {}
    for position, node in upwards(tree):
        if not isinstance(node, Split):
            continue
        below = [branch.then for branch in node.branches]
        inner = [levels[child] for child in below]
        levels[position] = SUM + max(inner)
        operators[position] = nested_operators([operators[child] for child in below])
        deepest = inner.index(max(inner))
        swapped = levels_with_first(inner, deepest)
        if swapping and swapped < levels[position]:
            levels[position], first[position] = swapped, deepest
    return levels[0], operators[0], first


def levels_with_first(inner: Sequence[int], first: int) -> int:
    """Return the levels of a sum if that branch is written first."""
    before = (2 * SUM + levels for levels in inner[:first])  # in their own brackets
    behind = (SUM + levels for levels in inner[first + 1 :])
    return max(1 + inner[first], *before, *behind)
