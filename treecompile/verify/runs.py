"""The runs of one verification: which rows, in columns of which types.

First the rows that cover the model, as doubles. Then columns of every other type of
number that the engine has, with the values of that type beside each threshold, and
columns of text that compares loosely: there a missing cast or collation shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from treecompile.compiler import emit
from treecompile.divide import divisible
from treecompile.ir import Body, Program, Row, ValueType
from treecompile.literals import BACKSLASHED
from treecompile.lower import EmitOptions
from treecompile.semantics import required_features
from treecompile.targets import Dialect, read_dialect
from treecompile.verify import constants, number_types
from treecompile.verify.axes import DOUBLES, Constants, Numbers
from treecompile.verify.cells import Trial, trial
from treecompile.verify.engines import NEEDS_NUMPY, Database, run_python, run_sql

PYTHON = "python"
TYPED_BUDGET = 10_000  # rows for each other type of number: the edges, not all cells

Run = tuple[Sequence[Row], list[Any]]  # rows, and what the engine answers to each


@dataclass(frozen=True, slots=True)
class Task:
    program: Program
    body: Body  # whose cells are entered
    text: str
    engine: str
    url: str
    options: EmitOptions
    budget: int
    seed: int
    answer: Callable[[int], object]  # what is compared, by the position that decides
    added: Constants  # what the text has beside the constants of the model

    def trial(self, numbers: Numbers = DOUBLES, most: int | None = None) -> Trial:
        budget = self.budget if most is None else min(self.budget, most)
        return trial(
            self.body,
            self.added,
            budget,
            self.seed,
            answer=self.answer,
            numbers=numbers,
            scattered=divisible(self.program.body),
        )

    def runs(self, tries: Trial) -> Iterator[Run]:
        return self.python(tries) if self.engine == PYTHON else self.sql(tries)

    def types_tested(self) -> set[ValueType]:
        features = self.program.body.features
        return {features[p].type for p in required_features(self.program.body)}

    def typed(self, numbers: Numbers) -> tuple[Row, ...]:
        return self.trial(numbers, TYPED_BUDGET).rows

    def python(self, tries: Trial) -> Iterator[Run]:
        rows = tries.rows
        if ValueType.FLOAT in self.types_tested():
            rows += self.typed(number_types.INTEGERS)
        yield rows, run_python(self.text, self.program.body.features, rows)

    def sql(self, tries: Trial) -> Iterator[Run]:
        database = Database.named(self.engine, self.url)
        # A column that no test reads need not have a name that the database can hold.
        required = required_features(self.program.body)
        needed = [self.program.body.features[position] for position in required]

        def run(rows: Sequence[Row], number_type: str = "", text_type: str = "") -> Run:
            rows = [row for row in rows if can_hold(database.dialect, row)]
            cut = [tuple(row[position] for position in required) for row in rows]
            columns = self.options.columns
            outputs = self.options.output.count(",") + 1
            return rows, run_sql(
                self.text,
                needed,
                cut,
                database,
                columns,
                number_type,
                text_type,
                outputs,
                self.options.alias,
            )

        yield run(tries.rows)
        types = self.types_tested()
        if ValueType.FLOAT in types:
            for name, numbers in number_types.of_dialect(database.dialect.number_types):
                yield run(self.typed(numbers), number_type=name)
        if ValueType.STR in types:
            for name in database.dialect.text_types.loose:
                yield run(tries.rows, text_type=name)


def can_hold(dialect: Dialect, row: Row) -> bool:
    """Whether a table there can have such a row."""
    for value in row:
        if isinstance(value, float) and isinf(value) and not dialect.values.infinity:
            return False
        if isinstance(value, str) and "\0" in value and not dialect.values.nul:
            return False
        if value == "" and not dialect.values.empty_text:
            return False
    return True


def added(program: Program, text: str, engine: str, options: EmitOptions) -> Constants:
    """The constants that somebody put into an artefact beside ours."""
    if engine != PYTHON:
        escapes = read_dialect(engine).literals.string in BACKSLASHED
        original = constants.in_sql(emit(program, "sql", options).text, escapes)
        return constants.added(constants.in_sql(text, escapes), original)
    try:
        found = constants.in_python(text)
    except SyntaxError:  # the engine will say so, with the place
        return Constants()
    style = "numpy" if NEEDS_NUMPY in text else "standard"
    fresh = emit(program, "python", EmitOptions(style=style)).text
    return constants.added(found, constants.in_python(fresh))
