"""Predict for a table in its database, into a new table there, by the SQL we emit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from treecompile.errors import DataError, EngineError, OptionError
from treecompile.extract import outcomes
from treecompile.in_database.places import Place
from treecompile.in_database.reading import ColumnReader
from treecompile.ir import Program
from treecompile.literals import duckdb_string
from treecompile.lower import EmitOptions
from treecompile.lower.sql import check_values, expressions, size_warnings
from treecompile.lower.sql_forms import SELECT
from treecompile.lower.sql_names import Quoting
from treecompile.retree import note

PARQUET = ".parquet"


def score(
    program: Program,
    there: Place,
    into: str,
    output: str = "label",
    label: str = "",
    na_values: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Make the table `into`: all columns of the other, and those that are asked for.

    Returns what there is to note. A table that exists already is not touched. Of
    Parquet files, `into` is one as well.
    """
    if there.is_files:
        _check_file(into)
    options = EmitOptions(form=SELECT, output=output, label=label, comments=False)
    query, notes = scoring(program, there, options, na_values)
    if there.is_files:
        _write(there, query, Path(into))
    else:
        there.store.save(Quoting(there.store.dialect).path("--into", into), query)
    return notes


def scoring(
    program: Program, there: Place, options: EmitOptions, na_values: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """The query that predicts for each row, and what there is to note about it."""
    body, dialect = program.body, there.store.dialect
    check_values(body, dialect)
    reader = ColumnReader(there.store, there.relation, (*program.na_values, *na_values))
    made = expressions(body, dialect, reader.features(body), options)
    for name in made:
        taken = [column.name for column in reader.stored]
        if dialect.names.fold_case:
            taken, name = [other.casefold() for other in taken], name.casefold()
        if name in taken:
            raise DataError(
                f"{there.source} has a column {name!r} already: predict for a view"
                " without it, or query by `treecompile emit --to sql --as select`"
            )
    quoting = Quoting(dialect)
    everything = dialect.everything.format(table=there.relation)
    lines = [f"SELECT {everything}"]
    for name, case in made.items():
        lines += [f", {case[0]}", *case[1:]]
        lines[-1] += f" AS {quoting.name(name)}"
    lines.append(f"FROM {there.relation}")
    warnings = size_warnings(lines, len(outcomes(body)), dialect)
    return "\n".join(lines), (*warnings, *filter(None, [note(body)]))


# ---------------------------------------------------------------- files


def _check_file(into: str) -> None:
    if not into.lower().endswith(PARQUET):
        raise OptionError(f"--into {into!r}: of Parquet files, expected NAME{PARQUET}")
    if os.path.lexists(into):
        raise OptionError(
            f"--into {into!r}: it exists already, and is not written over"
        )


def _write(there: Place, query: str, path: Path) -> None:
    """A file that is there when it is whole, or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        there.store.update(
            f"COPY ({query}) TO {duckdb_string(str(part))} (FORMAT parquet)"
        )
        part.rename(path)
    except OSError as error:
        raise EngineError(f"cannot write {str(path)!r}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()
