"""The sums of a tree that divides unknown values, within one another in an expression.

For databases in which no subquery can see the row that it is for. Each share of a split
is needed once in the sum above it, so the expression is as large as the tree; only the
answer may need a share twice, and the dialect says how much it gets. A share is written
as `(sum) / total`, without brackets around it, because it is always the first factor:
`(sum) / total * amount` is worked out from the left, and nests only half as deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from treecompile.divide import unknown
from treecompile.errors import TargetError
from treecompile.ir import Branch, Condition, Kind, Op, Split, Tree
from treecompile.lower.sql_fractional_parts import (
    INSTEAD,
    Asked,
    Spelling,
    check_operators,
    check_terms,
    first_greatest,
    nested,
    total,
)
from treecompile.semantics import certain, holds, negate
from treecompile.targets import Dialect

Line = tuple[int, str]  # how far it is indented, and the text, which may have lines
Lines = Sequence[Line]


def inline(tree: Tree, spelling: Spelling, asked: Asked) -> list[str]:
    """The lines of the expression that answers one row."""
    check(tree, spelling.dialect, asked)
    return [f"{'  ' * by}{text}" for by, text in answer(tree, spelling, asked)]


def answer(tree: Tree, spelling: Spelling, asked: Asked) -> Lines:
    """What is asked of the shares of the root."""
    writer, sums = Writer(tree, spelling), spelling.dialect.sums
    labels = list(map(spelling.label, tree.labels))
    if asked.output == "label" and len(labels) == 1:
        return [(0, labels[0])]
    if shares_asked(tree, asked) == 1:
        return writer.share(asked.label or 0 if asked.output == "probability" else 0)
    shares = [writer.share(place) for place in range(len(labels))]
    if sums.naming:
        return named(shares, labels if asked.output == "label" else (), spelling)
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


def shares_asked(tree: Tree, asked: Asked) -> int:
    """The shares of how many labels the answer rests on."""
    if asked.output == "probability" and asked.label is not None:
        return 1
    return len(tree.labels) or 1


def copies(tree: Tree, asked: Asked, dialect: Dialect) -> int:
    """How many shares of the root are written."""
    shares = shares_asked(tree, asked)
    if shares > 2 and asked.output == "label" and not dialect.sums.naming:
        return 2 * shares - 1
    return shares


def named(
    shares: Sequence[Lines], labels: Sequence[str], spelling: Spelling
) -> list[Line]:
    """The shares under names, by which the greatest or its label is chosen."""
    sums = spelling.dialect.sums
    names = [sums.named.format(place=n, number=n + 1) for n in range(len(shares))]
    text = " ".join(first_greatest(names, labels or names))
    before, after = sums.naming.split("{shares}")
    given = {"answer": text, "names": ", ".join(names)}
    return listed(before.format(**given), shares, after.format(**given))


def listed(before: str, shares: Sequence[Lines], after: str) -> list[Line]:
    lines: list[Line] = [(0, before)]
    for share in shares:
        lines += indented(share)
        if share is not shares[-1]:
            lines[-1] = (lines[-1][0], f"{lines[-1][1]},")
    return [*lines, (0, after)]


def start(word: str, lines: Lines) -> Lines:
    """The lines with a word before the first."""
    (by, text), *rest = lines
    return [(by, f"{word}{text}"), *rest]


def indented(lines: Lines) -> Lines:
    return [(by + 1, text) for by, text in lines]


# ---------------------------------------------------------------- sums


@dataclass(frozen=True, slots=True)
class Amounts:
    """What the shares of the branches of a split are multiplied with and divided by."""

    factors: tuple[str, ...]
    divisor: str


class Writer:
    """Writes the share of one label after the other."""

    def __init__(self, tree: Tree, spelling: Spelling) -> None:
        self.tree, self.spelling = tree, spelling
        self.zero, self.one = spelling.double(0.0), spelling.double(1.0)
        self.amounts = {
            position: self.amounts_of(node)
            for position, node in enumerate(tree.nodes)
            if isinstance(node, Split)
        }

    def share(self, place: int) -> Lines:
        """The share of a label, or the number of a regression."""
        nodes = self.tree.nodes
        waiting: dict[int, Lines] = {}
        for position in range(len(nodes) - 1, -1, -1):
            node = nodes[position]
            if not isinstance(node, Split):
                value = self.spelling.double(certain(node)[place] + 0.0)
                waiting[position] = [(0, value)]
                continue
            below = [waiting.pop(branch.then) for branch in node.branches]
            waiting[position] = self.sum(self.amounts[position], below)
        return waiting[0]

    def sum(self, amounts: Amounts, below: Iterable[Lines]) -> Lines:
        lines: list[Line] = [(0, f"({self.zero}")]
        for factor, share in zip(amounts.factors, below, strict=True):
            lines += indented(start("+ ", share))
            lines[-1] = (lines[-1][0], f"{lines[-1][1]} * {factor}")
        return [*lines, (0, f") / {amounts.divisor}")]

    def amounts_of(self, split: Split) -> Amounts:
        where = split.branches[0].when.feature
        missing = unknown(where, self.tree.features[where])
        known = self.spelling.test(negate(missing))
        factors = []
        for branch in split.branches:
            taken = self.spelling.test(self.takes(branch))
            weight = self.spelling.double(branch.weight + 0.0)
            none = f"WHEN {known} THEN {self.zero} " if branch.weight else ""
            text = f"CASE WHEN {taken} THEN {self.one} {none}ELSE {weight} END"
            factors.append(text)
        whole = self.spelling.double(total(split))
        divisor = f"CASE WHEN {known} THEN {self.one} ELSE {whole} END"
        return Amounts(tuple(factors), divisor)

    def takes(self, branch: Branch) -> Condition:
        """That the value is known and goes down the branch."""
        test = branch.when
        feature = self.tree.features[test.feature]
        if feature.kind is not Kind.CATEGORICAL:
            return replace(test, missing=False)
        chosen = tuple(c for c in feature.categories if holds(test, feature, c))
        return Condition(test.feature, Op.IN, chosen, missing=False)


# ---------------------------------------------------------------- limits


def check(tree: Tree, dialect: Dialect, asked: Asked) -> None:
    """Refuse what is too large or too deep to be one expression there."""
    splits = sum(isinstance(node, Split) for node in tree.nodes)
    check_terms(copies(tree, asked, dialect) * splits, dialect)
    depth, operators = nesting(tree)
    if depth > dialect.sums.depth:
        raise TargetError(
            f"the sums of this tree lie {depth} deep within one another, and"
            f" {dialect.name} takes {dialect.sums.depth}: {INSTEAD}"
        )
    check_operators(operators, dialect)


def nesting(tree: Tree) -> tuple[int, int]:
    """How many sums, and how many operators, lie within one another."""
    depths, operators = [0] * len(tree.nodes), [0] * len(tree.nodes)
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if not isinstance(node, Split):
            continue
        below = [branch.then for branch in node.branches]
        depths[position] = 1 + max(depths[child] for child in below)
        operators[position] = nested([operators[child] for child in below])
    return depths[0], operators[0]
