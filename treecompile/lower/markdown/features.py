"""The columns: what they hold, and the type that each needs in a database."""

from __future__ import annotations

from treecompile import words
from treecompile.ir import Body, Kind, Training
from treecompile.lower.markdown.text import listing, shown_name, shown_value, table
from treecompile.semantics import required_features
from treecompile.targets import ByType

SQL_TYPES = ByType("DOUBLE PRECISION", "VARCHAR", "BIGINT", "BOOLEAN")


def features_note(body: Body) -> str:
    note = (
        "The SQL type is the one that a column needs in a database;"
        " each database has its own name for it."
    )
    if any(feature.categories for feature in body.features):
        note += " Categories are compared exactly: case, accents and spaces count."
    return note


def features(body: Body, training: Training | None) -> str:
    tested = required_features(body)
    rows = []
    for position, feature in enumerate(body.features):
        column = training.columns[position] if training else None
        values = listing([shown_value(category) for category in feature.categories])
        if feature.kind is Kind.NUMERIC:
            values = "not recorded"
            if column and column.low is not None and column.high is not None:
                values = f"{words.number(column.low)} to {words.number(column.high)}"
        rows.append(
            [
                shown_name(feature.name),
                feature.kind.value,
                values,
                str(column.missing) if column else "not recorded",
                SQL_TYPES.of(feature.type),
                "yes" if position in tested else "no",
            ]
        )
    head = ["Name", "Kind", "Values in training", "Missing", "SQL type", "Used"]
    return table(head, rows)
