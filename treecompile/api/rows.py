"""What works on rows: in memory, or in the database that holds them.

Every verb decides this here, by `in_database`. Commands and methods call these
functions; what they show while they work goes through `Feedback`. What is heavy is
imported where it is used, so that a command on a small file starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from treecompile.database.locations import (
    ParquetFiles,
    Table,
    in_database,
    open_location,
    too_large,
)
from treecompile.learning.options import LearnOptions
from treecompile.measure.quality import Evaluation, evaluate_on
from treecompile.model.errors import OptionError
from treecompile.model.ir import AnyProgram, ForestProgram, NotedProgram, Program
from treecompile.rules.pruning import Start, prune, silent
from treecompile.tables.options import DataOptions, ReadOptions
from treecompile.tables.read import FORMAT, Source, read_table, refuse_format

if TYPE_CHECKING:

    from treecompile.database.learn import OnLevel
    from treecompile.learning.training import Learned

Data: TypeAlias = "Source | Table | ParquetFiles"


class Feedback(Protocol):
    """Hears what a verb says while it works."""

    def tell(self, *lines: str) -> None:
        """Something that a user should know now."""
        return

    def notes(self, notes: Iterable[str]) -> None:
        """What a user should know about the result."""
        return

    def learned(self, result: Learned) -> None:
        """A tree has been learned."""
        return

    def made(self, program: Program, seconds: float) -> None:
        """The model is finished and measured."""
        return

    @contextmanager
    def progress(self, label: str) -> Iterator[Start]:
        """A progress bar."""
        yield silent

    @contextmanager
    def levels(self, max_depth: int | None) -> Iterator[tuple[Start, OnLevel]]:
        """A progress bar for a tree that grows in a database, level by level.

        The first function is called with the number of rows, the second at each level.
        """
        yield silent, lambda level: None


class Silent(Feedback):
    pass


def in_memory(data: Data, verb: str) -> Source:
    """The same data, unless it stays in a database."""
    if isinstance(data, (Table, ParquetFiles)):
        raise OptionError(
            f"{verb} needs the rows in memory, not a Table or many files: use one file"
        )
    return data


def learn_from(
    data: Data,
    columns: DataOptions,
    options: LearnOptions,
    validation: Data | None = None,
    feedback: Feedback = Silent(),
    *,
    for_labels: str = "",
) -> Learned:
    """Learn a tree; `for_labels` is an option that is refused for a number."""
    place = in_database(data)
    if place is None and (found := too_large(data)):
        place, note = found
        feedback.notes([note])
    if place is not None:
        from treecompile.database.learn import learn
        from treecompile.database.validation import validation_of

        with (
            open_location(place) as table,
            validation_of(table, validation, place, columns) as held_out,
            feedback.levels(options.max_depth) as (start, on_level),
        ):
            learned = learn(
                table.store,
                table.relation,
                columns,
                options,
                table.source,
                start,
                held_out,
                on_level,
            )
    elif isinstance(validation, Table):
        raise OptionError(
            "the validation rows are a Table, and the rows to learn from are not: use"
            " a Table for both, or a file for both"
        )
    else:
        from treecompile.learning import training

        rows = None if validation is None else in_memory(validation, "learn")
        with feedback.progress("learning") as start:
            learned = training.learn(
                in_memory(data, "learn"), columns, options, rows, start, for_labels
            )
    feedback.learned(learned)
    return learned


def prune_rules(
    program: Program,
    how: str,
    data: Data,
    reading: ReadOptions = ReadOptions(),
    feedback: Feedback = Silent(),
) -> NotedProgram:
    """Prune the rules of a program; `how` is VALIDATION or C45RULES."""
    source = in_memory(in_database(data) or data, "prune")
    with feedback.progress("pruning") as start:
        return prune(program, how, source, reading, start)


def evaluate(
    program: AnyProgram,
    data: Data,
    reading: ReadOptions = ReadOptions(),
    feedback: Feedback = Silent(),
) -> Evaluation:
    place, na_values = in_database(data), reading.na_values
    if place is None:
        table = read_table(in_memory(data, "evaluate"), reading)
        feedback.notes(table.notes)
        return evaluate_on(program, table, na_values)
    from treecompile.database import evaluate as in_a_database

    refuse_format(reading, "a database", FORMAT)
    if isinstance(program, ForestProgram):
        raise OptionError(
            "evaluate needs the rows of a forest in memory: use a file or a DataFrame,"
            " or count the predictions in a new table"
        )
    with open_location(place) as there:
        return in_a_database.evaluate(there.store, there.relation, program, na_values)


def score(
    program: AnyProgram,
    data: Data,
    into: str,
    output: str,
    label: str,
    how: ReadOptions,
) -> tuple[str, ...]:
    """Predict in the database, into a new table; the result is notes for the user."""
    place = in_database(data)
    if place is None:
        raise OptionError(
            "only a table in a database, or many Parquet files (a folder or a pattern),"
            " is predicted into a new table: for one file or a DataFrame, use predict"
        )
    from treecompile.database import score as in_a_database

    refuse_format(how, "a database", FORMAT)
    with open_location(place, writes=True) as table:
        return in_a_database.score(program, table, into, output, label, how.na_values)
