"""How SQL divides unknown values: the sums of a tree in stages of common tables.

The CASE of `sql` is the fast path. A row with an unknown value goes into a subquery:
its first stage reads each column as a number, or as the place of its category, or as
NULL where the value is unknown; the stages after it add up the shares of the splits,
the lowest first. The value of a split is

    (0.0 + amount * value + amount * value ...) / total

whose amounts and total are the weights of the branches if the value is NULL. If it is
known they are 1.0 for the branch that it takes, 0.0 for the others, and 1.0 in all, so
that the sum is the value of that branch, exactly, and each value is needed only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treecompile.divide import unknown
from treecompile.errors import TargetError
from treecompile.ir import Branch, Category, Condition, Kind, Label, Op, Split, Tree
from treecompile.membership import membership
from treecompile.semantics import certain, required_features, threshold
from treecompile.targets import Dialect

LARGEST, LEAST = 1.7e308, 1e-307  # beyond, a sum may not be a number as the law has it

INSTEAD = (
    "compile the tree to Python, its rules (treecompile rules) to SQL, or learn with"
    " --predict-missing branch"
)

Write = Callable[[Category | Label], str]  # as a literal


@dataclass(frozen=True, slots=True)
class Asked:
    """What the subquery answers."""

    output: str  # "label" or "probability"
    label: int | None  # whose probability; None for the predicted label's


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the conditions and values of the tree are written."""

    dialect: Dialect
    columns: Mapping[int, str]  # the quoted column of each required feature
    typed: Mapping[int, str]  # the same as a value of exactly its type
    test: Callable[[Condition], str]
    double: Callable[[float], str]
    label: Write
    category: Write  # as its column is compared with it


def divided_arm(tree: Tree, spelling: Spelling, asked: Asked) -> list[str]:
    """The arm of a CASE that answers the rows with an unknown value."""
    check(tree, spelling.dialect)
    required = required_features(tree)
    tests = [spelling.test(unknown(p, tree.features[p])) for p in required]
    writer = Writer(tree, spelling)
    stages = writer.stages()
    lines = [f"  WHEN {' OR '.join(tests)} THEN ("]
    for number, columns in enumerate(stages):
        lines.append(f"    {'WITH ' if number == 0 else ''}d{number} AS (")
        lines.append("      SELECT")
        for column in columns:
            # Only the first stage has text from the data, which may have lines itself.
            parts = column.split("\n") if number else [column]
            lines += [f"        {part}" for part in parts]
            lines[-1] += "," if column is not columns[-1] else ""
        source = f"FROM d{number - 1}" if number else ""
        fence = " ".join(filter(None, (source, spelling.dialect.sums.fence)))
        if fence:
            lines.append(f"      {fence}")
        lines.append("    )" if number == len(stages) - 1 else "    ),")
    answer = writer.answer(asked)
    return [*lines, f"    SELECT {answer} FROM d{len(stages) - 1}", "  )"]


# ---------------------------------------------------------------- limits


def check(tree: Tree, dialect: Dialect) -> None:
    """Refuse what the dialect cannot add up exactly."""
    sums = dialect.sums
    if not sums.depth:
        raise TargetError(
            f"treecompile does not divide missing values in {dialect.name}: {INSTEAD}"
        )
    values = len(tree.labels) or 1
    terms = values * sum(isinstance(node, Split) for node in tree.nodes)
    if terms > sums.terms:
        raise TargetError(
            f"a tree that divides missing values has {terms} sums here (splits x"
            f" labels), and {dialect.name} gets at most {sums.terms}: {INSTEAD}"
        )
    joined = max(len(required_features(tree)), len(tree.labels) - 1)
    if joined > dialect.limits.tests:
        raise TargetError(
            f"dividing the missing values of this tree joins {joined} conditions, and"
            f" {dialect.name} takes {dialect.limits.tests}: {INSTEAD}"
        )
    low, high = _range(tree)
    if high > LARGEST:
        raise TargetError(f"a sum of this tree may be beyond all doubles: {INSTEAD}")
    if low < LEAST and sums.traps_underflow:
        raise TargetError(
            f"a sum of this tree may be smaller than {dialect.name} takes: {INSTEAD}"
        )


def _range(tree: Tree) -> tuple[float, float]:
    """Bounds of what is added up: the least that is not zero, and the greatest.

    Differences of numbers with different signs are not looked at.
    """
    least: list[list[float]] = [[]] * len(tree.nodes)  # that is not zero, by label
    may_be_zero: list[list[bool]] = [[]] * len(tree.nodes)
    low, high, weight = 1.0, 0.0, 0.0
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if not isinstance(node, Split):
            least[position] = [abs(share) for share in certain(node)]
            may_be_zero[position] = [not share for share in least[position]]
            high = max(high, *least[position])
            continue
        total = _total(node)
        weight = max(weight, total)
        least[position], may_be_zero[position] = [], []
        for place in range(len(least[node.branches[0].then])):
            values = [least[b.then][place] for b in node.branches]
            zeros = [may_be_zero[b.then][place] for b in node.branches]
            products = [
                b.weight * v for b, v in zip(node.branches, values, strict=True)
            ]
            some = [p for p, b in zip(products, node.branches, strict=True) if b.weight]
            # What is there in any case is a bound of the sum, else what may be there.
            sure = [
                p for p, zero in zip(products, zeros, strict=True) if p and not zero
            ]
            divided = max(sure) if sure else min(filter(None, some), default=0.0)
            low = min(low, *filter(None, some), *filter(None, (divided / total,)), 1.0)
            known = [*filter(None, values), *filter(None, (divided / total,))]
            least[position].append(min(known, default=0.0))
            may_be_zero[position].append(any(zeros))
    return low, high * weight


def _total(split: Split) -> float:
    """The weights, added up in the order of the law."""
    total = 0.0
    for branch in split.branches:
        total += branch.weight
    return total


# ---------------------------------------------------------------- stages


@dataclass(slots=True)
class Part:
    """A node that is about to be written: its value for each label."""

    texts: list[str]
    depth: int  # sums within one another
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
                waiting[position] = Part(texts, 0, 1)
                continue
            below = []
            for branch in node.branches:
                part = waiting.pop(branch.then)
                if part.depth >= self.dialect.sums.depth:
                    kept[branch.then] = part
                    texts = [self.value(branch.then, p) for p in range(self.values)]
                    part = Part(texts, 0, part.stage + 1, {branch.then})
                below.append(part)
            waiting[position] = self.sum(node, below)
        kept[0] = waiting[0]
        return kept

    def sum(self, split: Split, below: Sequence[Part]) -> Part:
        where = split.branches[0].when.feature
        x = self.column(where)
        double = self.spelling.double
        amounts = [
            f"CASE WHEN {x} IS NULL THEN {double(branch.weight)}"
            f" WHEN {self.test(branch, x)} THEN {self.one} ELSE {self.zero} END"
            for branch in split.branches
        ]
        total = (
            f"CASE WHEN {x} IS NULL THEN {double(_total(split))} ELSE {self.one} END"
        )
        texts = []
        for place in range(self.values):
            terms = [
                f"\n+ {amount} * {part.texts[place]}".replace("\n", "\n  ")
                for amount, part in zip(amounts, below, strict=True)
            ]
            texts.append(f"(({self.zero}{''.join(terms)}\n) / {total})")
        return Part(
            texts,
            1 + max(part.depth for part in below),
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
        return " ".join(_first_greatest(shares, results))


def _first_greatest(shares: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    """The result of the greatest share, of the first at a tie."""
    if len(shares) == 1:
        yield results[0]
        return
    yield "CASE"
    for place, share in enumerate(shares[:-1]):
        # That some share before it is as great has been ruled out by then.
        tests = (f"{share} >= {other}" for other in shares[place + 1 :])
        yield f"WHEN {' AND '.join(tests)} THEN {results[place]}"
    yield f"ELSE {results[-1]} END"


def free_prefix(columns: Iterable[str], dialect: Dialect) -> str:
    """What to put in front of our columns, so that none is called like one read."""
    quote = dialect.names.quote
    names = [name.strip(quote).casefold() for name in columns]
    prefix = ""
    while any(re.match(rf"{prefix}[xv]\d", name) for name in names):
        prefix += "tc_"
    return prefix
