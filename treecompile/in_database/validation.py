"""Rows that did not grow a tree, in a table or a file: to prune by, to measure on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from treecompile import quality
from treecompile.errors import DataError, OptionError
from treecompile.in_database.evaluate import Counter, evaluate
from treecompile.in_database.places import Place, is_many_files, open_files
from treecompile.in_database.reading import ColumnReader, reading
from treecompile.ir import Label, Program, Tree
from treecompile.learners.held_out import counted_losses, node_losses
from treecompile.lower.sql_names import Quoting
from treecompile.quality import Evaluation, read_cases
from treecompile.read import Table, read_table
from treecompile.semantics import is_fractional
from treecompile.stores.base import Store

DIVIDES = (
    "--prune reduced-error: a tree that divides missing values is pruned by rows in"
    " memory: give them in a file that is not Parquet, or leave --predict-missing out"
)


class Validation(Protocol):
    def check(self, target: str, labels: Sequence[Label], divides: bool) -> None:
        """Refuse what cannot be pruned or measured, before a tree is grown for it.

        `divides` says that a tree is to be pruned that divides missing values.
        """

    def losses(self, program: Program) -> list[float]:
        """What each node of a tree, as a leaf, gets wrong on the rows."""

    def evaluation(self, program: Program) -> Evaluation:
        """How good a program is on the rows."""


@dataclass(frozen=True, slots=True)
class InTable:
    """Rows in a database."""

    store: Store
    relation: str  # what stands behind FROM
    source: str  # as messages call it

    def check(self, target: str, labels: Sequence[Label], divides: bool) -> None:
        if divides:
            raise OptionError(DIVIDES)
        with _named():
            y = ColumnReader(self.store, self.relation, ()).answer(target, labels)
            known = f"y >= 0 AND y < {len(labels)}" if labels else "y IS NOT NULL"
            (found,) = self.store.arrays(
                f"SELECT 1 FROM (SELECT {y} AS y FROM {self.relation})"
                f" AS treecompile_answers WHERE {known} LIMIT 1"
            )
            if not len(found):
                raise no_known_answer(target, labels, self.source)

    def losses(self, program: Program) -> list[float]:
        tree = program.body
        assert isinstance(tree, Tree)
        if is_fractional(tree):
            raise OptionError(DIVIDES)
        with _named():
            read = reading(self.store, self.relation, program)
            return counted_losses(tree, Counter(self.store, read, tree).by_leaf())

    def evaluation(self, program: Program) -> Evaluation:
        with _named():
            found = evaluate(self.store, self.relation, program)
            return with_a_row(found, program, self.source)


@dataclass(frozen=True, slots=True)
class InMemory:
    """Rows of a file."""

    table: Table

    def check(self, target: str, labels: Sequence[Label], divides: bool) -> None:
        with _named():
            self.table.column(target)

    def losses(self, program: Program) -> list[float]:
        tree = program.body
        assert isinstance(tree, Tree)
        with _named():
            cases = read_cases(program, self.table)
        return node_losses(tree, cases.columns, cases.y, None)

    def evaluation(self, program: Program) -> Evaluation:
        with _named():
            cases = read_cases(program, self.table)
        return quality.evaluate(program.body, cases.columns, cases.y)


def in_the_same(there: Place, table: str) -> InTable:
    """Another table of the same database."""
    relation = Quoting(there.store.dialect).path("--validation-table", table)
    return InTable(there.store, relation, table)


@contextmanager
def validation_of(
    there: Place, file: str | None, table: str
) -> Iterator[Validation | None]:
    """The rows that a user names: a table beside that of the place, or files.

    Parquet files are read by DuckDB, others into memory.
    """
    if file and table:
        raise OptionError("give --validation or --validation-table, not both")
    if table:
        if there.is_files:
            raise OptionError(
                "--validation-table is a table of the database that --from names: use"
                " --validation with files"
            )
        yield in_the_same(there, table)
    elif file and (is_many_files(file) or file.lower().endswith(".parquet")):
        with open_files(file) as other:
            yield InTable(other.store, other.relation, other.source)
    elif file:
        yield InMemory(read_table(file))
    else:
        yield None


@contextmanager
def _named() -> Iterator[None]:
    """Errors of the data say which data."""
    try:
        yield
    except DataError as error:
        raise DataError(f"validation: {error}") from error


def with_validation(program: Program, validation: Validation) -> Program:
    """The program with what it does on the rows that did not grow it."""
    assert program.training is not None
    found = validation.evaluation(program)
    summary = replace(
        program.training, validation=found.quality, validation_rules=found.tallies
    )
    return replace(program, training=summary)


def with_a_row(found: Evaluation, program: Program, source: str) -> Evaluation:
    """The same, if some row has an answer that the model knows."""
    if sum(tally.decided for tally in found.tallies):
        return found
    raise no_known_answer(program.target, program.body.labels, source)


def no_known_answer(target: str, labels: Sequence[Label], source: str) -> DataError:
    known = f"a label of the model ({labels[0]!r}, ...)" if labels else "numbers"
    return DataError(f"no row has a known {target!r} in {source}: expected {known}")
