"""Reads the types of a table's columns from the database, for `emit` to rely on."""

from __future__ import annotations

from collections.abc import Mapping

from treecompile.database.locations import Table, open_table
from treecompile.emit.sql.text import DOUBLE, INTEGER
from treecompile.engines.base import Family, StoredColumn
from treecompile.model.errors import DataError
from treecompile.model.ir import AnyProgram, Kind
from treecompile.model.semantics import required_features

DOUBLES = ("double", "float8", "double precision")
LOOSE = ("sqlite",)  # here a column may hold values of any type, whatever it declares


def column_types(
    program: AnyProgram, table: Table, columns: Mapping[str, str]
) -> dict[str, str]:
    """Return the type of each numeric feature, as --type would state it.

    Features whose column declares no type that SQL can rely on are left out.

    `columns` renames features, as for `emit`.
    """
    with open_table(table.source, table.name) as location:
        found = location.store.columns(location.relation)
        folds = location.store.dialect.names.fold_case
        is_loose = location.store.dialect.key in LOOSE
    stored = {_plain(column.name, folds): column for column in found}
    types = {}
    for index in required_features(program.body):
        feature = program.body.features[index]
        name = columns.get(feature.name, feature.name)
        if _plain(name, folds) not in stored:
            raise DataError(f"{table.name} has no column {name!r}: see --column")
        declared = _declared(stored[_plain(name, folds)])
        if feature.kind is Kind.NUMERIC and declared and not is_loose:
            types[feature.name] = declared
    return types


def _declared(column: StoredColumn) -> str:
    if column.family is Family.INTEGER:
        return INTEGER
    return DOUBLE if column.type.lower() in DOUBLES else ""


def _plain(name: str, folds: bool) -> str:
    return name.casefold() if folds else name
