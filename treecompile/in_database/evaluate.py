"""How good a model is on a table in a database, as `quality` measures one in memory.

The SQL that we emit says which rule decides each row, and the database counts the rows
of each rule by their actual answers. For labels the counts are those of memory; sums of
errors differ by the rounding of their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from treecompile.errors import DataError
from treecompile.extract import outcomes
from treecompile.in_database.reading import MISSING, Reading, reading
from treecompile.ir import (
    Body,
    ClassQuality,
    Leaf,
    MissingPolicy,
    Program,
    Quality,
    Rule,
    RuleSet,
    RuleTally,
    Tree,
    ValueQuality,
)
from treecompile.literals import DOUBLES
from treecompile.lower import EmitOptions
from treecompile.lower.sql import check_values, expressions
from treecompile.lower.sql_conditions import Conditions
from treecompile.quality import Evaluation, summed_up
from treecompile.semantics import is_fractional
from treecompile.stores.base import Store

Doubles = NDArray[np.float64]

AT_ONCE = 40  # rules that one query counts
PLAIN = EmitOptions(comments=False)


def evaluate(
    store: Store, relation: str, program: Program, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table; `relation` is what stands behind FROM."""
    check_values(program.body, store.dialect)
    counter = Counter(store, reading(store, relation, program, na_values), program.body)
    found = counter.labels() if program.body.labels else counter.numbers()
    if not found.known + found.unknown:
        raise DataError("there is no row to evaluate on")
    counted = tuple(counter.tallies(found))
    return summed_up(program.body, found.quality, counted, found.unknown)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What all rows come to, and those that each rule decides."""

    quality: Quality
    known: int
    unknown: int
    decided: Mapping[int, tuple[int, float]]  # by position: rows and their errors


class Counter:
    """Asks for counts; the client never sees a row."""

    def __init__(self, store: Store, read: Reading, body: Body) -> None:
        self.store, self.read, self.body = store, read, body
        self.dialect = store.dialect
        self.rows = f"({read.query}) AS treecompile_read"

    # ------------------------------------------------------------ what decides

    def decided_rows(self) -> str:
        """A query for `d`, the position of what decides a row, `p` and `y`.

        `p` is the answer as `y` has it, where `d` alone does not say it.
        """
        columns = [f"{self._case(numbered(self.body))} AS d", "y"]
        if not self.body.labels or is_fractional(self.body):
            columns.append(f"{self._case(with_codes(self.body))} AS p")
        return f"(SELECT {', '.join(columns)} FROM {self.rows}) AS treecompile_decided"

    def _case(self, body: Body) -> str:
        made = expressions(body, self.dialect, self.read.columns, PLAIN)
        (lines,) = made.values()
        return "\n".join(lines)

    # ------------------------------------------------------------ labels

    def labels(self) -> Found:
        size = len(self.body.labels)
        confusion = np.zeros((size, size), np.int64)  # actual by predicted
        decided: dict[int, tuple[int, float]] = {}
        unknown = 0
        for where, said, actual, count in self._answers():
            if actual == MISSING or actual >= size:
                unknown += count
                continue
            confusion[actual, said] += count
            rows, errors = decided.get(where, (0, 0.0))
            decided[where] = rows + count, errors + (count if actual != said else 0.0)
        lines = tuple(tuple(map(int, line)) for line in confusion)
        return Found(ClassQuality(lines), int(confusion.sum()), unknown, decided)

    def _answers(self) -> Iterator[tuple[int, int, int, int]]:
        """What decides, the label it says, the actual one, and how many rows so."""
        body = self.body
        key = "d, p, y" if is_fractional(body) else "d, y"
        *keys, counts = self._whole(
            f"SELECT {key}, count(*) FROM {self.decided_rows()} GROUP BY {key}"
        )
        if is_fractional(body):
            said = keys[1]
        else:
            rules = outcomes(body)
            said = [body.labels.index(rules[where].value) for where in keys[0]]
        yield from zip(keys[0], said, keys[-1], counts, strict=True)

    def _whole(self, query: str) -> list[list[int]]:
        return [column.astype(np.int64).tolist() for column in self.store.arrays(query)]

    # ------------------------------------------------------------ numbers

    def numbers(self) -> Found:
        every, known, low, high, mean = (
            column[0]
            for column in self.store.arrays(
                f"SELECT count(*), count(y), min(y), max(y), avg(y) FROM {self.rows}"
            )
        )
        known, unknown = int(known), int(every) - int(known)
        if not known:
            return Found(ValueQuality(0, 0.0, 0.0, None), 0, unknown, {})
        if not isfinite(mean):
            raise DataError("an answer is infinite: correct it, or leave the row out")
        centre = DOUBLES[self.dialect.literals.double](float(mean))
        wheres, counts, squares, sizes, spreads = self.store.arrays(
            "SELECT d, count(*), sum((p - y) * (p - y)), sum(abs(p - y)),"
            f" sum((y - {centre}) * (y - {centre})) FROM {self.decided_rows()}"
            " WHERE y IS NOT NULL GROUP BY d ORDER BY d"
        )
        squared = float(squares.sum())
        spread = float(spreads.sum()) if low < high else 0.0
        quality = ValueQuality(
            rows=known,
            mean_absolute_error=float(sizes.sum()) / known,
            root_mean_squared_error=(squared / known) ** 0.5,
            r_squared=1.0 - squared / spread if spread else None,
        )
        decided = {
            int(where): (int(count), float(square))
            for where, count, square in zip(wheres, counts, squares, strict=True)
        }
        return Found(quality, known, unknown, decided)

    # ------------------------------------------------------------ leaves

    def by_leaf(self) -> dict[int, Doubles]:
        """The rows of each leaf, as `held_out.counted_losses` takes them."""
        size = len(self.body.labels)
        found: dict[int, Doubles] = {}
        if size:
            for where, _, actual, count in self._answers():
                if 0 <= actual < size:
                    found.setdefault(where, np.zeros(size))[actual] += count
            return found
        wheres, *sums = self.store.arrays(
            "SELECT d, count(*), sum(y - p), sum((y - p) * (y - p))"
            f" FROM {self.decided_rows()} WHERE y IS NOT NULL GROUP BY d"
        )
        lines = np.array(sums, np.float64).T
        return {int(where): line for where, line in zip(wheres, lines, strict=True)}

    # ------------------------------------------------------------ rules

    def tallies(self, found: Found) -> Iterator[RuleTally]:
        """What each rule did; those of a tree match the rows that they decide."""
        matched = self.matched() if isinstance(self.body, RuleSet) else {}
        for position in outcomes(self.body):
            own = found.decided.get(position, (0, 0.0))
            yield RuleTally(*matched.get(position, own), *own)

    def matched(self) -> dict[int, tuple[int, float]]:
        """Rows and errors of those that meet the conditions of each rule."""
        assert isinstance(self.body, RuleSet)
        writer = Conditions(self.dialect, self.body, self.read.columns)
        found: dict[int, tuple[int, float]] = {}
        rules = list(enumerate(self.body.rules))
        for start in range(0, len(rules), AT_ONCE):
            some = rules[start : start + AT_ONCE]
            tests = [self._test(rule, writer) for _, rule in some]
            counts = self._matched(tests, [rule for _, rule in some])
            found.update(zip((place for place, _ in some), counts, strict=True))
        return found

    def _test(self, rule: Rule, writer: Conditions) -> str:
        every = self.dialect.conditions.always
        return " AND ".join(map(writer.text, rule.conditions)) or every

    def _matched(
        self, tests: Sequence[str], rules: Sequence[Rule]
    ) -> Iterator[tuple[int, float]]:
        labels = self.body.labels
        asked = [f"count(CASE WHEN {test} THEN 1 END)" for test in tests]
        if labels:
            grouped = f"SELECT y, {', '.join(asked)} FROM {self.rows}"
            actual, *counts = self._whole(f"{grouped} GROUP BY y")
            for rule, by_label in zip(rules, counts, strict=True):
                place = labels.index(rule.value)
                pairs = list(zip(actual, by_label, strict=True))
                rows = sum(n for y, n in pairs if 0 <= y < len(labels))
                right = sum(n for y, n in pairs if y == place)
                yield rows, float(rows - right)
            return
        double = DOUBLES[self.dialect.literals.double]
        for test, rule in zip(tests, rules, strict=True):
            assert isinstance(rule.value, float)
            off = f"(y - {double(rule.value + 0.0)})"
            asked.append(f"sum(CASE WHEN {test} THEN {off} * {off} END)")
        found = self.store.arrays(
            f"SELECT {', '.join(asked)} FROM {self.rows} WHERE y IS NOT NULL"
        )
        half = len(rules)
        for count, square in zip(found[:half], found[half:], strict=True):
            rows = int(count[0])
            yield rows, float(square[0]) if rows else 0.0


def numbered(body: Body) -> Body:
    """A body that answers with the position of what decides.

    A row that a tree would divide goes where the conditions lead.
    """
    if isinstance(body, RuleSet):
        rules = tuple(replace(r, value=place) for place, r in enumerate(body.rules))
        default = replace(body.default, value=len(rules))
        return replace(body, labels=(), rules=rules, default=default)
    nodes = tuple(
        replace(node, value=position) if isinstance(node, Leaf) else node
        for position, node in enumerate(body.nodes)
    )
    return replace(body, labels=(), nodes=nodes, missing=MissingPolicy.BRANCH)


def with_codes(body: Body) -> Body:
    """A tree whose labels are their places; other bodies as they are."""
    if not isinstance(body, Tree) or not body.labels:
        return body
    nodes = tuple(
        (
            replace(node, value=body.labels.index(node.value))
            if isinstance(node, Leaf)
            else node
        )
        for node in body.nodes
    )
    return replace(body, labels=tuple(range(len(body.labels))), nodes=nodes)
