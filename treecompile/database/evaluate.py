"""Measures a model on a table in a database; `measure.quality` does so in memory.

A query made of the emitted SQL says which rule or leaf decides each row, and the
database counts the rows of each rule by their actual answers. Counts of labels equal
those in memory; sums of errors may differ in rounding, because rows are added in
another order.

A place is a key of `paths.outcomes`: the position of a rule or a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite

import numpy as np

from treecompile.database.model_rows import MISSING, ModelRows, rows_for_model
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.checks import check_values
from treecompile.emit.sql.lower import expression_texts
from treecompile.emit.sql.text import ConditionWriter, literal
from treecompile.engines.base import Store
from treecompile.measure.quality import (
    Evaluation,
    nothing_to_evaluate,
    quality_of_counts,
    quality_of_sums,
    summed_up,
)
from treecompile.model import ir
from treecompile.model.errors import DataError
from treecompile.model.paths import outcomes

RowsAndErrors = tuple[int, float]  # the number of rows, and the sum of their errors

AT_ONCE = 40  # rules per query
PLAIN = EmitOptions(comments=False)


def evaluate(
    store: Store, relation: str, program: ir.Program, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table; `relation` is the text that follows FROM."""
    check_values(program.body, store.dialect)
    rows = rows_for_model(store, relation, program, na_values)
    counter = RuleCounter(store, rows, program.body)
    found = counter.decided()
    if not found.decided and not found.unknown:
        raise nothing_to_evaluate()
    tallies = tuple(counter.tallies(found))
    return summed_up(program.body, found.quality, tallies, found.unknown)


@dataclass(frozen=True, slots=True, eq=False)
class DecidedRows:
    """Counts of the rows of a table, by the rule that decides each row."""

    quality: ir.Quality
    unknown: int  # rows whose answer is missing, or a label never learned
    decided: Mapping[int, RowsAndErrors]  # by place
    actual: Mapping[int, ir.Stats]  # the actual answers of those rows, by place


class RuleCounter:
    """Counts, in the database, the rows that each rule decides and matches."""

    def __init__(self, store: Store, read: ModelRows, body: ir.Body) -> None:
        self.store, self.read, self.body = store, read, body
        self.dialect = store.dialect
        self.rows = read.rows

    def decided_rows(self) -> str:
        """Return a query for `d`, the position that decides a row, and its answer `y`.

        `y` is the actual answer. The query also returns the predicted answer, as `p`,
        if it is a number.
        """
        columns = [f"{self._case(numbered(self.body))} AS d", "y"]
        if not self.body.labels:
            columns.append(f"{self._case(self.body)} AS p")
        return f"(SELECT {', '.join(columns)} FROM {self.rows}) AS treecompile_decided"

    def _case(self, body: ir.Body) -> str:
        made = expression_texts(body, self.dialect, self.read.columns, PLAIN)
        (text,) = made.values()
        return text

    # ------------------------------------------------------------ labels

    def labels(self) -> DecidedRows:
        size = len(self.body.labels)
        confusion = np.zeros((size, size), np.int64)  # actual by predicted
        decided: dict[int, RowsAndErrors] = {}
        counts: dict[int, list[float]] = {}
        unknown = 0
        for position, predicted, actual, count in self._answers():
            if actual == MISSING or actual >= size:
                unknown += count
                continue
            confusion[actual, predicted] += count
            rows, errors = decided.get(position, (0, 0.0))
            errors += count if actual != predicted else 0.0
            decided[position] = rows + count, errors
            counts.setdefault(position, [0.0] * size)[actual] += count
        known = {place: ir.ClassCounts(tuple(own)) for place, own in counts.items()}
        return DecidedRows(quality_of_counts(confusion), unknown, decided, known)

    def _answers(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield (place, predicted code, actual code, number of such rows)."""
        places, actual, counts = self._integers(
            f"SELECT d, y, count(*) FROM {self.decided_rows()} GROUP BY d, y"
        )
        body, rules = self.body, outcomes(self.body)
        predicted = [body.labels.index(rules[place].value) for place in places]
        yield from zip(places, predicted, actual, counts, strict=True)

    def _integers(self, query: str) -> list[list[int]]:
        return [column.astype(np.int64).tolist() for column in self.store.arrays(query)]

    # ------------------------------------------------------------ numbers

    def numbers(self) -> DecidedRows:
        every, known, low, high, mean = (
            column[0]
            for column in self.store.arrays(
                f"SELECT count(*), count(y), min(y), max(y), avg(y) FROM {self.rows}"
            )
        )
        known, unknown = int(known), int(every) - int(known)
        if not known:
            return DecidedRows(quality_of_sums(0, 0.0, 0.0, 0.0), unknown, {}, {})
        if not isfinite(mean):
            raise DataError("an answer is infinite: correct it, or leave the row out")
        distance = f"(y - {literal(float(mean), self.dialect)})"
        positions, *sums = self.store.arrays(
            "SELECT d, count(*), sum((p - y) * (p - y)), sum(abs(p - y)), sum(y - p),"
            f" sum({distance} * {distance})"
            f" FROM {self.decided_rows()} WHERE {self.read.known} GROUP BY d ORDER BY d"
        )
        lines = np.array(sums, np.float64).T
        _, squared, absolute, _, spread = map(float, lines.sum(axis=0))
        quality = quality_of_sums(known, absolute, squared, spread * (low < high))
        rules = outcomes(self.body)
        decided, actual = {}, {}
        for place, line in zip(map(int, positions), lines, strict=True):
            count, square, _, off, _ = map(float, line)
            decided[place] = int(count), square
            actual[place] = _moments(count, float(rules[place].value), off, square)
        return DecidedRows(quality, unknown, decided, actual)

    def decided(self) -> DecidedRows:
        return self.labels() if self.body.labels else self.numbers()

    # ------------------------------------------------------------ rules

    def tallies(self, found: DecidedRows) -> Iterator[ir.RuleTally]:
        """Yield what each rule matched and decided; for a leaf, both are the same."""
        rules = self.body.rules if isinstance(self.body, ir.RuleSet) else ()
        matched: dict[int, RowsAndErrors] = {}
        for start in range(0, len(rules), AT_ONCE):
            some = rules[start : start + AT_ONCE]
            matched.update(enumerate(self._matched(some), start))
        for position in outcomes(self.body):
            own = found.decided.get(position, (0, 0.0))
            known = found.actual.get(position)
            yield ir.RuleTally(*matched.get(position, own), *own, known)

    def _matched(self, rules: Sequence[ir.Rule]) -> Iterator[RowsAndErrors]:
        """Yield the rows that meet the conditions of each rule, and their errors."""
        writer = ConditionWriter(self.dialect, self.body, self.read.columns)
        tests = [
            " AND ".join(map(writer.condition, r.conditions)) or "1 = 1" for r in rules
        ]
        asked = [f"count(CASE WHEN {test} THEN 1 END)" for test in tests]
        labels = self.body.labels
        if labels:
            query = f"SELECT y, {', '.join(asked)} FROM {self.rows} GROUP BY y"
            actual, *counts = self._integers(query)
            for rule, by_label in zip(rules, counts, strict=True):
                of = dict(zip(actual, by_label, strict=True))
                rows = sum(of.get(code, 0) for code in range(len(labels)))
                yield rows, float(rows - of.get(labels.index(rule.value), 0))
            return
        for test, rule in zip(tests, rules, strict=True):
            assert isinstance(rule.value, float)
            off = f"(y - {literal(rule.value, self.dialect)})"
            asked.append(f"sum(CASE WHEN {test} THEN {off} * {off} END)")
        found = self.store.arrays(
            f"SELECT {', '.join(asked)} FROM {self.rows} WHERE {self.read.known}"
        )
        half = len(rules)
        for count, square in zip(found[:half], found[half:], strict=True):
            rows = int(count[0])
            yield rows, float(square[0]) if rows else 0.0


def _moments(count: float, origin: float, off: float, squares: float) -> ir.Moments:
    """Return moments from the sums of distances from an origin and of their squares."""
    mean = origin + off / count
    return ir.Moments(count, mean, max(0.0, squares - off * (off / count)))


def numbered(body: ir.Body) -> ir.Body:
    """Return a body that answers with the position of the deciding leaf or rule."""
    if isinstance(body, ir.RuleSet):
        rules = tuple(replace(r, value=n) for n, r in enumerate(body.rules))
        default = replace(body.default, value=len(rules))
        return replace(body, labels=(), rules=rules, default=default)
    nodes = (
        replace(node, value=position) if isinstance(node, ir.Leaf) else node
        for position, node in enumerate(body.nodes)
    )
    return replace(body, labels=(), nodes=tuple(nodes))


# ---------------------------------------------------------------- what leaves hold


def counted_labels(tree: ir.Tree) -> Evaluation:
    """Evaluate a tree for labels from the counts at its leaves, without a query."""
    size = len(tree.labels)
    confusion = np.zeros((size, size), np.int64)  # actual by predicted
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, ir.ClassCounts)
        # A leaf without cases has the counts of the node above.
        counts = np.array(rule.stats.weights) if rule.weight else np.zeros(size)
        answer = tree.labels.index(rule.value)
        confusion[:, answer] += counts.astype(np.int64)
        rows, wrong = int(counts.sum()), float(counts.sum() - counts[answer])
        known = rule.stats if rows else None
        tallies.append(ir.RuleTally(rows, wrong, rows, wrong, known))
    return summed_up(tree, quality_of_counts(confusion), tallies, 0)


def summed_numbers(
    tree: ir.Tree, grown: ir.Tree, distances: Sequence[float]
) -> Evaluation:
    """Evaluate a tree for numbers, pruned from `grown`, without a query.

    `distances` has, for each node of `grown`, the sum of the distances of its rows from
    their mean.
    """
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, ir.Moments)
        rows, errors = int(rule.stats.weight), rule.stats.sse or 0.0
        tallies.append(ir.RuleTally(rows, errors, rows, errors, rule.stats))
    root = tree.nodes[0].stats
    assert isinstance(root, ir.Moments)
    count = int(root.weight)
    squared = fsum(tally.errors for tally in tallies)
    absolute = fsum(map(distances.__getitem__, _leaves(tree, grown)))
    quality = quality_of_sums(count, absolute, squared, root.sse or 0.0)
    return summed_up(tree, quality, tallies, 0)


def _leaves(tree: ir.Tree, grown: ir.Tree) -> list[int]:
    """Return the positions in `grown` of the leaves of `tree`, its pruned form."""
    found, stack = [], [(0, 0)]
    while stack:
        position, place = stack.pop()
        node, origin = tree.nodes[position], grown.nodes[place]
        if isinstance(node, ir.Split):
            assert isinstance(origin, ir.Split)
            pairs = zip(node.branches, origin.branches, strict=True)
            stack += [(one.then, other.then) for one, other in pairs]
        else:
            found.append(place)
    return found
