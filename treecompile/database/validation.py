"""Provides validation rows for a tree grown in a database, to prune by and measure on.

The rows are in a database (`ValidationInDatabase`) or in memory (`ValidationInMemory`);
`validation_of` opens whichever the user named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecompile.database.evaluate import RuleCounter, evaluate
from treecompile.database.locations import (
    ParquetFiles,
    Table,
    TableLocation,
    in_database,
    open_location,
)
from treecompile.database.model_rows import ColumnReader, is_known, rows_for_model
from treecompile.emit.sql.text import Quoting
from treecompile.learning.held_out import counted_losses, node_losses
from treecompile.measure import quality
from treecompile.measure.quality import Evaluation, no_known_answer, read_cases
from treecompile.model.errors import DataError
from treecompile.model.ir import Label, Program, Tree
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table


@dataclass(frozen=True, slots=True)
class ValidationInDatabase:
    location: TableLocation

    def check(self, target: str, labels: Sequence[Label]) -> None:
        """Raise, before a tree is grown, any error that can be known by then."""
        store, relation = self.location.store, self.location.relation
        with _named():
            y = ColumnReader(store, relation, ()).answer(target, labels)
            (found,) = store.arrays(
                f"SELECT 1 FROM (SELECT {y} AS y FROM {relation})"
                f" AS treecompile_answers WHERE {is_known(labels)} LIMIT 1"
            )
            if not len(found):
                raise no_known_answer(target, labels, self.location.source)

    def losses(self, program: Program) -> list[float]:
        """Return the loss on the rows at each node of a tree, if it were a leaf."""
        tree = program.body
        assert isinstance(tree, Tree)
        store = self.location.store
        with _named():
            read = rows_for_model(store, self.location.relation, program)
            return counted_losses(tree, RuleCounter(store, read, tree).decided().actual)

    def evaluation(self, program: Program) -> Evaluation:
        """Measure a program on the rows."""
        with _named():
            found = evaluate(self.location.store, self.location.relation, program)
            if not any(tally.decided for tally in found.tallies):
                labels, source = program.body.labels, self.location.source
                raise no_known_answer(program.target, labels, source)
        return found


@dataclass(frozen=True, slots=True)
class ValidationInMemory:
    """Validation rows in memory, with the methods of `ValidationInDatabase`."""

    table: RawTable

    def check(self, target: str, labels: Sequence[Label]) -> None:
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


Validation = ValidationInDatabase | ValidationInMemory


def validation_table(location: TableLocation, name: str) -> ValidationInDatabase:
    """Return the validation rows in another table of the same database."""
    relation = Quoting(location.store.dialect).path("validation_table", name)
    return ValidationInDatabase(TableLocation(relation, name, location.store))


@contextmanager
def validation_of(
    location: TableLocation,
    validation: Any,
    data: Table | ParquetFiles | None = None,
    reading: ReadOptions = ReadOptions(),
) -> Iterator[Validation | None]:
    """Open the validation rows: a table, or anything that `read_table` takes.

    A table in the database of `data` is read through its open connection. DuckDB
    queries Parquet files; other files are read into memory.
    """
    is_path = isinstance(validation, (str, Path))
    other = in_database(validation)
    if is_path and Path(validation).suffix.lower() == ".parquet":
        other = ParquetFiles(str(validation))
    if validation is None:
        yield None
    elif other is None:
        yield ValidationInMemory(read_table(validation, reading))
    elif (
        isinstance(data, Table)
        and isinstance(other, Table)
        and other.source == data.source
    ):
        yield validation_table(location, other.name)
    else:
        with open_location(other) as opened:
            yield ValidationInDatabase(opened)


@contextmanager
def _named() -> Iterator[None]:
    """Prefix data errors, to say that they are in the validation data."""
    try:
        yield
    except DataError as error:
        raise DataError(f"validation: {error}") from error
