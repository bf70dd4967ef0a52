"""Predict for a table in its database, into a new table there, by the SQL we emit."""

from __future__ import annotations

from treecompile.compiler import emit
from treecompile.errors import OptionError
from treecompile.ir import Program
from treecompile.lower import EmitOptions
from treecompile.lower.sql_names import Quoting
from treecompile.stores import open_store


def score(program: Program, url: str, table: str, into: str) -> tuple[str, ...]:
    """Make the table `into`: all columns of the other, and `prediction`.

    Returns what there is to note. A table that exists already is not touched.
    """
    with open_store(url, writes=True) as store:
        if not store.phrases.updates:
            raise OptionError(
                f"score writes tables in DuckDB and PostgreSQL; for"
                f" {store.dialect.name}, `treecompile emit --to sql --as select`"
                " writes the query"
            )
        options = EmitOptions(dialect=store.dialect.key, form="select", table=table)
        query = emit(program, "sql", options)
        name = Quoting(store.dialect).path("--into", into)
        store.update(f"CREATE TABLE {name} AS {query.text}")
        return (*query.warnings, *query.notes)
