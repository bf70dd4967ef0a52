"""The columns: what they hold and mean, and the type that each needs in a database."""

from __future__ import annotations

from collections.abc import Mapping

from treecompile.glossary import NO_ENTRY, Entry
from treecompile.ir import Body, Feature, Kind, Training
from treecompile.lower.markdown.text import (
    listing,
    prose,
    shown_name,
    shown_value,
    table,
)
from treecompile.rounding import rounded
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


def features(
    body: Body, training: Training | None, glossary: Mapping[str, Entry]
) -> str:
    tested = set(required_features(body))
    rows = []
    for position, feature in enumerate(body.features):
        column = training.columns[position] if training else None
        values = listing([shown_value(category) for category in feature.categories])
        if feature.kind is Kind.NUMERIC:
            values = "not recorded"
            if column and column.low is not None and column.high is not None:
                values = f"{rounded(column.low, 6)} to {rounded(column.high, 6)}"
        rows.append(
            {
                "Name": shown_name(feature.name),
                **_meaning(feature, body, glossary),
                "Kind": feature.kind.value,
                "Values in training" if training else "Values": values,
                "Missing": str(column.missing) if column else "not recorded",
                "SQL type": SQL_TYPES.of(feature.type),
                "Used": "yes" if position in tested else "no",
            }
        )
    if not rows:
        return "There are none."
    return table(list(rows[0]), [list(row.values()) for row in rows])


def _meaning(
    feature: Feature, body: Body, glossary: Mapping[str, Entry]
) -> dict[str, str]:
    """The columns of a glossary, as far as it has something to say."""
    known = [glossary.get(other.name, NO_ENTRY) for other in body.features]
    own = glossary.get(feature.name, NO_ENTRY)
    cells = {}
    if any(entry.description for entry in known):
        cells["Meaning"] = prose(own.description)
    if any(entry.unit for entry in known):
        cells["Unit"] = prose(own.unit)
    return cells
