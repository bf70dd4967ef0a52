"""The sums of a tree that divides unknown values, in stages of common tables.

The first stage reads each column as a number, or as the place of its category, or as
NULL where the value is unknown; the stages after it add up the shares of the splits,
the lowest first, a column for each label and each split that is written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treecompile.errors import TargetError
from treecompile.ir import Branch, Kind, Op, Split, Tree
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
from treecompile.membership import membership
from treecompile.semantics import certain, required_features, threshold
from treecompile.targets import Dialect


def staged(tree: Tree, spelling: Spelling, asked: Asked) -> list[str]:
    """The lines within the brackets of a subquery that answers one row."""
    writer = Writer(tree, spelling)
    stages = writer.stages()
    lines = []
    for number, columns in enumerate(stages):
        lines.append(f"{'WITH ' if number == 0 else ''}d{number} AS (")
        lines.append("  SELECT")
        for column in columns:
            # Only the first stage has text from the data, which may have lines itself.
            parts = column.split("\n") if number else [column]
            lines += [f"    {part}" for part in parts]
            lines[-1] += "," if column is not columns[-1] else ""
        source = f"FROM d{number - 1}" if number else ""
        fence = " ".join(filter(None, (source, spelling.dialect.sums.fence)))
        if fence:
            lines.append(f"  {fence}")
        lines.append(")" if number == len(stages) - 1 else "),")
    answer = writer.answer(asked)
    return [*lines, f"SELECT {answer} FROM d{len(stages) - 1}"]


@dataclass(slots=True)
class Part:
    """A node that is about to be written: its value for each label."""

    texts: list[str]
    depth: int  # sums within one another
    operators: int  # the same
    stage: int  # the earliest that can have it
    uses: set[int] = field(default_factory=set)  # columns of earlier stages: nodes
    reads: set[int] = field(default_factory=set)  # features


class Writer:
    """Writes the columns of each stage."""

    def __init__(self, tree: Tree, spelling: Spelling) -> None:
        self.tree, self.spelling = tree, spelling
        self.dialect = spelling.dialect
        self.required = required_features(tree)
        self.values = len(tree.labels) or 1
        self.prefix = free_prefix(spelling.columns.values(), self.dialect)
        self.zero, self.one = spelling.double(0.0), spelling.double(1.0)

    def column(self, feature: int) -> str:
        return f"{self.prefix}x{self.required.index(feature)}"

    def value(self, node: int, place: int) -> str:
        return f"{self.prefix}v{node}_{place}"

    def stages(self) -> list[list[str]]:
        """The columns of the first stage, which reads, and of those that add up."""
        splits = sum(isinstance(node, Split) for node in self.tree.nodes)
        check_terms(self.values * splits, self.dialect)
        kept = self.parts()
        last = kept[0].stage
        if last > self.dialect.sums.stages:
            raise TargetError(
                f"the sums of this tree lie within one another in {last} queries, and"
                f" {self.dialect.name} takes {self.dialect.sums.stages}: {INSTEAD}"
            )
        until: dict[int, int] = {0: last + 1}  # the last stage that uses a node
        read = dict.fromkeys(self.required, 0)  # or a feature
        for part in kept.values():
            for node in part.uses:
                until[node] = max(until.get(node, 0), part.stage)
            for feature in part.reads:
                read[feature] = max(read[feature], part.stage)
        made: dict[int, list[int]] = {}
        for node, part in kept.items():
            made.setdefault(part.stage, []).append(node)
        result = [[self.read(feature) for feature in self.required]]
        alive: list[int] = []
        for stage in range(1, last + 1):
            alive = [node for node in alive if until[node] > stage]
            columns = [self.column(f) for f in self.required if read[f] > stage]
            columns += [self.value(n, p) for n in alive for p in range(self.values)]
            for node in made[stage]:
                columns += [
                    f"{text} AS {self.value(node, place)}"
                    for place, text in enumerate(kept[node].texts)
                ]
            alive += made[stage]
            most = self.dialect.sums.columns
            if len(columns) > most:
                raise TargetError(
                    f"dividing the missing values of this tree takes {len(columns)}"
                    f" columns, and {self.dialect.name} has {most}: {INSTEAD}"
                )
            result.append(columns)
        return result

    def parts(self) -> dict[int, Part]:
        """The nodes that are columns of some stage, the root among them."""
        nodes = self.tree.nodes
        waiting: dict[int, Part] = {}
        kept: dict[int, Part] = {}
        for position in range(len(nodes) - 1, -1, -1):
            node = nodes[position]
            if not isinstance(node, Split):
                texts = [self.spelling.double(share + 0.0) for share in certain(node)]
                waiting[position] = Part(texts, 0, 0, 1)
                continue
            below = []
            for branch in node.branches:
                part = waiting.pop(branch.then)
                if part.depth and self.is_too_deep(part, node):
                    kept[branch.then] = part
                    texts = [self.value(branch.then, p) for p in range(self.values)]
                    part = Part(texts, 0, 0, part.stage + 1, {branch.then})
                below.append(part)
            waiting[position] = self.sum(node, below)
        kept[0] = waiting[0]
        return kept

    def is_too_deep(self, part: Part, above: Split) -> bool:
        """Whether a part must be a column for the sum above it."""
        sums = self.dialect.sums
        operators = part.operators + 2 + len(above.branches)
        return part.depth >= sums.depth or operators > sums.operators

    def sum(self, split: Split, below: Sequence[Part]) -> Part:
        where = split.branches[0].when.feature
        operators = nested([part.operators for part in below])
        check_operators(operators, self.dialect)
        x = self.column(where)
        double = self.spelling.double
        amounts = [
            f"CASE WHEN {x} IS NULL THEN {double(branch.weight)}"
            f" WHEN {self.test(branch, x)} THEN {self.one} ELSE {self.zero} END"
            for branch in split.branches
        ]
        whole = f"CASE WHEN {x} IS NULL THEN {double(total(split))} ELSE {self.one} END"
        texts = []
        for place in range(self.values):
            terms = [
                f"\n+ {amount} * {part.texts[place]}".replace("\n", "\n  ")
                for amount, part in zip(amounts, below, strict=True)
            ]
            texts.append(f"(({self.zero}{''.join(terms)}\n) / {whole})")
        return Part(
            texts,
            1 + max(part.depth for part in below),
            operators,
            max(part.stage for part in below),
            set().union(*(part.uses for part in below)),
            {where}.union(*(part.reads for part in below)),
        )

    # ------------------------------------------------------------ columns

    def read(self, feature: int) -> str:
        """A column as a number or the place of a category; NULL if it is unknown."""
        described = self.tree.features[feature]
        typed, column = self.spelling.typed[feature], self.spelling.columns[feature]
        forms = self.dialect.conditions
        if described.kind is Kind.NUMERIC:
            known = forms.number_known.format(x=typed, column=column)
            return f"CASE WHEN {known} THEN {typed} END AS {self.column(feature)}"
        arms = []
        for place, category in enumerate(described.categories):
            value = self.spelling.category(category)
            equal = forms.equal.format(x=typed, column=column, value=value)
            arms.append(f"WHEN {equal} THEN {place}")
        return f"CASE {' '.join(arms)} END AS {self.column(feature)}"

    def test(self, branch: Branch, x: str) -> str:
        """Whether a branch takes a known value."""
        when = branch.when
        feature = self.tree.features[when.feature]
        forms = self.dialect.conditions
        if feature.kind is Kind.NUMERIC:
            if threshold(when) == float("inf"):
                return forms.always if when.op is Op.LE else forms.never
            return f"{x} {when.op} {self.spelling.double(threshold(when) + 0.0)}"
        inside, chosen, _ = membership(when, feature)
        places = [str(feature.categories.index(category)) for category in chosen]
        if not places:
            return forms.never if inside else forms.always
        if len(places) == 1 or self.dialect.limits.many_sets:
            tests = [f"{x} {'=' if inside else '<>'} {place}" for place in places]
            text = (" OR " if inside else " AND ").join(tests)
            return text if len(tests) == 1 else f"({text})"
        return f"{x} {'IN' if inside else 'NOT IN'} ({', '.join(places)})"

    def answer(self, asked: Asked) -> str:
        """What is asked of the shares of the root."""
        shares = [self.value(0, place) for place in range(self.values)]
        if asked.output == "probability" and asked.label is not None:
            return shares[asked.label]
        if not self.tree.labels:
            return shares[0]
        results = shares
        if asked.output == "label":
            results = list(map(self.spelling.label, self.tree.labels))
        return " ".join(first_greatest(shares, results))


def free_prefix(columns: Iterable[str], dialect: Dialect) -> str:
    """What to put in front of our columns, so that none is called like one read."""
    quote = dialect.names.quote
    names = [name.strip(quote).casefold() for name in columns]
    prefix = ""
    while any(re.match(rf"{prefix}[xv]\d", name) for name in names):
        prefix += "tc_"
    return prefix
