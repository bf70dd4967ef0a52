"""Predicts for a table in its database, into a new table, with the emitted SQL."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from treecompile.database.locations import TableLocation
from treecompile.database.model_rows import ColumnReader
from treecompile.emit.literals import duckdb_string
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.checks import check_values, size_warnings
from treecompile.emit.sql.lower import expression_texts
from treecompile.emit.sql.outputs import SELECT
from treecompile.emit.sql.text import Quoting
from treecompile.model.errors import DataError, EngineError, OptionError
from treecompile.model.files import TEMPORARY
from treecompile.model.ir import AnyProgram
from treecompile.model.paths import leaf_count

PARQUET = ".parquet"


def score(
    program: AnyProgram,
    location: TableLocation,
    into: str,
    output: str = "label",
    label: str = "",
    na_values: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Create the table `into` with all columns of the location and the predictions.

    For Parquet files, `into` is a Parquet file. An existing table or file is an error.
    Returns notes for the user.
    """
    if location.is_files:
        _check_file(into)
    options = EmitOptions(form=SELECT, output=output, label=label, comments=False)
    body, dialect = program.body, location.store.dialect
    check_values(body, dialect)
    reader = ColumnReader(
        location.store, location.relation, (*program.na_values, *na_values)
    )
    columns = reader.features(body)
    made = expression_texts(body, dialect, columns, options)
    fold = str.casefold if dialect.names.fold_case else str
    taken = set(map(fold, reader.columns))
    for name in made:
        if fold(name) in taken:
            raise DataError(
                f"{location.source} has a column {name!r} already: predict for a view"
                " without it, or write a query with `treecompile emit --to sql --as"
                " select`"
            )
    everything = dialect.everything.fill(table=location.relation)
    lines = [f"SELECT {everything}"]
    lines += [f", {case} AS {reader.quoted(name)}" for name, case in made.items()]
    lines.append(f"FROM {location.relation}")
    query = "\n".join(lines)
    warnings = size_warnings(query, leaf_count(body), dialect)
    if location.is_files:
        _write(location, query, Path(into))
    else:
        location.store.save(Quoting(dialect).path("into", into), query)
    return tuple(warnings)


# ---------------------------------------------------------------- files


def _check_file(into: str) -> None:
    if not into.lower().endswith(PARQUET):
        raise OptionError(f"into={into!r}: for Parquet files, expected NAME{PARQUET}")
    if os.path.lexists(into):
        raise OptionError(f"into={into!r}: the file exists: choose another name")


def _write(location: TableLocation, query: str, path: Path) -> None:
    """Write under a temporary name first: the file appears only when complete."""
    part = path.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
    try:
        location.store.run(
            f"COPY ({query}) TO {duckdb_string(str(part))} (FORMAT parquet)"
        )
        part.rename(path)
    except OSError as error:
        raise EngineError(f"cannot write {str(path)!r}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()
