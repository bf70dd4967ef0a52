"""Writes the sums of a tree that divides unknown values, as stages of a WITH query.

The first stage reads each column: as a number, as the position of its category, or as
NULL if the value is unknown. Each later stage adds up the shares of some splits, from
the leaves upwards: one column for each split and label.

    WITH d0 AS (SELECT CASE WHEN ... END AS x0),
    d1 AS (SELECT x0, (0.0 + ...) / ... AS v3_0, (0.0 + ...) / ... AS v3_1 FROM d0)
    SELECT CASE WHEN v0_0 >= v0_1 THEN 'no' ELSE 'yes' END FROM d1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.fractional import (
    DIVIDING,
    TOO_MANY_OPERATORS,
    check_limit,
    check_terms,
    first_greatest,
    nested_operators,
    total,
)
from treecompile.emit.sql.outputs import Asked
from treecompile.emit.sql.text import ConditionWriter, compared, literal
from treecompile.model.ir import Branch, Kind, Op, Split, Tree
from treecompile.model.paths import upwards
from treecompile.model.semantics import (
    certain,
    membership,
    required_features,
    threshold,
)


def staged(tree: Tree, writer: ConditionWriter, asked: Asked) -> list[str]:
    """Return the lines of the subquery that answers one row, without its brackets."""
    sums = StagedSums(tree, writer)
    stages = sums.stages()
    lines = []
    for number, columns in enumerate(stages):
        lines.append(f"{'WITH ' if number == 0 else ''}d{number} AS (")
        lines.append("  SELECT")
        for column in columns:
            # Only the first stage contains text from the data, perhaps with line ends.
            parts = column.split("\n") if number else [column]
            lines += [f"    {part}" for part in parts]
            lines[-1] += "," if column is not columns[-1] else ""
        source = f"FROM d{number - 1}" if number else ""
        fence = " ".join(filter(None, (source, writer.dialect.sums.fence)))
        if fence:
            lines.append(f"  {fence}")
        lines.append(")" if number == len(stages) - 1 else "),")
    return [*lines, f"SELECT {sums.answer(asked)} FROM d{len(stages) - 1}"]


@dataclass(slots=True)
class NodeValue:
    """The value of a node, not yet assigned to a stage."""

    texts: list[str]  # for each label
    depth: int  # sums within one another
    operators: int  # operators within one another
    stage: int  # the earliest stage that can compute it
    # Columns of earlier stages: nodes, and ~n for the feature n.
    uses: set[int] = field(default_factory=set)


class StagedSums:
    """Writes the columns of each stage."""

    def __init__(self, tree: Tree, writer: ConditionWriter) -> None:
        self.tree, self.writer = tree, writer
        self.dialect = writer.dialect
        self.required = required_features(tree)
        self.width = len(tree.labels) or 1  # columns for each node
        self.prefix = free_prefix(writer.columns.values(), self.dialect)
        self.zero, self.one = writer.double(0.0), writer.double(1.0)

    def column(self, index: int) -> str:
        return f"{self.prefix}x{self.required.index(index)}"

    def values(self, node: int) -> list[str]:
        """Return the columns of a node; or the column of the feature n, given as ~n."""
        if node < 0:
            return [self.column(~node)]
        return [f"{self.prefix}v{node}_{place}" for place in range(self.width)]

    def stages(self) -> list[list[str]]:
        """Return the columns of each stage: the first reads, the others add up."""
        check_terms(self.tree, self.width, self.dialect)
        kept = self.kept_values()
        last = kept[0].stage
        said = "the sums of this tree need {} nested queries"
        check_limit(last, self.dialect.sums.stages, said, self.dialect)
        until: dict[int, int] = {0: last + 1}  # the last stage that uses each
        for value in kept.values():
            for used in value.uses:
                until[used] = max(until.get(used, 0), value.stage)
        made: dict[int, list[int]] = {}
        for node, value in kept.items():
            made.setdefault(value.stage, []).append(node)
        result = [[self.read(index) for index in self.required]]
        alive = [~index for index in self.required]
        for stage in range(1, last + 1):
            alive = [used for used in alive if until[used] > stage]
            columns = [name for used in alive for name in self.values(used)]
            for node in made[stage]:
                pairs = zip(kept[node].texts, self.values(node), strict=True)
                columns += [f"{text} AS {name}" for text, name in pairs]
            alive += made[stage]
            said = f"{DIVIDING} needs {{}} columns"
            check_limit(len(columns), self.dialect.sums.columns, said, self.dialect)
            result.append(columns)
        return result

    def kept_values(self) -> dict[int, NodeValue]:
        """Return the nodes that become columns of some stage, the root among them."""
        waiting: dict[int, NodeValue] = {}
        kept: dict[int, NodeValue] = {}
        for position, node in upwards(self.tree):
            if not isinstance(node, Split):
                texts = [self.writer.double(share + 0.0) for share in certain(node)]
                waiting[position] = NodeValue(texts, 0, 0, 1)
                continue
            below = []
            for branch in node.branches:
                value = waiting.pop(branch.then)
                if value.depth and self.is_too_deep(value, node):
                    kept[branch.then] = value
                    texts = self.values(branch.then)
                    value = NodeValue(texts, 0, 0, value.stage + 1, {branch.then})
                below.append(value)
            waiting[position] = self.sum(node, below)
        kept[0] = waiting[0]
        return kept

    def is_too_deep(self, value: NodeValue, above: Split) -> bool:
        """Whether a value must become a column before the sum above it."""
        sums = self.dialect.sums
        operators = value.operators + 2 + len(above.branches)
        return value.depth >= sums.depth or operators > sums.operators

    def sum(self, split: Split, below: Sequence[NodeValue]) -> NodeValue:
        index = split.branches[0].when.feature
        operators = nested_operators([value.operators for value in below])
        most = self.dialect.sums.operators
        check_limit(operators, most, TOO_MANY_OPERATORS, self.dialect)
        x = self.column(index)
        double = self.writer.double
        amounts = [
            f"CASE WHEN {x} IS NULL THEN {double(branch.weight + 0.0)}"
            f" WHEN {self.test(branch, x)} THEN {self.one} ELSE {self.zero} END"
            for branch in split.branches
        ]
        whole = f"CASE WHEN {x} IS NULL THEN {double(total(split))} ELSE {self.one} END"
        texts = []
        for place in range(self.width):
            terms = [
                f"\n+ {amount} * {value.texts[place]}".replace("\n", "\n  ")
                for amount, value in zip(amounts, below, strict=True)
            ]
            texts.append(f"(({self.zero}{''.join(terms)}\n) / {whole})")
        return NodeValue(
            texts,
            1 + max(value.depth for value in below),
            operators,
            max(value.stage for value in below),
            {~index}.union(*(value.uses for value in below)),
        )

    # ------------------------------------------------------------ columns

    def read(self, index: int) -> str:
        """Write a column as a number or its category's position; NULL if unknown."""
        feature = self.tree.features[index]
        typed, column = self.writer.typed[index], self.writer.columns[index]
        forms = self.dialect.conditions
        if feature.kind is Kind.NUMERIC:
            known = forms.number_known.fill(x=typed, column=column)
            return f"CASE WHEN {known} THEN {typed} END AS {self.column(index)}"
        arms = []
        for place, category in enumerate(feature.categories):
            value = compared(category, self.dialect)
            equal = forms.equal.fill(x=typed, column=column, value=value)
            arms.append(f"WHEN {equal} THEN {place}")
        return f"CASE {' '.join(arms)} END AS {self.column(index)}"

    def test(self, branch: Branch, x: str) -> str:
        """Whether a known value goes down the branch."""
        when = branch.when
        feature = self.tree.features[when.feature]
        forms = self.dialect.conditions
        if feature.kind is Kind.NUMERIC:
            if threshold(when) == float("inf"):
                return (forms.always if when.op is Op.LE else forms.never).fill()
            return f"{x} {when.op} {self.writer.double(threshold(when) + 0.0)}"
        inside, chosen, _ = membership(when, feature)
        places = [str(feature.categories.index(category)) for category in chosen]
        if not places:
            return (forms.never if inside else forms.always).fill()
        if len(places) == 1 or self.dialect.limits.many_sets:
            tests = [f"{x} {'=' if inside else '<>'} {place}" for place in places]
            text = (" OR " if inside else " AND ").join(tests)
            return text if len(tests) == 1 else f"({text})"
        return f"{x} {'IN' if inside else 'NOT IN'} ({', '.join(places)})"

    def answer(self, asked: Asked) -> str:
        """Return the answer, computed from the shares of the root."""
        shares = self.values(0)
        if asked.label is not None:
            return shares[asked.label]
        labels = [literal(label, self.dialect) for label in self.tree.labels]
        return first_greatest(shares, (asked.output == "label" and labels) or shares)


def free_prefix(columns: Iterable[str], dialect: Dialect) -> str:
    """Return a prefix for column names, so that none equals a column of the table."""
    quote = dialect.names.quote
    names = [name.strip(quote).casefold() for name in columns]
    prefix = ""
    while any(re.match(rf"{prefix}[xv]\d", name) for name in names):
        prefix += "tc_"
    return prefix
